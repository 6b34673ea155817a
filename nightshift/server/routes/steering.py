"""Steering: the urgency of tasks, words to one that is open, one act upon many, and workers that begin anew."""

from __future__ import annotations

from concurrent.futures import CancelledError

from nightshift.core.status import Restart
from nightshift.server.context import AppContext, Busy, wait_for
from nightshift.server.endpoint import Routes
from nightshift.server.lists.bulk import BulkDone, BulkIn, Prioritised, PriorityIn, act_on_many
from nightshift.server.saying import Said, SayIn, say

routes = Routes()

RESTART_WALL_S = 20.0


@routes.endpoint("POST", "/api/tasks/bulk")
def act_on_tasks(context: AppContext, body: BulkIn) -> BulkDone:
    """Cancel, retry or prioritise many tasks; what became of each is told. Goes on at `next_after`."""
    return act_on_many(context.queue, body)


@routes.endpoint("POST", "/api/task/{task_id}/priority")
def prioritise_task(context: AppContext, task_id: int, body: PriorityIn) -> Prioritised:
    """Let a task be claimed sooner (a higher priority) or later."""
    task = wait_for(context.queue.prioritise(task_id, body.priority))
    return Prioritised.from_values(task, task.spec, task_id=task.id)


@routes.endpoint("POST", "/api/task/{task_id}/say")
def say_to_task(context: AppContext, task_id: int, body: SayIn) -> Said:
    """Say something to a task that is open: it stands in all requests to models from the next one on.

    Unless `interrupt` is false, a request of the model that is under way is broken off and made again with it.
    """
    return say(context, task_id, body)


@routes.endpoint("POST", "/api/worker/{name}/restart")
def restart_worker(context: AppContext, name: str) -> Restart:
    """End what a worker does now and begin it anew: its task goes on from the last finished step."""
    try:
        done = context.restart(name).result(RESTART_WALL_S)
    except (TimeoutError, CancelledError):
        raise Busy("the worker has not put its task down yet; look again in a moment") from None
    return done
