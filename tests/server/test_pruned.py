"""Pruned work as users see it.

They see that the work was pruned, when, and by which setting. Streams continue after pruned events.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from nightshift.queue import store as task_rows
from nightshift.server.context import AppContext
from nightshift.storage.db import pruning
from nightshift.storage.db.pruning import Pruned
from tests.support.app_context import Client, fill
from tests.support.sse import Listener
from tests.support.worked_task import RIGHT, submit, work_on

AT = datetime(2026, 11, 22, 4, 30, tzinfo=UTC)
LATER = datetime(2100, 1, 1, tzinfo=UTC)
SAID = "Its steps, prompts and replies were pruned on 2026-11-22 (keep_work_days)."


def prune(context: AppContext, task_id: int) -> None:
    gone = context.database.write(lambda conn: pruning.prune_work(conn, task_id, LATER, AT, "keep_work_days")).result()
    assert gone.rows


def prune_log(context: AppContext, upto: int) -> None:
    context.database.write(lambda conn: pruning.prune_events(conn, 0, upto, LATER)).result()
    record = Pruned(at=AT, setting="keep_events_days", before=datetime.now(UTC) + timedelta(minutes=1))
    context.database.write(lambda conn: pruning.note_events(conn, record)).result()


@pytest.fixture
def worked(context: AppContext) -> int:
    """Create a task that ended with steps and calls."""
    task_id = submit(context, "Add two numbers")
    task = work_on(context)
    assert task.id == task_id
    if context.queue.get(task_id).ended_at is None:
        context.queue.cancel(task_id).result()
    return task_id


def test_the_course_of_a_pruned_task_says_so_and_keeps_what_its_tries_took(
    client: Client, context: AppContext, worked: int
) -> None:
    before = client.get(f"/api/task/{worked}/timeline").json
    assert before["pruned"] == []
    prune(context, worked)
    after = client.get(f"/api/task/{worked}/timeline").json
    assert after["pruned"] == [SAID]
    assert [each["steps"] for each in after["tries"]] == [[], [], []]
    assert [each["phases"] for each in after["tries"]] == [each["phases"] for each in before["tries"]]


def test_what_was_pruned_is_not_there_and_says_why(client: Client, context: AppContext, worked: int) -> None:
    prune(context, worked)
    for path in ("step/1/1", "diff", "diff?of=step&attempt=1&step=1"):
        gone = client.get(f"/api/task/{worked}/{path}")
        assert gone.status == 404
        assert "were pruned on 2026-11-22 (keep_work_days)" in gone.json["error"]
    refused = client.post(f"/api/task/{worked}/fork", {})
    assert (refused.status, "were pruned on 2026-11-22" in refused.json["error"]) == (404, True)


def test_a_fork_begins_although_the_steps_of_its_source_were_pruned(
    client: Client, context: AppContext, worked: int
) -> None:
    fork_id = client.post(f"/api/task/{worked}/fork", {"attempt": 1, "step_no": 4}).json["task_id"]
    prune(context, worked)
    fork, digest = task_rows.fork_origin(context.database.reader(), fork_id) or (None, "")
    work = context.steps.work(digest)
    assert fork is not None
    assert work is not None
    assert work.change == {"calc.py": RIGHT}


def test_a_call_that_was_pruned_is_gone_and_not_unknown(client: Client, context: AppContext, worked: int) -> None:
    assert client.get(f"/task/{worked}/call/1/0/0").status == 200
    prune(context, worked)
    gone = client.get(f"/task/{worked}/call/1/0/0")
    assert (gone.status, "keep_work_days" in gone.text) == (410, True)


def test_a_stream_resumes_with_an_id_that_was_pruned_since(
    context: AppContext, client: Client, listen: type[Listener]
) -> None:
    fill(context, 10)
    prune_log(context, 8)
    assert listen(client.host.port, "?after=3").ids(2) == [9, 10]
    late = listen(client.host.port, last_id=10)
    fill(context, 1)
    assert late.ids(1) == [11]
