"""Clients that take their time: none keeps others out, and none that gets on is cut off."""

from __future__ import annotations

import json
import select
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

import pytest

from nightshift.server.auth.limits import Pace
from nightshift.server.context import AppContext
from nightshift.server.serving.listen import Listen
from tests.support.app_context import Client, fill, serving
from tests.support.sse import Listener
from tests.support.worked_task import submit

SOON = 0.3
JSON = {"Content-Type": "application/json"}


@contextmanager
def connected(client: Client, *, sent: bytes = b"", receive_buffer: int = 0) -> Iterator[socket.socket]:
    with socket.socket() as made:
        if receive_buffer:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        made.settimeout(20)
        made.connect(("127.0.0.1", client.host.port))
        made.sendall(sent)
        yield made


def rest(connection: socket.socket) -> bytes:
    """What comes until the server closes; it must."""
    got = b""
    with suppress(ConnectionResetError):
        while part := connection.recv(65536):
            got += part
    return got


def head(client: Client, request: str = "GET /healthz", *more: str) -> bytes:
    """A whole head but for the line that ends it."""
    lines = [f"{request} HTTP/1.1", f"Host: 127.0.0.1:{client.host.port}", *more, ""]
    return "\r\n".join(lines).encode()


def answer(connection: socket.socket) -> bytes:
    """One answer with a length, on a connection that stays."""
    got = b""
    while b"\r\n\r\n" not in got:
        part = connection.recv(1)
        assert part, "the server closed the connection"
        got += part
    length = int(got.lower().split(b"content-length:")[1].split(b"\r\n")[0])
    while length > 0:
        part = connection.recv(length)
        got, length = got + part, length - len(part)
    return got


@pytest.fixture
def hasty(context: AppContext) -> Iterator[Client]:
    with serving(context, Listen(port=0, head_wall_s=SOON, stall_s=SOON, pace=Pace(wall_s=SOON))) as client:
        yield client


# ---- heads


def test_a_head_that_is_not_finished_is_answered_and_ended(hasty: Client) -> None:
    with connected(hasty, sent=head(hasty)) as connection:
        got = rest(connection)
    assert got.startswith(b"HTTP/1.1 408 ")
    assert b"content-security-policy" in got
    said = json.loads(got.partition(b"\r\n\r\n")[2])
    assert said == {"error": "the head of the request did not arrive within 0.3 s", "fields": {}}


def test_a_head_that_comes_drop_by_drop_wins_no_time(hasty: Client) -> None:
    with connected(hasty, sent=head(hasty)) as connection:
        while not select.select([connection], [], [], 0.02)[0]:
            connection.sendall(b"X-Drop: 1\r\n")
        assert b" 408 " in connection.recv(100)


def test_a_connection_on_which_nothing_comes_is_ended_without_a_word(hasty: Client) -> None:
    with connected(hasty) as connection:
        assert rest(connection) == b""


def test_the_second_request_of_a_connection_has_the_same_time(hasty: Client) -> None:
    with connected(hasty, sent=head(hasty) + b"\r\n") as connection:
        assert b" 200 " in answer(connection)
        connection.sendall(head(hasty))
        assert b" 408 " in rest(connection)


def test_a_request_that_begins_before_the_answer_to_the_one_before_it_has_the_same_time(hasty: Client) -> None:
    with connected(hasty, sent=head(hasty) + b"\r\n" + head(hasty)) as connection:
        got = rest(connection)
    assert (got.count(b"HTTP/1.1 200 "), got.count(b"HTTP/1.1 408 ")) == (1, 1)


def test_the_rest_of_a_body_that_was_refused_is_not_waited_for(hasty: Client) -> None:
    request = head(hasty, "POST /api/task", "Content-Length: 90000000", "Content-Type: text/plain")
    with connected(hasty, sent=request + b"\r\n") as connection:
        assert b" 413 " in answer(connection)
        while not select.select([connection], [], [], 0.02)[0]:
            connection.sendall(b"x")
        assert rest(connection) == b""


def test_requests_one_after_the_other_are_answered_on_one_connection(hasty: Client) -> None:
    with connected(hasty) as connection:
        for _ in range(3):
            connection.sendall(head(hasty) + b"\r\n")
            assert b" 200 " in answer(connection)


def test_a_stream_outlives_all_of_it(hasty: Client, context: AppContext, listen: type[Listener]) -> None:
    listener = listen(hasty.host.port)
    for _ in range(3):
        with connected(hasty, sent=head(hasty)) as connection:
            rest(connection)
    submit(context, "still here")
    assert listener.take(1)[0][2]["message"] == "still here"


