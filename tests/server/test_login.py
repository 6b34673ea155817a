from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

import pytest

from nightshift.server.contract import ENDPOINTS
from nightshift.server.pages.page_table import PAGES
from nightshift.server.routes.forges import HOOK_PATH
from nightshift.server.serving.listen import Listen
from tests.support.app_context import Client, Got, make_desk, serving
from tests.support.sse import Listener
from tests.support.worked_task import submit

TOKEN = "a-token-of-the-owner"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Client]:
    """Start a server on all addresses, so that reads need the token as well."""
    context = make_desk(tmp_path)
    with serving(context, Listen(address="0.0.0.0", port=0, token=TOKEN)) as client:
        yield client
    context.database.close()


def log_in(server: Client, token: str, **headers: str) -> Got:
    form = {"Content-Type": "application/x-www-form-urlencoded", **headers}
    return server.request("POST", "/login", urlencode({"token": token}), form)


def test_without_the_token_only_the_login_and_the_health_can_be_seen(server: Client) -> None:
    for path in ["/api/status", "/api/tasks", "/api/logs", "/api/openapi.json", "/api/logs/stream", "/logs", "/task/1"]:
        got = server.get(path)
        assert got.status == 401, path
        assert "API_TOKEN" in got.json["error"]
    assert server.post("/api/task", {"description": "x"}).status == 401
    for path in ["/login", "/healthz", "/static/style.css"]:
        assert server.get(path).status == 200, path


def test_a_browser_is_led_to_the_login_and_gets_a_session(server: Client) -> None:
    away = server.get("/", Accept="text/html,*/*")
    assert (away.status, away.headers["location"]) == (303, "./login")
    entered = log_in(server, TOKEN)
    assert (entered.status, entered.headers["location"]) == (303, "./")
    cookie = entered.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert TOKEN not in cookie
    session = cookie.split(";")[0]
    assert server.get("/", Cookie=session).status == 200
    headers = {"Content-Type": "application/json", "Cookie": session}
    assert server.request("POST", "/api/task", b'{"description": "x"}', headers).status == 201


def test_a_session_does_not_help_another_page(server: Client) -> None:
    session = log_in(server, TOKEN).headers["set-cookie"].split(";")[0]
    headers = {"Content-Type": "application/json", "Cookie": session, "Origin": "http://127.0.0.1:9999"}
    assert server.request("POST", "/api/task", b'{"description": "x"}', headers).status == 403


def test_a_wrong_token_is_told_and_guessing_is_slowed_down(server: Client) -> None:
    wrong = log_in(server, "wrong")
    assert wrong.headers["location"] == "login?wrong=1"
    assert "set-cookie" not in wrong.headers
    assert "Wrong token" in server.get("/login?wrong=1").text
    session = log_in(server, TOKEN).headers["set-cookie"].split(";")[0]
    statuses = [log_in(server, f"guess {number}").status for number in range(25)]
    assert statuses[-1] == 429
    refused = server.get("/api/status", Authorization="Bearer wrong")
    assert (refused.status, int(refused.headers["retry-after"]) >= 1) == (429, True)
    assert server.get("/api/status", Cookie=session).status == 200


def test_the_owner_is_let_in_whoever_guessed_before_from_the_same_address(server: Client) -> None:
    for number in range(100):
        server.get("/api/status", Authorization=f"Bearer guess {number}")
    for _ in range(3):
        assert server.get("/api/status", Authorization=f"Bearer {TOKEN}").status == 200
        entered = log_in(server, TOKEN)
        assert (entered.status, entered.headers["location"]) == (303, "./")
        assert "set-cookie" in entered.headers
        assert server.get("/api/status", Authorization="Bearer guess").status == 429
    headers = {"Content-Type": "text/plain", "Authorization": f"Bearer {TOKEN}"}
    assert server.request("POST", "/api/task", b"x", headers).status == 201


def test_another_page_cannot_log_a_browser_in(server: Client) -> None:
    assert log_in(server, TOKEN, Origin="https://evil.example").status == 403


