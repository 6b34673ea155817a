"""`logs/agent.log`: the events as JSON lines, for people with `tail` and `jq`; rotated by size."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from logging.handlers import RotatingFileHandler
from pathlib import Path

from core.clock import to_text
from core.events import RANK, Event, Level


class FileLog:
    """A subscriber of the event log. Trouble with the file goes to standard error and stops nothing.

    Args:
        path: the file; its folder is created.
        level: events below it are left out; may be changed.
        max_bytes: when the file is renamed to `.1` and begun anew.
        backups: how many old files are kept.
    """

    def __init__(self, path: Path, *, level: Level = Level.INFO, max_bytes: int = 10_000_000, backups: int = 5) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.level = level
        self._handler = RotatingFileHandler(path, maxBytes=max_bytes, backupCount=backups, encoding="utf-8", delay=True)

    def __call__(self, events: Sequence[Event]) -> None:
        """Write a line for each event."""
        for event in events:
            if RANK[event.level] >= RANK[self.level]:
                self._handler.emit(logging.makeLogRecord({"msg": line(event)}))

    def close(self) -> None:
        """Close the file."""
        self._handler.close()


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
