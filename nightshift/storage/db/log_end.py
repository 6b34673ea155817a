"""The end of the log file: an independent record of what was committed.

A line is written to `agent.log` after the commit that holds its event. So an event that the file has and the database
has not was lost, whatever SQLite says of the database; and the lines tell which tasks it was about.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from nightshift.core.events import Kind

_TAIL = 1 << 20
"""How much of the end of a file is read, in bytes: some thousand lines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of the file."""

    event: int
    task: int | None
    kind: str
    at: str
    message: str
    to: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEnd:
    """The newest lines, in the order they were written."""

    lines: tuple[Line, ...] = ()
    newest_event: int = 0
    newest_task: int = 0
    titles: dict[int, str] = field(default_factory=dict)

    def behind(self, event: int) -> tuple[Line, ...]:
        """What was committed after an event."""
        return tuple(line for line in self.lines if line.event > event)


def read_log_end(log_file: Path) -> LogEnd:
    """Read the end of the log file, and of the one before it; a line that cannot be read says nothing."""
    names = (log_file.with_name(log_file.name + ".1"), log_file)
    lines = tuple(line for path in names for line in _lines(path))
    submitted = {line.task: line.message for line in lines if line.kind == Kind.TASK_SUBMITTED and line.task}
    return LogEnd(
        lines=lines,
        newest_event=max((line.event for line in lines), default=0),
        newest_task=max((line.task or 0 for line in lines), default=0),
        titles=submitted,
    )


def _lines(path: Path) -> Iterator[Line]:
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - _TAIL))
            raw = file.read(_TAIL)
    except OSError:
        return
    for text in raw.splitlines():
        if (line := _line(text)) is not None:
            yield line


def _line(text: bytes) -> Line | None:
    try:
        found = json.loads(text)
        event, task = found["id"], found["task_id"]
        if not isinstance(event, int) or not (task is None or isinstance(task, int)):
            return None
        to = found["data"].get("to") or ""
        kind, at, message = str(found["event"]), str(found["timestamp"]), str(found["message"])
        return Line(event=event, task=task, kind=kind, at=at, message=message, to=str(to))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
