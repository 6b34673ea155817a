"""Saying something to a task that is open, behind the API."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, StrictBool, StringConstraints

from nightshift.core.clock import Moment
from nightshift.core.tasks.messages import MAX_MESSAGE_CHARS, OwnerMessage
from nightshift.core.tasks.states import Status
from nightshift.core.text.strict import without_nul
from nightshift.server.context import AppContext, wait_for
from nightshift.server.formatting import full_text
from nightshift.server.schemas import Answer


class SayIn(BaseModel):
    """Message to a task; with `interrupt` a request of the model that is under way is not waited for."""

    model_config = ConfigDict(extra="forbid")

    text: Annotated[
        str,
        StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_MESSAGE_CHARS),
        AfterValidator(without_nul),
    ]
    interrupt: StrictBool = True


class Said(Answer):
    """Receipt of a message, with the task's status; `interrupted` tells that a model was just answering it."""

    message_id: int
    task_id: int
    status: Status
    interrupted: bool


class SaidRow(Answer):
    """Something that was said to a task, in which of its attempts (0: before the first)."""

    message_id: int
    attempt: int
    text: str
    interrupts: bool
    at: Moment


def say(context: AppContext, task_id: int, asked: SayIn) -> Said:
    """Store it; the worker is told by the commit.

    Raises:
        UnknownTask: there is none of that id.
        IllegalMove: it has ended.
        InvalidTask: too much was said to it.
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
