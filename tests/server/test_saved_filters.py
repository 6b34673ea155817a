"""Filters of the list of tasks that are kept by name, and those that bound when tasks ended."""

from __future__ import annotations

from datetime import timedelta
from urllib.parse import quote

import pytest

from nightshift.core.clock import midnight, to_text, utc_now
from nightshift.core.tasks.states import Ending
from nightshift.server.context import AppContext
from tests.support.app_context import Client
from tests.support.worked_task import claimed, submit


def names(client: Client) -> list[str]:
    return [each["name"] for each in client.get("/api/filters").json["filters"]]


def test_a_filter_is_kept_replaced_and_forgotten(client: Client) -> None:
    assert names(client) == []
    for name, query in (("shop", "repo=/srv/shop"), ("Above", "?status=failed,waiting"), (" shop ", "q=till")):
        assert client.post("/api/filters", {"name": name, "query": query}).status == 200
    assert client.get("/api/filters").json["filters"] == [
        {"name": "Above", "query": "status=failed,waiting"}, {"name": "shop", "query": "q=till"},
    ]  # fmt: skip
    assert client.post("/api/filters", {"name": "Above", "query": ""}).json["filters"][0]["name"] == "shop"
    assert client.post("/api/filters", {"name": "never there", "query": ""}).status == 200


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"name": "x", "query": "colour=red"}, "query"),
        ({"name": "x", "query": "status=happy"}, "query"),
        ({"name": "x", "query": "since=yesterday"}, "query"),
        ({"name": "  ", "query": "q=a"}, "name"),
        ({"name": "x" * 61, "query": "q=a"}, "name"),
    ],
)
def test_what_is_no_filter_is_refused_and_takes_nothing_away(client: Client, body: dict[str, str], field: str) -> None:
    client.post("/api/filters", {"name": "x", "query": "q=first"})
    refused = client.post("/api/filters", body)
    assert (refused.status, field in refused.text) == (400, True)
    assert client.get("/api/filters").json["filters"] == [{"name": "x", "query": "q=first"}]


def test_there_are_no_more_than_fifty(client: Client) -> None:
    for number in range(50):
        client.post("/api/filters", {"name": f"f{number}", "query": "q=a"})
    assert "50 filters already" in client.post("/api/filters", {"name": "one more", "query": "q=a"}).text
    assert client.post("/api/filters", {"name": "f7", "query": "q=b"}).status == 200
    assert len(names(client)) == 50


def test_tasks_are_found_by_when_they_ended_alone_and_in_bulk(client: Client, context: AppContext) -> None:
    for number in range(3):
        submit(context, f"task {number}")
    first = claimed(context)
    context.queue.finish(first.id, first.fence, Ending.REFUSED, reason="a").result()
    between = to_text(utc_now())
    second = claimed(context)
    context.queue.finish(second.id, second.fence, Ending.REFUSED, reason="b").result()
    found = {
        query: [task["task_id"] for task in client.get(f"/api/tasks?{query}").json["tasks"]]
        for query in (f"since={quote(between)}", f"until={quote(between)}", "since=today", "until=today")
    }
    assert list(found.values()) == [[second.id], [first.id], [second.id, first.id], []]
    wanted = {"status": ["failed"], "since": between}
    done = client.post("/api/tasks/bulk", {"action": "retry", "filter": wanted}).json
    assert [each["task_id"] for each in done["results"]] == [second.id]


def test_today_begins_when_the_walls_clock_says_so() -> None:
    now = utc_now()
    assert now - timedelta(days=1, hours=2) < midnight(now) <= now
    assert midnight(now).astimezone().strftime("%H:%M") == "00:00"
