from __future__ import annotations

from typing import Any

import pytest

from nightshift.server.context import AppContext
from nightshift.server.routes.bulk import MAX_AT_ONCE
from tests.support.app_context import Client
from tests.support.worked_task import submit, work_on

BULK = "/api/tasks/bulk"


def statuses(context: AppContext) -> list[str]:
    return [str(task.status) for task in reversed(context.queue.find(limit=500))]


def test_each_of_several_tasks_is_told_what_became_of_it(context: AppContext, client: Client) -> None:
    submit(context, "first")
    work_on(context)
    submit(context, "second")
    submit(context, "third")
    got = client.post(BULK, {"action": "cancel", "ids": [3, 1, 2, 99, 2]})
    assert got.status == 200
    outcomes = {each["task_id"]: (each["ok"], each["status"]) for each in got.json["results"]}
    assert outcomes == {1: (False, None), 2: (True, "cancelled"), 3: (True, "cancelled"), 99: (False, None)}
    assert (got.json["matched"], got.json["fitting"]) == (4, 2)
    errors = {each["task_id"]: each["error"] for each in got.json["results"]}
    assert "done" in errors[1]
    assert "no task 99" in errors[99]
    assert statuses(context) == ["done", "cancelled", "cancelled"]


def test_a_filter_acts_on_what_the_list_shows_and_the_action_is_for(context: AppContext, client: Client) -> None:
    for number in range(4):
        submit(context, f"{'cheese' if number % 2 else 'wine'} {number}")
    work_on(context, passes=False)  # the oldest task, “wine 0”
    asked = {"action": "cancel", "filter": {"q": "wine"}}
    counted = client.post(BULK, {**asked, "dry_run": True}).json
    assert (counted["matched"], counted["fitting"], counted["results"]) == (2, 1, [])
    assert statuses(context) == ["failed", "queued", "queued", "queued"]
    done = client.post(BULK, asked).json
    assert [(each["task_id"], each["ok"]) for each in done["results"]] == [(3, True)]
    assert statuses(context) == ["failed", "queued", "cancelled", "queued"]


def test_all_that_failed_are_retried_in_the_order_of_what_they_need(context: AppContext, client: Client) -> None:
    first = submit(context, "first")
    second = submit(context, "second", depends_on=[first])
    work_on(context, passes=False)
    assert statuses(context) == ["failed", "failed"]
    done = client.post(BULK, {"action": "retry", "filter": {"status": ["failed"]}}).json
    assert [(each["task_id"], each["ok"]) for each in done["results"]] == [(first, True), (second, True)]
    assert statuses(context) == ["queued", "blocked"]


def test_a_chain_is_cancelled_from_its_end(context: AppContext, client: Client) -> None:
    first = submit(context, "first")
    submit(context, "second", depends_on=[first])
    done = client.post(BULK, {"action": "cancel", "filter": {}}).json
    assert all(each["ok"] for each in done["results"])
    assert statuses(context) == ["cancelled", "cancelled"]


def test_more_than_fit_into_a_request_go_on_behind_the_last(context: AppContext, client: Client) -> None:
    for number in range(MAX_AT_ONCE + 3):
        submit(context, f"task {number}")
    asked = {"action": "prioritise", "priority": 7, "filter": {"status": ["queued"]}}
    first = client.post(BULK, asked).json
    assert (first["matched"], len(first["results"])) == (MAX_AT_ONCE + 3, MAX_AT_ONCE)
    rest = client.post(BULK, {**asked, "after": first["next_after"]}).json
    assert [each["task_id"] for each in rest["results"]] == [MAX_AT_ONCE + 1, MAX_AT_ONCE + 2, MAX_AT_ONCE + 3]
    assert rest["next_after"] is None
    assert {task.spec.priority for task in context.queue.find(limit=MAX_AT_ONCE + 3)} == {7}


@pytest.mark.parametrize(
    ("asked", "word"),
    [
        ({"action": "cancel", "ids": [1], "filter": {}}, "not both"),
        ({"action": "cancel", "ids": [1], "priority": 3}, "prioritise"),
        ({"action": "prioritise", "ids": [1]}, "priority"),
        ({"action": "delete", "ids": [1]}, "action"),
        ({"action": "retry", "filter": {"status": ["nope"]}}, "status"),
    ],
)
def test_what_is_wrong_in_a_request_is_named(shared: Client, asked: Any, word: str) -> None:
    got = shared.post(BULK, asked)
    assert got.status == 400
    assert word in got.json["error"]


def test_each_result_tells_whether_it_can_be_undone_and_the_priority_before(
    context: AppContext, client: Client
) -> None:
    queued = submit(context, "plain")
    later = submit(context, "later", not_before="2099-01-01T00:00:00Z")
    submit(context, "urgent", priority=4)
    asked = {"action": "prioritise", "ids": [1, 2, 3], "priority": 9}
    results = client.post(BULK, asked).json["results"]
    assert [(each["priority_before"], each["can_undo"]) for each in results] == [(1, True), (1, True), (4, True)]
    cancelled = client.post(BULK, {"action": "cancel", "ids": [queued, later]}).json["results"]
    assert [each["can_undo"] for each in cancelled] == [True, False]
    retried = client.post(BULK, {"action": "retry", "ids": [queued]}).json["results"]
    assert [each["can_undo"] for each in retried] == [True]


def test_a_task_that_was_begun_is_not_brought_back_by_the_opposite_act(context: AppContext, client: Client) -> None:
    failed = submit(context, "plain")
    work_on(context, passes=False)
    (retried,) = client.post(BULK, {"action": "retry", "ids": [failed]}).json["results"]
    (cancelled,) = client.post(BULK, {"action": "cancel", "ids": [failed]}).json["results"]
    assert [(each["ok"], each["can_undo"]) for each in (retried, cancelled)] == [(True, False), (True, False)]
