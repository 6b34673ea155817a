"""Steering: the urgency of tasks, one act upon many, and workers that begin anew."""

from __future__ import annotations

from concurrent.futures import CancelledError

from core.status import Restart
from server.context import Busy, settled
from server.endpoint import Call, Endpoint, Reply
from server.lists.bulk import BulkDone, BulkIn, Prioritised, PriorityIn, act_on_many

RESTART_WALL_S = 20.0


def act_on_tasks(call: Call) -> Reply:
    """Cancel, retry or prioritise many tasks."""
    return Reply(answer=act_on_many(call.context.queue, call.body(BulkIn)))


def prioritise_task(call: Call) -> Reply:
    """Make a task more or less urgent."""
    priority = call.body(PriorityIn).priority
    task = settled(call.context.queue.prioritise(call.number("task_id"), priority))
    return Reply(answer=Prioritised.from_values(task, task.spec, task_id=task.id))


def restart_worker(call: Call) -> Reply:
    """Have a worker begin anew."""
    try:
        done = call.context.restart(call.text("name")).result(RESTART_WALL_S)
    except (TimeoutError, CancelledError):
        raise Busy("the worker has not put its task down yet; look again in a moment") from None
    return Reply(answer=done)


ENDPOINTS = (
    Endpoint(
        name="act_on_tasks",
        view=act_on_tasks,
        method="POST",
        path="/api/tasks/bulk",
        summary="Cancel, retry or prioritise many tasks; what became of each is told. Goes on at `next_after`.",
        body=BulkIn,
        body_required=True,
        answers={200: BulkDone},
        errors=(400, 415, 503),
    ),
    Endpoint(
        name="prioritise_task",
        view=prioritise_task,
        method="POST",
        path="/api/task/{task_id}/priority",
        summary="Let a task be claimed sooner (a higher priority) or later.",
        body=PriorityIn,
        body_required=True,
        answers={200: Prioritised},
        errors=(400, 404, 409, 415, 503),
    ),
    Endpoint(
        name="restart_worker",
        view=restart_worker,
        method="POST",
        path="/api/worker/{name}/restart",
        summary="End what a worker does now and begin it anew: its task goes on from the last finished step.",
        texts=("name",),
        answers={200: Restart},
        errors=(400, 404, 503),
    ),
)
