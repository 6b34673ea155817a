from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from nightshift.server.serving.listen import Listen
from tests.support.app_context import Client, make_desk, serving
from tests.support.raw_http import ask, chunk

JSON = "Content-Type: application/json"
TASK = b'{"description": "x"}'
LENGTH = f"Content-Length: {len(TASK)}"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    context = make_desk(tmp_path_factory.mktemp("guard"))
    with serving(context, Listen(port=0, max_body_bytes=100_000)) as client:
        yield client
    context.database.close()


def tasks(server: Client) -> int:
    return sum(server.get("/api/status").json["queue"].values())


def post(server: Client, *headers: str, host: str | None = None) -> int:
    return ask(server.host.port, ["POST /api/task HTTP/1.1", JSON, LENGTH, *headers], [TASK], host=host)[0]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ([], 201),
        (["Origin: http://127.0.0.1:{port}", "Sec-Fetch-Site: same-origin"], 201),
        (["Origin: https://127.0.0.1:{port}", "Sec-Fetch-Site: same-origin"], 201),
        (["Origin: http://localhost:{port}"], 403),
        (["Origin: http://127.0.0.1:9999", "Sec-Fetch-Site: same-site"], 403),
        (["Origin: null"], 403),
        (["Origin: http://127.0.0.1:{port}.evil.example"], 403),
        (["Origin: http://127.0.0.1:{port}", "Origin: https://evil.example"], 403),
        (["Sec-Fetch-Site: none"], 403),
        (["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"], 403),
    ],
)
def test_a_write_that_shows_signs_of_a_browser_must_come_from_our_own_page(
    server: Client, headers: list[str], status: int
) -> None:
    before = tasks(server)
    assert post(server, *(line.format(port=server.host.port) for line in headers)) == status
    assert tasks(server) - before == (1 if status == 201 else 0)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ([], 200),
        (["Sec-Fetch-Site: none", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"], 200),
        (["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"], 200),
        (["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: iframe"], 403),
        (["Sec-Fetch-Site: same-site", "Sec-Fetch-Mode: cors", "Sec-Fetch-Dest: empty"], 403),
        (["Origin: http://localhost:9999"], 403),
    ],
)
@pytest.mark.parametrize("path", ["/", "/api/logs/stream"])
def test_another_page_may_link_to_us_and_nothing_else(
    server: Client, path: str, headers: list[str], status: int
) -> None:
    # Use HEAD because the response to a GET of the stream would not end.
    assert ask(server.host.port, [f"HEAD {path} HTTP/1.1", *headers])[0] == status


@pytest.mark.parametrize(
    "host",
    [
        "evil.example:{port}",
        "0.0.0.0:{port}",
        "night.example.local.evil.example",
        "127.1:{port}",
        "[::1:{port}",
        "user@127.0.0.1:{port}",
    ],
)
@pytest.mark.parametrize("path", ["/api/tasks", "/api/logs/stream"])
def test_a_rebound_name_reaches_no_half_of_the_server(server: Client, host: str, path: str) -> None:
    status, answer = ask(server.host.port, [f"GET {path} HTTP/1.1"], host=host.format(port=server.host.port))
    assert status == 403
    assert b"task_id" not in answer


@pytest.mark.parametrize(
    "host",
    [
        *("LocalHost:{port}", "[::1]:{port}", "127.0.0.1:8000", "localhost", "192.168.1.5:{port}"),
    ],
)
def test_what_nobody_can_rebind_is_served_by_whatever_port_it_is_forwarded_from(server: Client, host: str) -> None:
    host = host.format(port=server.host.port)
    assert ask(server.host.port, ["GET /healthz HTTP/1.1"], host=host)[0] == 200
    assert post(server, f"Origin: http://{host.lower()}", "Sec-Fetch-Site: same-origin", host=host) == 201
    assert post(server, "Origin: http://localhost:3000", host=host) == 403


def test_a_request_without_exactly_one_host_is_refused(server: Client) -> None:
    own = f"127.0.0.1:{server.host.port}"
    assert ask(server.host.port, ["GET /healthz HTTP/1.0"], host="")[0] == 400
    assert ask(server.host.port, ["GET /healthz HTTP/1.1", f"Host: {own}"])[0] == 400
    assert ask(server.host.port, ["GET /healthz HTTP/1.1", "Host: evil.example"])[0] == 400


def test_every_answer_carries_the_security_headers(server: Client) -> None:
    for path in ["/", "/api/status", "/static/style.css", "/nothing", "/api/tasks?nope=1"]:
        headers = server.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "require-trusted-types-for 'script'; trusted-types nightshift-turns" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert headers["referrer-policy"] == "same-origin"
        assert headers["cross-origin-opener-policy"] == headers["cross-origin-resource-policy"] == "same-origin"
        assert "access-control-allow-origin" not in headers
        assert "server" not in headers
        assert headers["date"].endswith("GMT")


