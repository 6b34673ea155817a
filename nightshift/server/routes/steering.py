"""Controls work in progress: priorities, messages to open tasks, and restarts of workers."""

from __future__ import annotations

from concurrent.futures import CancelledError
from typing import Annotated

from pydantic import AfterValidator, StrictBool, StringConstraints

from nightshift.core.status import Restart
from nightshift.core.tasks.states import Status
from nightshift.core.tasks.task import MAX_MESSAGE_CHARS
from nightshift.core.text.strict import without_nul
from nightshift.server.context import AppContext, Busy, wait_for
from nightshift.server.endpoint import Routes
from nightshift.server.routes.bulk import PriorityIn
from nightshift.server.schemas import Answer, Moved, Sent

routes = Routes()

RESTART_WALL_S = 20.0


class SayIn(Sent):
    """Message to a task.

    With `interrupt`, a running model request is interrupted. Otherwise the message is used from the next request on.
    """

    text: Annotated[
        str,
        StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_MESSAGE_CHARS),
        AfterValidator(without_nul),
    ]
    interrupt: StrictBool = True


class Said(Answer):
    """Receipt of a message.

    `status` is the status of the task. `interrupted` is true if the message interrupted a running model request.
    """

    message_id: int
    task_id: int
    status: Status
    interrupted: bool


@routes.endpoint("POST", "/api/task/{task_id}/priority")
def prioritise_task(context: AppContext, task_id: int, body: PriorityIn) -> Moved:
    """Set a task's priority. Tasks with a higher priority are claimed sooner."""
    task = wait_for(context.queue.prioritise(task_id, body.priority))
    return Moved.from_values(task, task.spec, task_id=task.id)


@routes.endpoint("POST", "/api/task/{task_id}/say")
def say_to_task(context: AppContext, task_id: int, body: SayIn) -> Said:
    """Send a message to an open task. All requests to models contain the message, from the next request on.

    A running model request is aborted and repeated with the message, unless `interrupt` is false.
    """
    answering = any(call.task_id == task_id for call in context.live.open())
    message = wait_for(context.queue.say(task_id, body.text, interrupts=body.interrupt))
    return Said(
        message_id=message.id,
        task_id=task_id,
        status=context.queue.get(task_id).status,
        interrupted=body.interrupt and answering,
    )


@routes.endpoint("POST", "/api/worker/{name}/restart")
def restart_worker(context: AppContext, name: str) -> Restart:
    """Interrupt a worker and restart it. Its task continues after the last finished step."""
    try:
        return context.restart(name).result(RESTART_WALL_S)
    except (TimeoutError, CancelledError):
        raise Busy("the worker has not released its task yet; check again in a moment") from None
