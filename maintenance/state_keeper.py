"""Keeps the daemon's state by the hour and at its end, and finds out at the start how the run before ended."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

from core.clock import Clock
from core.events import Emitter, Kind, Level
from core.ports import Sink
from core.status import DaemonStatus
from db.state_store import StateStore
from files.whole import write_whole
from maintenance.state_file import LastRun, Totals, from_json, to_json

_KEY = "state"


class StateKeeper:
    """Writes `state.json` and its copy in the database.

    Args:
        path: the file.
        state: keeps the copy, and knows the totals.
        status: what the daemon says about itself.
        emit: takes an event each time it is saved.
        clock: the time.
    """

    def __init__(
        self, path: Path, state: StateStore, status: Callable[[], DaemonStatus], emit: Sink, clock: Clock
    ) -> None:
        self._path, self._state, self._status, self._clock = path, state, status, clock
        self._events = Emitter(emit)
        self._before: LastRun | None = None

    def last_run(self) -> LastRun | None:
        """Read what the run before left; None where there was none. Call it once, before `save`."""
        copy = self._copy()
        try:
            self._before = from_json(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            self._before = copy
            if copy is not None:
                what = "is missing" if isinstance(error, FileNotFoundError) else f"cannot be read ({error})"
                text = f"{self._path.name} {what}; nothing is lost: the database has all of it"
                self._events.emit(Kind.STATE_SAVED, text, level=Level.WARNING)
        return self._before

    def _copy(self) -> LastRun | None:
        kept = self._state.get(_KEY)
        try:
            return from_json(str(kept)) if kept else None
        except ValueError:
            return None

    async def save(self, *, clean: bool = False) -> None:
        """Write it; `clean` says that this run has ended as it should.

        Raises:
            OSError: the file cannot be written; the database has its copy.
            StoreError: the database cannot be written.
        """
        text = await asyncio.to_thread(self._text, clean)
        await asyncio.wrap_future(self._state.set(_KEY, text))
        await asyncio.to_thread(write_whole, self._path, text)
        self._events.emit(Kind.STATE_SAVED, f"state saved to {self._path.name}")

    def _text(self, clean: bool) -> str:
        status, before = self._status(), self._before
        totals = Totals(
            uptime_s=status.uptime_s + (before.uptime_total_s if before else 0.0),
            starts=1 + (before.starts if before else 0),
            commits=self._state.commit_count(),
            spent=self._state.spent_total(),
        )
        return to_json(status, totals, self._clock(), clean=clean)


def told(before: LastRun | None, seen: datetime | None, in_flight: Sequence[int]) -> str:
    """How the run before ended, in a sentence; nothing before the first.

    Args:
        before: what it left.
        seen: the last time that its database saw.
        in_flight: the tasks that it left running.
    """
    if before is None and not in_flight:
        return ""
    if before and before.clean and not in_flight:
        return f"The last run ended cleanly, {_minute(before.saved_at)}."
    times = [at for at in (before and before.saved_at, seen) if at]
    when = f" at about {_minute(max(times))}" if times else ""
    tasks = f"task{'s' if len(in_flight) > 1 else ''} {', '.join(map(str, in_flight))}"
    goes_on = f" with {tasks} in flight, which go{'' if len(in_flight) > 1 else 'es'} on" if in_flight else ""
    return f"The last run died{when}{goes_on or '; no task was in flight'}."


def _minute(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"
