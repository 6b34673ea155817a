from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nightshift.core.events import Level
from nightshift.core.tasks.queueing import PauseSource
from nightshift.server.context import AppContext
from tests.support.app_context import Client, fill, make_desk, serving
from tests.support.worked_task import submit, work_on

TEXT = {"Content-Type": "text/plain"}
JSON = {"Content-Type": "application/json"}


# The tests below submit tasks.


def test_a_task_is_taken_as_json(client: Client, context: AppContext) -> None:
    got = client.post("/api/task", {"description": "Write add(a, b)", "priority": 5, "kind": "library"})
    assert (got.status, got.json) == (201, {"task_id": 1, "status": "queued", "differs": []})
    assert got.headers["location"] == "/api/task/1"
    spec = context.queue.get(1).spec
    assert (spec.description, spec.priority, spec.kind) == ("Write add(a, b)", 5, "library")


def test_a_plain_text_is_the_description(client: Client, context: AppContext) -> None:
    got = client.request("POST", "/api/task", "Räum den\nCode auf".encode(), TEXT)
    assert got.status == 201
    assert context.queue.get(1).spec.description == "Räum den\nCode auf"


def test_a_key_that_was_seen_answers_with_the_first_task(client: Client) -> None:
    first = client.post("/api/task", {"description": "a", "key": "nightly"})
    again = client.post("/api/task", {"description": "b", "key": "nightly"})
    assert (first.status, again.status) == (201, 200)
    assert again.json == {**first.json, "differs": ["description"]}


@pytest.mark.parametrize(
    ("task", "field"),
    [
        ({}, "description"),
        ({"description": "x", "priority": 1.5}, "priority"),
        ({"description": "x", "tests": {"../x.py": ""}}, "tests"),
        ({"description": "x", "depends_on": [99]}, "depends_on"),
        ({"description": "x", "limits": {"iterations": 0}}, "limits.iterations"),
        ({"description": "x", "colour": "red"}, "colour"),
        ([1], "task"),
    ],
)
def test_what_is_no_task_is_refused_by_the_name_of_its_field(shared: Client, task: Any, field: str) -> None:
    got = shared.post("/api/task", task)
    assert got.status == 400
    assert field in got.json["fields"]
    assert got.json["error"]
    assert got.json["fields"][field]


@pytest.mark.parametrize(
    ("body", "headers", "status", "word"),
    [
        (b"{", JSON, 400, "JSON"),
        (b'{"description": "a", "description": "b"}', JSON, 400, "twice"),
        (b'{"description": "a", "priority": NaN}', JSON, 400, "NaN"),
        (b"\xff\xfe", TEXT, 400, "UTF-8"),
        (b"", TEXT, 400, "description"),
        (b"a\x00b", TEXT, 400, "NUL"),
        (b"description=x", {"Content-Type": "application/x-www-form-urlencoded"}, 415, "text/plain"),
        (b"x", {"Content-Type": "text/plain; charset=utf-16"}, 415, "UTF-8"),
    ],
)
def test_a_body_that_cannot_be_read_is_refused_with_the_reason(
    shared: Client, body: bytes, headers: dict[str, str], status: int, word: str
) -> None:
    got = shared.request("POST", "/api/task", body, headers)
    assert got.status == status
    assert set(got.json) == {"error", "fields"}
    assert word in got.json["error"]


# The tests below read tasks and other data.


def test_a_task_shows_what_became_of_it_with_a_row_for_each_try(client: Client, context: AppContext) -> None:
    submit(context, "Write calc.py", key="calc", metadata={"a": [1]})
    work_on(context)
    shown = client.get("/api/task/1").json
    assert (shown["status"], shown["ending"], shown["attempt"], shown["iteration_count"]) == ("done", "committed", 1, 2)
    assert shown["commit"] == "3f2a9c1d" * 5
    assert shown["branch"] == "agent/1-calc"
    assert shown["spent"] == {
        "model_calls": 4, "tokens_in": 4800, "tokens_out": 920, "cost_usd": 0.0, "model_s": 6.2, "suite_s": 0.8,
        "unpriced": 0,
    }  # fmt: skip
    assert all(shown[name].endswith("Z") for name in ("created_at", "started_at", "ended_at"))
    assert (shown["key"], shown["metadata"]) == ("calc", {"a": [1]})
    first, second = shown["iterations"]
    assert [run["phase"] for run in first["phases"]] == ["PLANNING", "CODING", "TESTING", "REFLECTING"]
    assert [run["outcome"] for run in second["phases"]] == ["ok", "ok"]
    assert second["phases"][0]["duration_s"] == 1.25
    assert (first["iteration"], first["attempt"]) == (1, 1)
    assert (first["passed"], first["failed"], first["total"]) == (1, 1, 2)
    assert (second["passed"], second["failed"], second["total"]) == (2, 0, 2)


@pytest.mark.parametrize("number", ["1", "9223372036854775808", "abc"])
@pytest.mark.parametrize(("method", "verb"), [("GET", ""), ("POST", "/cancel")])
def test_a_task_that_does_not_exist_is_not_found(shared: Client, number: str, method: str, verb: str) -> None:
    got = shared.request(method, f"/api/task/{number}{verb}")
    assert got.status == 404
    assert set(got.json) == {"error", "fields"}


