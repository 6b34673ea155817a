"""Sends the owner's messages to open tasks on behalf of the API."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, StrictBool, StringConstraints

from nightshift.core.clock import Moment
from nightshift.core.tasks.states import Status
from nightshift.core.tasks.task import MAX_MESSAGE_CHARS, OwnerMessage
from nightshift.core.text.strict import without_nul
from nightshift.server.context import AppContext, wait_for
from nightshift.server.formatting import full_text
from nightshift.server.schemas import Answer, Sent


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


class SaidRow(Answer):
    """A message to a task. `attempt` is the attempt in which it was sent, 0 before the first attempt."""

    message_id: int
    attempt: int
    text: str
    interrupts: bool
    at: Moment


def say(context: AppContext, task_id: int, asked: SayIn) -> Said:
    """Store a message to a task. Committing the message notifies the task's worker.

    Raises:
        UnknownTask: no task has this id.
        IllegalMove: the task has ended.
        InvalidTask: the task has too many messages.
    """
    answering = any(call.task_id == task_id for call in context.live.open())
    message = wait_for(context.queue.say(task_id, asked.text, interrupts=asked.interrupt))
    return Said(
        message_id=message.id,
        task_id=task_id,
        status=context.queue.get(task_id).status,
        interrupted=asked.interrupt and answering,
    )


def list_said(context: AppContext, task_id: int) -> list[SaidRow]:
    """List the messages to a task, oldest first."""
    return [_row(context, message) for message in context.queue.list_messages(task_id)]


def _row(context: AppContext, message: OwnerMessage) -> SaidRow:
    return SaidRow.from_values(message, message_id=message.id, text=full_text(message.text, context.mask))