# ---- many


def opened(client: Client, sent: bytes = b"") -> socket.socket:
    made = socket.create_connection(("127.0.0.1", client.host.port), timeout=20)
    made.sendall(sent)
    return made


def test_whoever_owes_longest_makes_room_and_newcomers_are_served(context: AppContext) -> None:
    with serving(context, Listen(port=0, most_owing=20)) as client:
        idle = [opened(client) for _ in range(60)]
        begun = [opened(client, head(client)) for _ in range(60)]
        assert client.get("/healthz").status == 200
        assert client.post("/api/task", {"description": "x"}).status == 201
        assert all(rest(connection) == b"" for connection in idle)
        assert rest(begun[0]) == b""
        begun[-1].sendall(b"\r\n")
        assert b" 200 " in answer(begun[-1])
        for connection in (*idle, *begun):
            connection.close()


def test_bodies_that_do_not_come_make_room_as_well(context: AppContext) -> None:
    with serving(context, Listen(port=0, most_owing=20)) as client:
        request = head(client, "POST /api/task", "Content-Length: 100", "Content-Type: text/plain") + b"\r\nx"
        waiting = [opened(client, request) for _ in range(60)]
        assert client.post("/api/task", {"description": "x"}).status == 201
        assert rest(waiting[0]) == b""
        waiting[-1].sendall(b"y" * 99)
        assert b" 201 " in answer(waiting[-1])
        for connection in waiting:
            connection.close()


def test_streams_count_as_requests_and_the_health_is_told_all_the_same(
    context: AppContext, listen: type[Listener]
) -> None:
    with serving(context, Listen(port=0, max_requests=3)) as client:
        listeners = [listen(client.host.port) for _ in range(3)]
        refused = client.get("/api/status")
        assert (refused.status, refused.headers["retry-after"]) == (503, "1")
        assert client.get("/healthz").status == 200
        listeners[0].close()
        while client.get("/api/status").status != 200:
            pass


# ---- bodies


def test_a_body_that_does_not_come_is_refused(hasty: Client) -> None:
    request = head(hasty, "POST /api/task", "Content-Length: 100", "Content-Type: text/plain")
    with connected(hasty, sent=request + b"\r\nhalf of it") as connection:
        got = rest(connection)
    assert got.startswith(b"HTTP/1.1 408 ")
    assert b"only 10 bytes of the body arrived within 0.301 s" in got


def test_large_bodies_share_a_room_and_small_ones_need_none(context: AppContext) -> None:
    with serving(context, Listen(port=0, max_body_bytes=200_000)) as client:
        request = head(client, "POST /api/task", "Content-Length: 190000", "Content-Type: text/plain")
        with ExitStack() as stack:
            sent = request + b"\r\n" + b"x" * 180_000
            everyone = [stack.enter_context(connected(client, sent=sent)) for _ in range(8)]
            (refused, *_), _, _ = select.select(everyone, [], [], 20)
            assert b" 503 " in answer(refused)
            assert client.post("/api/task", {"description": "x"}).status == 201
        text = json.dumps({"description": "x", "files": {"a.txt": "y" * 150_000}})
        while client.request("POST", "/api/task", text, JSON).status != 201:
            pass


def test_what_needs_no_token_takes_no_more_than_the_token(client: Client) -> None:
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    assert client.request("POST", "/login", "token=" + "x" * 100_000, form).status == 413


# ---- answers


def test_a_client_that_takes_nothing_of_its_answers_is_dropped(context: AppContext) -> None:
    fill(context, 3000, size=2000)
    with serving(context, Listen(port=0, stall_s=SOON)) as client:
        request = head(client, "GET /api/logs?limit=1000") + b"\r\n"
        with connected(client, sent=request * 10, receive_buffer=4096) as connection:
            gone = select.poll()
            gone.register(connection, 0)  # errors and the end are told without being asked for
            assert gone.poll(20_000)


def test_a_client_that_takes_its_answers_slowly_gets_them_whole(context: AppContext) -> None:
    fill(context, 1000, size=2000)
    with serving(context, Listen(port=0, stall_s=0.7)) as client:
        whole = client.get("/api/logs?limit=1000").body
        request = head(client, "GET /api/logs?limit=1000") + b"\r\n"
        with connected(client, sent=request * 4) as connection:
            got = 0
            while got < 4 * len(whole):
                part = connection.recv(65536)
                assert part, "it was cut off"
                got += len(part)
                select.select([], [], [], 0.05)