def test_a_body_that_is_too_big_is_refused_before_it_is_read(server: Client) -> None:
    head = ["POST /api/task HTTP/1.1", JSON, "Content-Length: 100001", "Expect: 100-continue"]
    status, answer = ask(server.host.port, head)
    assert status == 413
    assert b"100 Continue" not in answer


def test_a_chunked_body_is_counted_while_it_arrives(server: Client) -> None:
    head = ["POST /api/task HTTP/1.1", JSON, "Transfer-Encoding: chunked"]
    before = tasks(server)
    assert ask(server.host.port, head, [chunk(b" " * 25_000)] * 6 + [chunk(b"")])[0] == 413
    assert tasks(server) == before
    assert ask(server.host.port, head, [chunk(TASK[:5]), chunk(TASK[5:]), chunk(b"")])[0] == 201


@pytest.mark.parametrize("framing", ["Transfer-Encoding: chunked", "Content-Length: 500"])
def test_a_body_that_was_cut_off_never_becomes_a_task(server: Client, framing: str) -> None:
    before, text = tasks(server), b"Delete nothing in"
    own = f"127.0.0.1:{server.host.port}"
    head = f"POST /api/task HTTP/1.1\r\nHost: {own}\r\nContent-Type: text/plain\r\n{framing}\r\n\r\n".encode()
    with socket.create_connection(("127.0.0.1", server.host.port)) as connection:
        connection.sendall(head + (chunk(text) if "chunked" in framing else text))
        time.sleep(0.1)
    time.sleep(0.2)
    assert tasks(server) == before


def test_a_name_that_the_owner_lists_is_served_with_its_origins(tmp_path: Path) -> None:
    context = make_desk(tmp_path)
    with serving(context, Listen(port=0, names=("Night.example",))) as client:
        port = client.host.port
        head = ["POST /api/task HTTP/1.1", JSON, LENGTH, "Sec-Fetch-Site: same-origin"]
        for origin in ("https://night.example", "http://night.example"):
            for host in ("night.example", "night.example:8443", f"127.0.0.1:{port}"):
                assert ask(port, [*head, f"Origin: {origin}"], [TASK], host=host)[0] == 201
        assert ask(port, [*head, "Origin: https://day.example"], [TASK], host="night.example")[0] == 403
        assert ask(port, [*head, "Origin: http://night.example:9000"], [TASK], host="night.example")[0] == 403
    context.database.close()


ROOM = ["Authorization: Bearer sesame", "Content-Type: application/json", LENGTH]


@pytest.mark.parametrize(
    ("host", "origin", "status"),
    [
        ("night.example", "https://night.example", 201),
        ("workstation:{port}", "http://workstation:{port}", 201),
        ("evil.example:{port}", "http://evil.example:{port}", 403),
        ("workstation:{port}", "http://workstation:9000", 403),
        ("127.0.0.1:{port}", "https://evil.example", 403),
    ],
)
def test_a_token_opens_the_names_of_the_owners_network_and_the_one_of_his_proxy(
    tmp_path: Path, host: str, origin: str, status: int
) -> None:
    context = make_desk(tmp_path)
    listen = Listen(address="0.0.0.0", port=0, token="sesame", page="https://Night.example/shift/")
    with serving(context, listen) as client:
        port = client.host.port
        head = ["POST /api/task HTTP/1.1", f"Origin: {origin.format(port=port)}", *ROOM]
        got, answer = ask(port, head, [TASK], host=host.format(port=port))
        assert got == status
        assert got == 201 or b"DASHBOARD_" in answer
    context.database.close()


@pytest.mark.parametrize("below", ["", "/shift"])
@pytest.mark.parametrize(("path", "login"), [("/", "./login"), ("/task/5/call/1/2/3", "../../../../../login")])
def test_a_proxy_may_have_the_pages_below_a_path_and_leave_it_on_or_off(
    tmp_path: Path, below: str, path: str, login: str
) -> None:
    context = make_desk(tmp_path)
    with serving(context, Listen(port=0, token="sesame", page="https://night.example/shift")) as client:
        got = client.get(f"{below}{path}", Accept="text/html")
        assert (got.status, got.headers["location"]) == (303, login)
        page = client.get(f"{below}/login").text
        assert 'action="./login"' in page
        assert '"/' not in page.replace('data-path="/', "")
        assert client.get(f"{below}/static/login.js").status == 200
        assert client.get("/shift").headers["location"] == "shift/"
        assert client.get("/shifty").status in {303, 401}
    context.database.close()
