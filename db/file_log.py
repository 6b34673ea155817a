"""`logs/agent.log`: the events as JSON lines, for people with `tail` and `jq`; rotated by size and by age."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from pathlib import Path

from core.clock import Clock, to_text, utc_now
from core.events import RANK, Event, Level
from db.rotating_file import RotatingFile

log = logging.getLogger(__name__)


class FileLog:
    """A subscriber of the event log. Trouble with the file is told once and stops nothing: the database has all events.

    Args:
        path: the file; its folder is made.
        level: events below it are left out.
        max_bytes: when the file is renamed to `.1` and begun anew.
        backups: how many old files are kept.
        days: how old lines may grow in them.
        clock: the time.
        tell: takes a sentence for the owner when the file cannot be written; it is called on the writer's thread.
    """

    def __init__(
        self,
        path: Path,
        *,
        level: Level = Level.INFO,
        max_bytes: int = 10 << 20,
        backups: int = 5,
        days: float = 30,
        clock: Clock = utc_now,
        tell: Callable[[str], None] = log.error,
    ) -> None:
        self._path, self._rank, self._clock, self._tell = path, RANK[level], clock, tell
        self._file = RotatingFile(path, max_bytes=max_bytes, keep=backups, days=days)
        self._missing = 0

    def renew(self, *, level: Level, max_bytes: int, backups: int, days: float) -> None:
        """Go on under other settings; see the class's arguments. Any thread."""
        self._rank = RANK[level]
        self._file.renew(max_bytes=max_bytes, keep=backups, days=days)

    def __call__(self, events: Sequence[Event]) -> None:
        """Write a line for each event."""
        shown = [line(event) + "\n" for event in events if RANK[event.level] >= self._rank]
        if not shown:
            return
        try:
            self._file.append("".join(shown).encode("utf-8", "backslashreplace"), self._clock())
        except OSError as error:
            self._failed(error, len(shown))
        else:
            self._went_well()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _failed(self, error: OSError, lines: int) -> None:
        if not self._missing:
            self._tell(f"{self._path} cannot be written ({error.strerror}); the database goes on keeping every event")
        self._missing += lines
        self._file.close()

    def _went_well(self) -> None:
        if self._missing:
            log.warning("%s is written again; %d lines are missing in it", self._path, self._missing)
            self._missing = 0


def line(event: Event) -> str:
    """The event as one line of JSON; empty fields are null, so that every line has the same keys."""
    fields = {
        "timestamp": to_text(event.at) if event.at else None,
        "level": event.level,
        "task_id": event.task_id,
        "iteration": event.iteration,
        "phase": event.phase,
        "event": event.kind,
        "message": event.message,
        "data": dict(event.data),
        "attempt": event.attempt,
        "worker": event.worker,
        "id": event.id,
    }
    return json.dumps(fields, ensure_ascii=False)
