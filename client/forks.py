"""A new task that begins where another one was."""

from __future__ import annotations

import re

import click
from pydantic import ValidationError

from client.asked import Asked
from client.blocks import Cell
from client.exits import Exit
from client.session import Session
from core.errors import InvalidTask
from server.course.forking import ForkIn

_PLACE = re.compile(r"([0-9]{1,18})(?::([0-9]{1,9}))??(?::([0-9]{1,9}))?", re.ASCII)


def fork(session: Session, asked: Asked) -> int:
    """Submit a task with the files and the plan that a step of another one left behind."""
    task_id, attempt, step_no = place_of(asked.name)
    body = {"attempt": attempt, "step_no": step_no, "model": asked.model or None, "note": asked.answer}
    try:
        wanted = ForkIn.model_validate(body)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise InvalidTask({".".join(map(str, first["loc"])): first["msg"]}) from None
    made = session.door.fork(task_id, wanted)
    by = f", by {made.model}" if made.model else ""
    where = f"after step {made.step_no} of attempt {made.attempt} of task {made.source}"
    session.answer_line(made, Cell(f"task {made.task_id} {made.status}, begins {where}{by}"))
    session.say_if_down("the task waits in the queue until it starts")
    return Exit.OK


def place_of(text: str) -> tuple[int, int | None, int | None]:
    """Task, attempt and step of `ID`, `ID:STEP` or `ID:ATTEMPT:STEP`.

    Raises:
        click.UsageError: it is none of these.
    """
    found = _PLACE.fullmatch(text)
    if found is None:
        raise click.UsageError(f"--fork takes ID, ID:STEP or ID:ATTEMPT:STEP, not {text!r}.")
    attempt, step = (None if part is None else int(part) for part in found.groups()[1:])
    return int(found[1]), attempt, step
