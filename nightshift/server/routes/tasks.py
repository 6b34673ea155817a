"""Serves tasks: submits, shows, lists, cancels and retries them."""

from __future__ import annotations

from collections.abc import Sequence
from shlex import quote

from flask import request

from nightshift.core.tasks.states import Status, cause_first
from nightshift.core.tasks.submission import TaskIn
from nightshift.core.tasks.task import Task
from nightshift.core.text.plain_data import shallow
from nightshift.server.bodies import read_task_body
from nightshift.server.context import AppContext, wait_for
from nightshift.server.endpoint import Reply, Routes
from nightshift.server.formatting import Mask, short
from nightshift.server.lists.bulk import RetryIn
from nightshift.server.lists.task_list import TasksQuery, list_of_tasks
from nightshift.server.schemas import Child, Draft, Iteration, Moved, Submitted, TaskDetail, Tasks
from nightshift.storage.db.commit_signs import Signs
from nightshift.storage.db.state_store import Commit, describe_draft
from nightshift.storage.db.step_store import IterationRow

MAX_TITLE_CHARS = 200
routes = Routes()


@routes.endpoint(
    "POST",
    "/api/task",
    answers={201: Submitted, 200: Submitted},
    body=TaskIn,
    body_required=True,
    text_body="the whole body is the description",
)
def submit_task(context: AppContext) -> Reply:
    """Add a task to the queue.

    A second request with the same `key` adds nothing and answers 200 with the first task's id. `differs` then names the
    fields in which the first task differs from the request.
    """
    spec = context.read_task(read_task_body(request))
    sent = wait_for(context.queue.submit(spec))
    return Reply(
        answer=Submitted.from_values(sent),
        status=201 if sent.created else 200,
        headers={"Location": f"/api/task/{sent.task_id}"},
    )


@routes.endpoint("GET", "/api/task/{task_id}")
def show_task(context: AppContext, task_id: int) -> TaskDetail:
    """Show a task with its iterations."""
    task = context.queue.get(task_id)
    family, draft = context.queue.family(task), context.reads.find_draft(task.id)
    return TaskDetail.from_values(
        task,
        task.spec,
        task_id=task.id,
        iteration_count=task.iterations,
        cause=cause_first(task.reason),
        metadata=shallow(task.spec.metadata),  # older versions stored values that JSON cannot hold
        parent=family.parent_id,
        children=[_child(part) for part in family.subtasks],
        reverted_by=context.reads.find_revert(task.id),
        iterations=_iterations(context.steps.iterations(task.id)),
        pruned=context.reads.list_pruned(task),
        waits_for=context.queue.waits_for(task.id) if task.status is Status.BLOCKED else (),
        draft=draft and _draft(draft, context.mask),
        has_draft=draft is not None and task.status is Status.FAILED,
    )


@routes.endpoint("GET", "/api/tasks")
def list_tasks(context: AppContext, query: TasksQuery) -> Tasks:
    """List tasks page by page, filtered and sorted; by default the newest first."""
    return list_of_tasks(context.queue, query, context.mask)


@routes.endpoint("POST", "/api/task/{task_id}/cancel")
def cancel_task(context: AppContext, task_id: int) -> Moved:
    """Cancel a task. A running task ends at its next safe point."""
    task = wait_for(context.queue.cancel(task_id))
    return Moved.from_values(task, task_id=task.id)


@routes.endpoint("POST", "/api/task/{task_id}/retry")
def retry_task(context: AppContext, task_id: int, body: RetryIn | None) -> Moved:
    """Queue a failed or cancelled task again, from its beginning or from the change in its draft."""
    task = wait_for(context.queue.retry(task_id, from_draft=(body or RetryIn()).from_draft))
    return Moved.from_values(task, task_id=task.id)


def _draft(entry: Commit, mask: Mask) -> Draft:
    """Return a task's draft from its entry in the ledger."""
    signs = entry.signs or Signs()
    return Draft.from_values(
        entry,
        text=short(describe_draft(entry), mask),
        tests=signs.tests,
        tests_passed=signs.tests_passed,
        failing=[short(name, mask) for name in signs.failing],
        look=f"git -C {quote(entry.repo)} diff {entry.base[:12]} {quote(entry.branch)}",
    )


def _child(part: Task) -> Child:
    title = part.spec.description.partition("\n")[0][:MAX_TITLE_CHARS]
    return Child.from_values(part, task_id=part.id, description=title)


def _iterations(rows: Sequence[IterationRow]) -> list[Iteration]:
    """Return a row for each iteration of each attempt.

    Steps before the first iteration are stored as iteration 0. They are shown as the beginning of iteration 1, or as a
    row of their own until iteration 1 has begun.
    """
    before = {row.attempt: row.phases for row in rows if row.iteration == 0}
    begun = {row.attempt for row in rows if row.iteration == 1}
    iterations = []
    for row in (row for row in rows if row.iteration or row.attempt not in begun):
        phases = (*before.get(row.attempt, ()), *row.phases) if row.iteration == 1 else row.phases
        iterations.append(Iteration.from_values(row, phases=phases))
    return iterations
