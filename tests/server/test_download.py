"""The log as a file: filtered, streamed a page at a time, inert or coloured."""

from __future__ import annotations

import json
import socket
from datetime import UTC, datetime
from pathlib import Path

import pytest

from nightshift.core.events import Event, Kind, Level
from nightshift.server.context import AppContext
from tests.support.app_context import Client, fill, make_desk, serving

AT = datetime(2026, 11, 22, 8, 30, tzinfo=UTC)
HOSTILE = "\x1b[1;31mred\x1b[0m\n\x1b]0;title\x07\x1b[2J\u202etail"


def lines(client: Client, query: str = "") -> list[str]:
    got = client.get(f"/api/logs/download{query}")
    assert got.status == 200, got.text
    return got.text.splitlines()


def test_json_lines_are_the_lines_of_the_api_in_order(context: AppContext, client: Client) -> None:
    fill(context, 2600)
    got = client.get("/api/logs/download")
    assert got.headers["content-type"] == "application/x-ndjson"
    assert got.headers["content-disposition"].startswith('attachment; filename="nightshift-')
    found = [json.loads(line) for line in got.text.splitlines()]
    assert [each["id"] for each in found] == list(range(1, 2601))
    (shown,) = client.get("/api/logs?limit=1").json["events"]
    del shown["runs"]
    assert found[-1] == shown


def test_the_filters_and_the_ends_hold(context: AppContext, client: Client) -> None:
    for number in range(1, 41):
        level = Level.ERROR if number % 2 else Level.INFO
        context.events.emit(Event(kind=Kind.REMARK, level=level, message=f"number {number}", worker=f"w-{number % 3}"))
    context.events.catch_up().result()
    found = lines(client, "?level=ERROR&worker=w-1&after=5&before=24&q=number+1%7C2&regex=1")
    assert [json.loads(each)["id"] for each in found] == [13, 19]
    assert lines(client, "?q=nothing") == []


def test_a_log_that_is_empty_is_an_empty_file(shared: Client) -> None:
    got = shared.get("/api/logs/download?format=text")
    assert (got.status, got.text) == (200, "")


@pytest.mark.parametrize(
    ("ansi", "message"),
    [
        ("remove", "red\n    \\x1b]0;title\\x07\\x1b[2J\\u{202e}tail"),
        ("keep", "\x1b[31;1mred\x1b[0m\n    \\x1b]0;title\\x07\\x1b[2J\\u{202e}tail"),
    ],
)
def test_the_form_for_people_has_colours_or_none_and_nothing_else(
    context: AppContext, client: Client, ansi: str, message: str
) -> None:
    event = Event(kind=Kind.STUCK, level=Level.WARNING, message=HOSTILE, task_id=7, worker="worker-2", at=AT)
    context.database.write(lambda conn: context.events.insert(conn, event)).result()
    got = client.get(f"/api/logs/download?format=text&ansi={ansi}")
    assert got.headers["content-type"] == "text/plain; charset=utf-8"
    assert got.text == f"2026-11-22T08:30:00.000000Z WARNING #7 worker-2 stuck: {message}\n"


def test_secrets_that_became_known_later_are_masked(tmp_path: Path) -> None:
    context = make_desk(tmp_path)
    event = Event(kind=Kind.REMARK, message="hunter2-hunter2")
    context.database.write(lambda conn: context.events.append(conn, event)).result()
    context.mask.learn(["hunter2-hunter2"])
    with serving(context) as client:
        for form in ("jsonl", "text"):
            assert "hunter2" not in client.get(f"/api/logs/download?format={form}").text
    context.database.close()


@pytest.mark.parametrize("query", ["format=pdf", "ansi=maybe", "q=(&regex=1", "limit=5", "after=-1", "level=LOUD"])
def test_wrong_parameters_are_refused_by_name(shared: Client, query: str) -> None:
    got = shared.get(f"/api/logs/download?{query}")
    assert got.status == 400
    (name,) = got.json["fields"]
    assert name in query


def test_only_get_and_head_are_possible(shared: Client) -> None:
    head = shared.request("HEAD", "/api/logs/download")
    assert (head.status, head.body) == (200, b"")
    assert shared.post("/api/logs/download", {}).status == 405


def test_a_client_that_takes_nothing_costs_no_memory_and_holds_nobody_up(context: AppContext, client: Client) -> None:
    """The server reads no further than the client's buffers reach; a whole file would be ten megabytes."""
    fill(context, 5000, size=1900)
    with socket.socket() as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.connect(("127.0.0.1", client.host.port))
        slow.sendall(f"GET /api/logs/download HTTP/1.1\r\nHost: 127.0.0.1:{client.host.port}\r\n\r\n".encode())
        assert slow.recv(1000).startswith(b"HTTP/1.1 200")
        assert len(lines(client, "?format=text")) == 5000
        connections = client.host._engine.server_state.connections  # the quick one may not be closed yet
        assert 0 < max(each.transport.get_write_buffer_size() for each in connections) < 3_000_000


def test_more_downloads_than_allowed_are_asked_to_come_later(context: AppContext, client: Client) -> None:
    client.host._download._most = 0
    got = client.get("/api/logs/download")
    assert got.status == 503
    assert "retry-after" in got.headers