def test_tasks_are_listed_page_by_page_newest_first(client: Client, context: AppContext) -> None:
    for number in range(1, 8):
        submit(context, f"task {number}")
    seen, after = [], ""
    while True:
        page = client.get(f"/api/tasks?limit=3{after}").json
        seen += [task["task_id"] for task in page["tasks"]]
        if page["next"] is None:
            break
        after = f"&cursor={page['next']}"
    assert seen == [7, 6, 5, 4, 3, 2, 1]
    assert client.get("/api/tasks?limit=7").json["next"] is None


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/api/tasks?status=sleeping", "status"),
        ("/api/tasks?limit=501", "limit"),
        ("/api/tasks?limit=1&limit=2", "limit"),
        ("/api/tasks?colour=red", "colour"),
        ("/healthz?x=1", "x"),
    ],
)
def test_a_wrong_or_unknown_parameter_is_refused_by_its_name(shared: Client, path: str, name: str) -> None:
    got = shared.get(path)
    assert got.status == 400
    assert list(got.json["fields"]) == [name]
    assert name in got.json["error"]


def test_logs_are_read_with_a_cursor(client: Client, context: AppContext) -> None:
    for level in Level:
        fill(context, 2, level=level, task_id=3)
    fill(context, 2)
    newest = client.get("/api/logs?limit=3").json
    assert [event["id"] for event in newest["events"]] == [8, 9, 10]
    assert newest["last_id"] == 10
    page = client.get("/api/logs?after=0&limit=4").json
    assert [event["id"] for event in page["events"]] == [1, 2, 3, 4]
    assert page["last_id"] == 4
    assert client.get("/api/logs?after=10").json == {"events": [], "first_id": 11, "last_id": 10}
    bad = client.get("/api/logs?after=0&level=WARNING&task=3").json
    assert [event["level"] for event in bad["events"]] == ["WARNING", "WARNING", "ERROR", "ERROR"]
    assert bad["last_id"] == 10, "what did not pass the filter need not be read again"
    assert client.get("/api/logs?task=99").json == {"events": [], "first_id": 1, "last_id": 10}


# The tests below act on tasks.


def test_a_queued_task_is_cancelled_at_once_and_can_be_retried(client: Client, context: AppContext) -> None:
    submit(context, "a")
    gone = client.post("/api/task/1/cancel")
    assert (gone.status, gone.json) == (
        200,
        {"task_id": 1, "status": "cancelled", "priority": 1, "cancel_requested": False},
    )
    back = client.post("/api/task/1/retry", {})
    assert (back.status, back.json["status"]) == (200, "queued")


def test_an_illegal_move_is_a_conflict(client: Client, context: AppContext) -> None:
    submit(context, "a")
    work_on(context)
    for verb in ("cancel", "retry"):
        got = client.post(f"/api/task/1/{verb}")
        assert got.status == 409
        assert "1" in got.json["error"]


def test_pause_and_resume_hold_and_free_the_queue(client: Client, context: AppContext) -> None:
    paused = client.post("/api/pause", {"reason": "lunch"}).json
    assert paused["state"] == "paused"
    assert [(hold["source"], hold["reason"]) for hold in paused["holds"]] == [("owner", "lunch")]
    assert context.queue.pause_state().reason == "lunch"
    submit(context, "a")
    assert context.queue.claim("worker-1").result() is None
    assert client.request("POST", "/api/resume").json == {"state": "running", "holds": []}
    assert client.request("POST", "/api/pause").json["state"] == "paused"


def test_a_resume_says_what_still_holds_tasks_back(client: Client, context: AppContext) -> None:
    context.queue.add_pause(PauseSource.CHECKPOINT, "the week is over").result()
    assert client.get("/api/status").json["state"] == "checkpoint"
    context.queue.add_pause(PauseSource.QUIET, "quiet hours until 07:00").result()
    resumed = client.request("POST", "/api/resume").json
    assert resumed["state"] == "paused"
    assert [(hold["source"], hold["reason"]) for hold in resumed["holds"]] == [("quiet", "quiet hours until 07:00")]
    assert client.get("/api/status").json["holds"] == resumed["holds"]


# The tests below cover the health endpoint and failures.


def test_health_is_told_without_a_word_of_any_task(client: Client, context: AppContext) -> None:
    submit(context, "secret plans")
    got = client.get("/healthz")
    well = {"status": "ok", "state": "working", "database": True, "writer": True, "loop_lag_s": 0.001, "faults": []}
    assert (got.status, got.json) == (200, well)


def test_a_closed_database_is_seen_by_the_health_check(tmp_path: Path) -> None:
    context = make_desk(tmp_path)
    with serving(context) as client:
        context.database.close()
        got = client.get("/healthz")
        assert got.status == 503
        assert got.json["status"] == "failing"
        assert got.json["writer"] is False


def test_an_error_inside_is_told_to_the_log_alone(context: AppContext, caplog: pytest.LogCaptureFixture) -> None:
    calls = iter(())
    with serving(replace(context, status=lambda: next(calls))) as client:
        got = client.get("/api/status")
    assert got.status == 500
    assert got.json == {"error": "something went wrong inside Nightshift; its log says what", "fields": {}}
    assert "StopIteration" in caplog.text


def test_answers_are_not_stored_by_any_cache(client: Client) -> None:
    assert client.get("/api/status").headers["cache-control"] == "no-store"
    assert client.get("/").headers["cache-control"] == "no-store"


def test_an_unhealthy_daemon_says_what_is_not_well(context: AppContext) -> None:
    ill = replace(context, faults=lambda: ("the workers have ended",))
    with serving(ill) as client:
        got = client.get("/healthz")
        assert (got.status, got.json["status"], got.json["database"]) == (503, "failing", True)
        assert got.json["faults"] == ["the workers have ended"]
