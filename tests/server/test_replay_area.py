"""A span of time as the API replays it: whose steps, when, with which tests, and what models had cost by then."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from urllib.parse import quote

import pytest

from nightshift.core.clock import from_text, to_text, utc_now
from nightshift.server.context import AppContext
from nightshift.server.timeline import replay as area
from nightshift.storage.db.sqlite import Connection
from tests.support.app_context import Client
from tests.support.worked_task import submit, work_on


def asked(client: Client, query: str = "since=today") -> dict[str, Any]:
    got = client.get(f"/api/replay?{query}")
    assert got.status == 200, got.text
    return dict(got.json)


def around() -> str:
    """A span of two hours around now."""
    since, until = (quote(to_text(utc_now() + timedelta(hours=hours))) for hours in (-1, 1))
    return f"since={since}&until={until}"


def test_steps_stand_in_the_lane_of_their_worker_with_their_tests(client: Client, context: AppContext) -> None:
    submit(context, "Write calc.py\nand more")
    task = work_on(context)
    told = asked(client, around())
    assert told["workers"] == ["worker-1"]
    assert [(each["task_id"], each["title"], each["status"]) for each in told["tasks"]] == [
        (task.id, "Write calc.py", "done")
    ]
    steps = told["steps"]
    assert [each["step_no"] for each in steps] == [0, 1, 2, 3, 4, 5]
    assert [each["phase"] for each in steps][:3] == ["PLANNING", "CODING", "TESTING"]
    assert [(each["passed"], each["failed"]) for each in steps if each["passed"] is not None] == [(1, 1), (2, 0)]
    assert all(0 <= each["start_s"] <= each["end_s"] <= 7200 for each in steps)
    assert 3500 < told["tasks"][0]["ended_s"] < 7200


def test_the_cost_grows_when_a_call_ends_by_what_it_cost(client: Client, context: AppContext) -> None:
    submit(context, "Write calc.py")
    work_on(context)

    def priced(conn: Connection) -> None:
        conn.execute("UPDATE model_stats SET cost_usd = 0.25 WHERE id IN (SELECT id FROM model_stats LIMIT 3)")

    context.database.write(priced).result()
    query = "SELECT at, cost_usd FROM model_stats ORDER BY at"
    calls = [(from_text(row["at"]), row["cost_usd"]) for row in context.database.reader().execute(query)]
    told = asked(client, around())
    since, cost, unpriced, wanted = from_text(told["since"]), 0.0, 0, list[Any]()
    for at, price in calls:
        cost, unpriced = cost + (price or 0.0), unpriced + (price is None)
        wanted.append((pytest.approx((at - since).total_seconds(), abs=0.001), pytest.approx(cost), unpriced))
    assert [(each["at_s"], each["cost_usd"], each["unpriced"]) for each in told["costs"]] == wanted
    assert (cost, unpriced) == (0.75, 1)


@pytest.mark.parametrize("most", [1, 2, 3])
def test_of_too_many_calls_some_are_told_and_the_last_with_the_whole_sum(
    client: Client, context: AppContext, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    submit(context, "Write calc.py")
    work_on(context)
    query = around()
    whole = asked(client, query)["costs"]
    monkeypatch.setattr(area, "MOST_COSTS", most)
    told = asked(client, query)["costs"]
    assert len(whole) == 4
    assert len(told) <= most
    assert told[-1] == whole[-1]
    assert all(each in whole for each in told)


def test_of_too_many_steps_the_newest_are_told_and_the_span_begins_with_them(
    client: Client, context: AppContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit(context, "Write calc.py")
    work_on(context)
    whole = asked(client, around())
    monkeypatch.setattr(area, "MOST_STEPS", 2)
    told = asked(client, around())
    assert (whole["cut"], told["cut"]) == (False, True)
    assert [each["step_no"] for each in told["steps"]] == [4, 5]
    assert from_text(told["since"]) > from_text(whole["since"])


def test_a_step_whose_claim_the_log_has_lost_is_shown_all_the_same(client: Client, context: AppContext) -> None:
    submit(context, "Write calc.py")
    work_on(context)
    context.database.write(lambda conn: conn.execute("DELETE FROM execution_logs")).result()
    assert asked(client, around())["workers"] == [area.NOBODY]


def test_a_span_without_work_is_empty(client: Client) -> None:
    told = asked(client, "since=night")
    assert (told["workers"], told["steps"], told["costs"], told["cut"]) == ([], [], [], False)


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("since=2026-11-26T04:00:00Z&until=2026-11-26T03:00:00Z", "until"),
        ("since=2026-01-01T00:00:00Z&until=2026-11-26T03:00:00Z", "since"),
        ("since=yesterday", "since"),
        ("since=2026-11-26T04:60:00", "since"),
        ("sinse=night", "sinse"),
    ],
)
def test_a_span_that_is_none_is_refused_by_its_field(client: Client, query: str, field: str) -> None:
    got = client.get(f"/api/replay?{query}")
    assert got.status == 400
    assert any(name.startswith(field) for name in got.json["fields"]), got.json
