"""Pages of the log over the API: filters, texts and patterns."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import pytest

from nightshift.core.events import Event, Kind, Level
from nightshift.server.context import AppContext
from tests.support.app_context import Client, fill

START = datetime(2026, 11, 22, 8, tzinfo=UTC)


def put(context: AppContext, *events: Event) -> None:
    context.database.write(lambda conn: [context.events.append(conn, event) for event in events]).result()


def say(message: str, **more: Any) -> Event:
    return Event(kind=more.pop("kind", Kind.REMARK), message=message, **more)


def ids(client: Client, **query: Any) -> list[int]:
    got = client.get(f"/api/logs?{urlencode(query)}")
    assert got.status == 200, got.text
    return [event["id"] for event in got.json["events"]]


def test_each_filter_takes_what_it_names(context: AppContext, client: Client) -> None:
    put(
        context,
        say("a", level=Level.DEBUG, task_id=1, worker="worker-1"),
        say("b", level=Level.WARNING, task_id=1, worker="worker-2", kind=Kind.STUCK),
        say("c", level=Level.ERROR, task_id=2, worker="worker-1", kind=Kind.STUCK),
    )
    assert ids(client, level="INFO") == [2, 3]
    assert ids(client, task=1) == [1, 2]
    assert ids(client, worker="worker-1") == [1, 3]
    assert ids(client, kind="stuck") == [2, 3]
    assert ids(client, kind="stuck", worker="worker-1", task=2, level="ERROR", q="C") == [3]
    assert ids(client, worker="worker") == []


def test_pages_lead_back_and_forth(context: AppContext, client: Client) -> None:
    fill(context, 10)
    newest = client.get("/api/logs?limit=3").json
    assert (newest["first_id"], newest["last_id"]) == (8, 10)
    older = client.get("/api/logs?limit=3&before=8").json
    assert [event["id"] for event in older["events"]] == [5, 6, 7]
    assert (older["first_id"], older["last_id"]) == (5, 7)
    assert client.get("/api/logs?before=5").json["first_id"] == 1
    assert client.get("/api/logs?before=1").json == {"events": [], "first_id": 1, "last_id": 0}


def test_a_time_is_jumped_to(context: AppContext, client: Client) -> None:
    put(context, *(say("x", at=START + timedelta(minutes=number)) for number in range(10)))
    assert ids(client, at="2026-11-22T08:07:30Z") == [9, 10]
    assert ids(client, at="2026-11-22T09:05:00+01:00", limit=2) == [6, 7]
    assert ids(client, at="2030-01-01T00:00:00Z") == []
    assert ids(client, at="2020-01-01T00:00:00Z", limit=1) == [1]


def test_a_text_is_found_in_any_case(context: AppContext, client: Client) -> None:
    put(context, say("100% of Straße_1"), say("1000 of strasse 1"), say("red alert"), say(""))
    assert ids(client, q="100%") == [1]
    assert ids(client, q="STRASSE") == [1, 2]
    assert ids(client, q="e_1") == [1]
    assert ids(client, q="red alert") == [3]
    assert ids(client, q="red alert", inverse=1) == [1, 2, 4]
    assert ids(client, q=".") == []


def test_a_pattern_is_a_pattern(context: AppContext, client: Client) -> None:
    put(context, say("tests passed: 12"), say("Tests failed: 3"), say("nothing"))
    assert ids(client, q=r"tests? \w+: \d+$", regex=1) == [1, 2]
    assert ids(client, q=r"(?-i)tests", regex=1) == [1]
    assert ids(client, q=r"^tests", regex=1, inverse=1) == [3]


@pytest.mark.parametrize("pattern", ["(", "(?=x)", "x" * 501, r"(\pL|\pN){20}(\pL|\pN){20}y"])
def test_what_is_no_pattern_is_refused_by_name(client: Client, pattern: str) -> None:
    got = client.get(f"/api/logs?{urlencode({'q': pattern, 'regex': 1})}")
    assert got.status == 400
    assert list(got.json["fields"]) == ["q"]


@pytest.mark.parametrize("pattern", ["(a+)+$", "(x?){1000}y", "(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)z"])
def test_no_pattern_holds_the_daemon_up(context: AppContext, client: Client, pattern: str) -> None:
    """Check that a pattern with exponential backtracking delays neither a page nor the paging."""
    put(context, *(say("a" * 1900 + "!") for _ in range(30)))
    query, before, pages = urlencode({"q": pattern, "regex": 1, "inverse": int("y" not in pattern)}), 31, 0
    while before > 1:
        before = client.get(f"/api/logs?{query}&before={before}").json["first_id"]
        pages += 1
    assert pages <= 30
