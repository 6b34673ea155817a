"""`state.json`: a snapshot of what the daemon is doing, for people.

The file is replaced as a whole every hour and when the daemon stops. The database has the same text, which the next
start reads, so a missing or damaged file is harmless. `clean` is true only after a stop that finished.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from nightshift.core.clock import Clock, from_text, to_text
from nightshift.core.events import Emitter, Kind
from nightshift.core.ports import Sink
from nightshift.core.status import DaemonStatus
from nightshift.core.tasks.states import DaemonState, Status
from nightshift.core.tasks.task import Spent
from nightshift.storage.db.state_store import StateStore
from nightshift.storage.files.whole import write_whole

_KEY = "state"


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """The sums over all runs: uptime in seconds, starts, commits, and the use of models."""

    uptime_s: float
    starts: int
    commits: int
    spent: Spent


@dataclass(frozen=True, slots=True, kw_only=True)
class LastRun:
    """The previous run, as its last saved state describes it.

    Attributes:
        clean: True if the run ended as it should.
        saved_at: the time when the state was saved.
        uptime_total_s: seconds of uptime over all runs, up to `saved_at`.
        starts: number of starts, up to `saved_at`.
    """

    clean: bool
    saved_at: datetime
    uptime_total_s: float
    starts: int


def to_json(status: DaemonStatus, totals: Totals, now: datetime, *, clean: bool) -> str:
    """Return the state as JSON, one value per line."""
    spent, due = totals.spent, status.next_checkpoint_at
    state = {
        "version": status.version,
        "pid": status.pid,
        "running": not clean,
        "clean": clean,
        "saved_at": to_text(now),
        "state": str(DaemonState.STOPPED if clean and status.state is DaemonState.DRAINING else status.state),
        "uptime_s": round(status.uptime_s, 1),
        "uptime_total_s": round(totals.uptime_s, 1),
        "starts": totals.starts,
        "queue": dict(status.queue),
        "totals": {
            "done": status.queue.get(Status.DONE, 0),
            "failed": status.queue.get(Status.FAILED, 0),
            "commits": totals.commits,
            "model_calls": spent.model_calls,
            "tokens_in": spent.tokens_in,
            "tokens_out": spent.tokens_out,
            "cost_usd": round(spent.cost_usd, 6),
        },
        "in_flight": [
            {
                "task_id": worker.task_id,
                "worker": worker.name,
                "attempt": worker.attempt,
                "phase": worker.phase,
                "iteration": worker.iteration,
            }
            for worker in status.workers
            if worker.task_id is not None
        ],
        "holds": [
            {"source": hold.source, "reason": hold.reason, "since": to_text(hold.since)} for hold in status.holds
        ],
        "next_checkpoint_at": to_text(due) if due else None,
    }
    return json.dumps(state, indent=2) + "\n"


def from_json(text: str) -> LastRun:
    """Parse the output of `to_json`.

    Raises:
        ValueError: the text is not such an output.
    """
    try:
        data = json.loads(text)
        return LastRun(
            clean=bool(data["clean"]),
            saved_at=from_text(data["saved_at"]),
            uptime_total_s=float(data["uptime_total_s"]),
            starts=int(data["starts"]),
        )
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"{type(error).__name__}: {error}") from error


class StateKeeper:
    """Writes the state to the database, and for people to `state.json`.

    Args:
        path: the file.
        state: stores the state, and provides the totals.
        status: returns the daemon's status.
        emit: gets an event each time the state is saved.
        clock: returns the current time.
    """

    def __init__(
        self, path: Path, state: StateStore, status: Callable[[], DaemonStatus], emit: Sink, clock: Clock
    ) -> None:
        self._path, self._state, self._status, self._clock = path, state, status, clock
        self._events = Emitter(emit)
        self._before: LastRun | None = None

    def last_run(self) -> LastRun | None:
        """Read the state of the previous run; None if there was none. Call it once, before `save`."""
        stored = self._state.get(_KEY)
        with contextlib.suppress(ValueError):
            self._before = from_json(str(stored)) if stored else None
        return self._before

    async def save(self, *, clean: bool = False) -> None:
        """Save the state; `clean` means that the run ends as it should.

        Raises:
            OSError: the file cannot be written; the state is in the database.
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
            spent=self._state.sum_spent(),
        )
        return to_json(status, totals, self._clock(), clean=clean)


def how_it_ended(before: LastRun | None, seen: datetime | None, in_flight: Sequence[int]) -> str:
    """Describe the end of the previous run in a sentence; empty if there was none.

    Args:
        before: the previous run's saved state; None if there is none.
        seen: the latest time that is stored in the database; None if unknown.
        in_flight: ids of the tasks that the previous run left running.
    """
    if before is None and not in_flight:
        return ""
    if before and before.clean and not in_flight:
        return f"The last run ended cleanly, {_minute(before.saved_at)}."
    times = [at for at in (before and before.saved_at, seen) if at]
    when = f" at about {_minute(max(times))}" if times else ""
    tasks = f"task{'s' if len(in_flight) > 1 else ''} {', '.join(map(str, in_flight))}"
    goes_on = f" with {tasks} in flight, which continue{'' if len(in_flight) > 1 else 's'}" if in_flight else ""
    return f"The last run died{when}{goes_on or '; no task was in flight'}."


def _minute(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"
