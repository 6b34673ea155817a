"""Steering: the urgency of tasks, one act upon many, and workers that begin anew."""

from __future__ import annotations

from server.bulk import BulkDone, BulkIn, Prioritised, PriorityIn, act_on_many
from server.desk import settled
from server.endpoint import Call, Endpoint, Reply


def act_on_tasks(call: Call) -> Reply:
    """Cancel, retry or prioritise many tasks."""
    return Reply(answer=act_on_many(call.desk.queue, call.body(BulkIn)))


def prioritise_task(call: Call) -> Reply:
    """Make a task more or less urgent."""
    priority = call.body(PriorityIn).priority
    task = settled(call.desk.queue.prioritise(call.number("task_id"), priority))
    return Reply(answer=Prioritised(task_id=task.id, status=task.status, priority=task.spec.priority))


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
)
