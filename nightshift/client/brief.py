"""Implements the command `brief`.

The brief shows what has happened since the owner last read it: changes that landed, failed tasks with the causes of the
failures, the money spent, and what waits for the owner.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nightshift.client.daemon import live_or_noted
from nightshift.client.new_task import own_time
from nightshift.client.output import Block, Cell, Lines, Tone, stamp
from nightshift.client.session import Session
from nightshift.core.program import format_command

SPANS = ("read", "night", "today")
NAMED = 8
"""Maximum number of tasks that are named for one cause."""


def brief(session: Session, since: str, *, read: bool) -> int:
    """Print the brief of a span of time. With `read`, the next brief begins where this brief ends.

    Args:
        session: the session of the home.
        since: one of `SPANS`, or a time.
        read: whether to mark the brief as read.

    Raises:
        click.UsageError: `since` is neither one of `SPANS` nor a time.
    """
    answer = session.get("/api/brief", since=since if since in SPANS else own_time("--since", since))
    ahead = session.get("/api/forecast") if session.connection.live and not session.out.as_json else None
    session.print(answer, [*_blocks(answer, since), *_ahead(ahead)])
    if read:
        session.post("/api/brief/read", {"until": answer.until})
        session.out.note(f"marked as read; the next one starts at {stamp(answer.until, short=True).text}")
    return live_or_noted(session)


def _blocks(answer: Any, since: str) -> Iterator[Block]:
    is_first = since == SPANS[0] and answer.read_at is None
    begin = "The last 24 hours" if is_first else f"Since {stamp(answer.since, short=True).text}"
    yield Lines(lines=[Cell(f"{begin}: {answer.line}")])
    if answer.causes:
        more = [Cell(f"and {answer.more_causes} other causes", Tone.DIM)] if answer.more_causes else []
        yield Lines(lines=[*(line for cause in answer.causes for line in _cause(cause)), *more])
    if todo := list(_todo(answer)):
        yield Lines(lines=[Cell(f"{what:<17}{format_command(command)}", Tone.DIM) for what, command in todo])


def _ahead(forecast: Any) -> Iterator[Block]:
    """Yield the block with the forecast of the open tasks; nothing if there is no forecast."""
    if forecast is None or not forecast.line:
        return
    more = [Cell(f"  {forecast.range}", Tone.DIM)] if forecast.range else []
    yield Lines(lines=[Cell(f"Open: {forecast.line}"), *more])


def _cause(cause: Any) -> Iterator[Cell]:
    """Yield the lines of a cause of failures.

    A single task is shown with its title, several tasks only with their numbers.
    """
    yield Cell(f"{cause.count} failed: {cause.title}", Tone.BAD)
    if len(cause.tasks) == 1:
        (task,) = cause.tasks
        yield Cell(f"  task {task.task_id}: {task.title}")
    else:
        named = ", ".join(str(task.task_id) for task in cause.tasks[:NAMED])
        yield Cell(f"  tasks {named}{' …' if cause.count > NAMED else ''}")


def _todo(answer: Any) -> Iterator[tuple[str, str]]:
    if answer.needs:
        yield "what needs you:", "approvals"
    if answer.unread:
        yield "commits to read:", "review"
    if answer.causes and answer.causes[0].tasks:
        yield "why one failed:", f"show {answer.causes[0].tasks[0].task_id}"
