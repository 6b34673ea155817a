"""Tasks: submitting, reading, and acting on them."""

from __future__ import annotations

from flask import request

from core.submission import TaskIn
from db import pruning
from server.bodies import read_task_body
from server.context import settled
from server.endpoint import Call, Endpoint, Reply
from server.lists.task_answers import task_detail
from server.lists.task_list import TasksQuery, list_of_tasks
from server.reviewing import Reviewing
from server.schemas import Moved, Submitted, TaskDetail, Tasks


def submit_task(call: Call) -> Reply:
    """Add a task."""
    spec = call.context.read_task(read_task_body(request))
    sent = settled(call.context.queue.submit(spec))
    return Reply(
        answer=Submitted.from_values(sent),
        status=201 if sent.created else 200,
        headers={"Location": f"/api/task/{sent.task_id}"},
    )


def show_task(call: Call) -> Reply:
    """One task with its iterations."""
    context = call.context
    task = context.queue.get(call.number("task_id"))
    reverted_by = Reviewing(context.database, context.queue, context.events, context.mask).reverted_by(task.id)
    pruned = pruning.notes(context.database.reader(), task.id, task.ended_at)
    rows, family = context.steps.iterations(task.id), context.queue.family(task)
    return Reply(answer=task_detail(task, rows, family, reverted_by, pruned))


def list_tasks(call: Call) -> Reply:
    """A page of tasks."""
    return Reply(answer=list_of_tasks(call.context.queue, call.asked(TasksQuery), call.context.mask))


def cancel_task(call: Call) -> Reply:
    """Cancel a task."""
    task = settled(call.context.queue.cancel(call.number("task_id")))
    return Reply(answer=Moved.from_values(task, task_id=task.id))


def retry_task(call: Call) -> Reply:
    """Queue a task again."""
    task = settled(call.context.queue.retry(call.number("task_id")))
    return Reply(answer=Moved.from_values(task, task_id=task.id))


ENDPOINTS = (
    Endpoint(
        name="submit_task",
        view=submit_task,
        method="POST",
        path="/api/task",
        summary="Add a task. The same `key` sent again adds nothing and answers 200 with the first task's id; "
        "`differs` then names the fields in which that task is another one.",
        body=TaskIn,
        body_required=True,
        text_body="the whole body is the description",
        answers={201: Submitted, 200: Submitted},
        errors=(400, 413, 415, 503),
    ),
    Endpoint(
        name="show_task",
        view=show_task,
        method="GET",
        path="/api/task/{task_id}",
        summary="One task with its iterations.",
        answers={200: TaskDetail},
        errors=(400, 404),
    ),
    Endpoint(
        name="list_tasks",
        view=list_tasks,
        method="GET",
        path="/api/tasks",
        summary="Tasks page by page, filtered and sorted; the newest first unless asked otherwise.",
        query=TasksQuery,
        answers={200: Tasks},
        errors=(400,),
    ),
    Endpoint(
        name="cancel_task",
        view=cancel_task,
        method="POST",
        path="/api/task/{task_id}/cancel",
        summary="Cancel a task; a running one ends at its next safe point.",
        answers={200: Moved},
        errors=(400, 404, 409, 503),
    ),
    Endpoint(
        name="retry_task",
        view=retry_task,
        method="POST",
        path="/api/task/{task_id}/retry",
        summary="Queue a failed or cancelled task again.",
        answers={200: Moved},
        errors=(400, 404, 409, 503),
    ),
)
