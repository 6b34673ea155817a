"""Serves tasks: submits, shows, lists, cancels and retries them."""

from __future__ import annotations

from flask import request

from nightshift.core.tasks.states import Status
from nightshift.core.tasks.submission import TaskIn
from nightshift.server.bodies import read_task_body
from nightshift.server.context import AppContext, wait_for
from nightshift.server.endpoint import Reply, Routes
from nightshift.server.lists.bulk import RetryIn
from nightshift.server.lists.task_answers import draft_of, task_detail
from nightshift.server.lists.task_list import TasksQuery, list_of_tasks
from nightshift.server.schemas import Moved, Submitted, TaskDetail, Tasks

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
    reverted_by = context.reads.find_revert(task.id)
    pruned = context.reads.list_pruned(task)
    rows, family = context.steps.iterations(task.id), context.queue.family(task)
    waits_for = context.queue.waits_for(task.id) if task.status is Status.BLOCKED else ()
    draft = context.reads.find_draft(task.id)
    detail = task_detail(task, rows, family, reverted_by, pruned, waits_for)
    has_draft = draft is not None and task.status is Status.FAILED
    return detail.model_copy(update={"draft": draft and draft_of(draft, context.mask), "has_draft": has_draft})


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
    how = body or RetryIn()
    task = wait_for(context.queue.retry(task_id, from_draft=how.from_draft))
    return Moved.from_values(task, task_id=task.id)