@contextmanager
def on_loopback(folder: Path, *, exposed: bool) -> Iterator[Client]:
    """Start a server that listens only on the loopback interface.

    The owner set its token or, if `exposed`, Nightshift made the token because the sandbox is the weakest kind.
    """
    context = make_desk(folder)
    submit(context, "a task that is nobody else's business")
    with serving(context, Listen(port=0, token=TOKEN, exposed=exposed)) as client:
        yield client
    context.database.close()


@pytest.fixture(scope="module", params=[False, True], ids=["set", "made_for_the_weakest_sandbox"])
def on_the_loopback(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with on_loopback(tmp_path_factory.mktemp("loopback"), exposed=request.param) as client:
        yield client


READ = [
    *(endpoint.path for endpoint in ENDPOINTS if endpoint.method == "GET" and endpoint.path != "/healthz"),
    *(page.path for page in PAGES), "/task/{task_id}/call/1/0/0", "/nothing/of/ours", "/static", "/api/tasks/",
]  # fmt: skip


def test_on_the_loopback_a_token_guards_all_that_can_be_read(on_the_loopback: Client) -> None:
    for path in READ:
        address = re.sub(r"\{\w+\}", "1", path)
        for method in ("GET", "OPTIONS"):
            got = on_the_loopback.request(method, address)
            assert got.status == 401, (method, path)
            assert b"nobody" not in got.body
        assert on_the_loopback.get(address, Cookie="nightshift_00000000=x").status == 401, path


def test_on_the_loopback_a_wrong_token_opens_nothing(tmp_path: Path) -> None:
    with on_loopback(tmp_path, exposed=False) as client:
        answers = [client.get(re.sub(r"\{\w+\}", "1", path), Authorization="Bearer wrong") for path in READ]
    assert {got.status for got in answers[:20]} == {401}
    assert {got.status for got in answers} <= {401, 429}, "who guesses again and again has to wait"
    assert not [got for got in answers if b"nobody" in got.body]


def test_on_the_loopback_a_token_guards_all_that_can_be_written(on_the_loopback: Client) -> None:
    for endpoint in ENDPOINTS:
        if endpoint.method != "GET":
            got = on_the_loopback.request(endpoint.method, re.sub(r"\{\w+\}", "1", endpoint.path), b"{}")
            signed = endpoint.path == HOOK_PATH  # the webhook requires a signature instead of a token
            assert got.status == (403 if signed else 401), endpoint.path
    headers = {"Content-Type": "text/plain", "Authorization": f"Bearer {TOKEN}"}
    assert on_the_loopback.request("POST", "/api/task", b"x", headers).status == 201


def test_what_the_login_is_drawn_with_and_the_health_stay_open(on_the_loopback: Client) -> None:
    for path in ("/login", "/healthz", "/static/login.js", "/static/base.css", "/static/style.css"):
        assert on_the_loopback.get(path).status == 200, path
    drawn = on_the_loopback.get("/login").text
    for address in re.findall(r'(?:src|href)="(/static/[^"]+)"', drawn):
        assert on_the_loopback.get(address).status == 200, address
    assert "task" not in on_the_loopback.get("/healthz").text


def test_with_the_token_or_a_session_all_of_it_can_be_read(on_the_loopback: Client, listen: type[Listener]) -> None:
    session = log_in(on_the_loopback, TOKEN).headers["set-cookie"].split(";")[0]
    for path in ("/", "/logs", "/task/1", "/metrics", "/api/tasks", "/api/openapi.json"):
        assert on_the_loopback.get(path, Cookie=session).status == 200, path
        assert on_the_loopback.get(path, Authorization=f"Bearer {TOKEN}").status == 200, path
    port = on_the_loopback.host.port
    for header in (f"Cookie: {session}", f"Authorization: Bearer {TOKEN}"):
        assert listen(port, "?after=0", header=header).take(1)[0][2]["event"] == "task_submitted"
    assert listen(port, "?after=0").status == 401
