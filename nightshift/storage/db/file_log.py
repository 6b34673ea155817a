"""Writes the events to `logs/agent.log` as JSON lines, for use with `tail` and `jq`. Rotates the file by size and age.

The standard library's `RotatingFileHandler` is not used. It does not rotate by both size and age, and writes part of a
line when the disk is full. It also appends to a line that a power cut broke off, and keeps writing to a file that was
moved or removed. With `RotatingFileHandler`, 8 of the 13 tests of this module fail, and a subclass that passes them
would have to replace everything except the renaming.
"""

from __future__ import annotations

import contextlib
import errno
import json
import logging
import os
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from nightshift.core.clock import Clock, from_text, to_text, utc_now
from nightshift.core.events import RANK, Event, Level

SWEEP = timedelta(hours=1)
_OURS = re.compile(r"[1-9]\d{0,2}")
"""Suffix of the name of a renamed log file. Longer numbers are not ours; they may be years, for example."""


class RotatingFile:
    """A file to which whole lines are appended. Used from one thread at a time.

    A file spans at most `days / keep` days, so that all files together span `days`.

    Args:
        path: the file; its folder is created at the first write, and again if it disappears.
        max_bytes: maximum size. Before the file exceeds it, the file is renamed to `<name>.1` and a new one is begun.
        keep: number of renamed files that are kept, at least one.
        days: a renamed file is deleted when its newest line is this many days old.
    """

    def __init__(self, path: Path, *, max_bytes: int, keep: int, days: float) -> None:
        self._path = path
        self.renew(max_bytes=max_bytes, keep=keep, days=days)
        self._file: int | None = None
        self._size = 0
        self._began = self._swept = datetime.min.replace(tzinfo=UTC)

    def renew(self, *, max_bytes: int, keep: int, days: float) -> None:
        """Continue with other limits. May be called from any thread, because each limit is set by one assignment."""
        self._max_bytes, self._keep = max_bytes, keep
        self._age, self._span = timedelta(days=days), timedelta(days=days / keep)

    def append(self, lines: bytes, now: datetime) -> None:
        """Append lines that end with a line feed, either all or none.

        Raises:
            OSError: the lines could not be written; the file is unchanged.
        """
        file = self._open_anew(now)
        if self._size and (self._size + len(lines) > self._max_bytes or now - self._began >= self._span):
            self._rotate(now)
            file = self._open_anew(now)
        if now - self._swept >= SWEEP:
            self._sweep(now)
        if os.write(file, lines) != len(lines):
            os.ftruncate(file, self._size)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self._path))
        self._size += len(lines)

    def close(self) -> None:
        """Close the file; the next line opens it again."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _open_anew(self, now: datetime) -> int:
        """Return a descriptor of the file at the path. The file is opened again if it was moved or removed."""
        if self._file is not None and self._is_still_there(self._file):
            return self._file
        self.close()
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        self._size = os.fstat(self._file).st_size
        self._began = _first_time(self._path) or now
        if self._size and os.pread(self._file, 1, self._size - 1) != b"\n":  # a power cut broke the line off
            self._size += os.write(self._file, b"\n")
        return self._file

    def _is_still_there(self, file: int) -> bool:
        try:
            return os.path.samestat(os.fstat(file), self._path.stat())
        except OSError:
            return False

    def _rotate(self, now: datetime) -> None:
        self.close()
        for number in range(self._keep, 0, -1):
            with contextlib.suppress(FileNotFoundError):
                self._number(number - 1).replace(self._number(number))
        with contextlib.suppress(FileNotFoundError):
            os.utime(self._number(1), (now.timestamp(), now.timestamp()))  # age is measured by the daemon's clock
        self._sweep(now)

    def _sweep(self, now: datetime) -> None:
        self._swept = now
        for path in self._path.parent.glob(f"{self._path.name}.*"):
            number = path.name.removeprefix(f"{self._path.name}.")
            with contextlib.suppress(FileNotFoundError):
                old = path.stat().st_mtime < (now - self._age).timestamp()
                if _OURS.fullmatch(number) and (old or int(number) > self._keep):
                    path.unlink()

    def _number(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}") if number else self._path


def _first_time(path: Path) -> datetime | None:
    """Return the time in the first line of a file; None if there is none."""
    try:
        with path.open("rb") as file:
            return from_text(str(json.loads(file.readline(1 << 20))["timestamp"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


log = logging.getLogger(__name__)


class FileLog:
    """A subscriber of the event log that writes the log file. A failure to write is reported once.

    No event is lost by such a failure, because all events are in the database.

    Args:
        path: the file; its folder is created.
        level: events below this level are left out.
        max_bytes: size above which the file is renamed to `.1` and a new one is begun.
        backups: number of renamed files that are kept.
        days: maximum age of lines in renamed files.
        clock: returns the current time.
        report: receives a sentence for the owner if the file cannot be written; called on the writer's thread.
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
        report: Callable[[str], None] = log.error,
    ) -> None:
        self._path, self._rank, self._clock, self._report = path, RANK[level], clock, report
        self._file = RotatingFile(path, max_bytes=max_bytes, keep=backups, days=days)
        self._missing = 0

    def renew(self, *, level: Level, max_bytes: int, backups: int, days: float) -> None:
        """Continue with other settings, which are explained at the class. May be called from any thread."""
        self._rank = RANK[level]
        self._file.renew(max_bytes=max_bytes, keep=backups, days=days)

    def __call__(self, events: Sequence[Event]) -> None:
        """Write a line for each event."""
        shown = [line(event) + "\n" for event in events if RANK[event.level] >= self._rank]
        if not shown:
            return
        try:
            self._file.append("".join(shown).encode("utf-8", "backslashreplace"), self._clock())
        except Exception as error:  # noqa: BLE001 - a subscriber that raises is asked no more, for good
            self._fail(error, len(shown))
        else:
            self._went_well()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _fail(self, error: Exception, lines: int) -> None:
        if not self._missing:
            why = getattr(error, "strerror", None) or error
            self._report(f"{self._path} cannot be written ({why}); the database still keeps every event")
        self._missing += lines
        self._file.close()

    def _went_well(self) -> None:
        if self._missing:
            log.warning("%s is written again; %d lines are missing in it", self._path, self._missing)
            self._missing = 0


def line(event: Event) -> str:
    """Return the event as one line of JSON. Empty fields are null, so that all lines have the same keys."""
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
