"""Limits the size of the database: removes old events and old work, then the oldest data if it is still too large.

Each write is small and lets other writes in between, so a task that ends waits for some milliseconds at most. Nothing
is pruned by age while the clock is in doubt: a clock that is a year ahead for an hour would cost a year of history.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import TypeVar

from nightshift.core.clock import Clock, from_text, to_text
from nightshift.core.events import Emitter, Kind, Level
from nightshift.storage.db import pruning
from nightshift.storage.db.database import Database
from nightshift.storage.db.event_log import EventLog
from nightshift.storage.db.pruning import Gone, Pruned
from nightshift.storage.db.sqlite import Connection
from nightshift.storage.db.state_store import StateStore
from nightshift.storage.memory import rows

EVENTS, WORK, SIZE = "keep_events_days", "keep_work_days", "database_max_mb"
RECENT = timedelta(days=1)
"""Work of tasks that ended within this time stays, however large the database is."""
WEEK = timedelta(days=7)
LEAP, DOUBT = timedelta(days=10), timedelta(days=1)
"""If the clock is ahead of the last time seen by more than `LEAP`, nothing is pruned by age for the time `DOUBT`."""
FIT = 0.9
TASKS, TEXTS = 200, 5000
_SEEN = "pruning_clock"

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep:
    """The limits on the age and amount of stored data; each field corresponds to a setting. One MB is 2^20 bytes."""

    events_days: float = 90
    work_days: float = 30
    calls_days: float = 90
    lessons_days: float = 180
    lessons: int = 5_000
    database_mb: int = 100


@dataclass(slots=True, kw_only=True)
class Tally:
    """Counts of what one round removed."""

    tasks: set[int] = field(default_factory=set)
    rows: int = 0
    events: int = 0
    texts: int = 0
    calls: int = 0
    lessons: int = 0


class Pruner:
    """Prunes one database.

    Args:
        db: the database to prune.
        events: the event log, which is pruned too and gets an event for each round.
        state: stores the last time seen.
        keep: returns the current retention settings.
        clock: returns the current time.
        quiet: returns True if no task runs, so that all writers may be blocked for some seconds.
        report_since: returns the time from which the next report needs events; None if that is not known.
    """

    def __init__(
        self,
        db: Database,
        events: EventLog,
        state: StateStore,
        *,
        keep: Callable[[], Keep],
        clock: Clock,
        quiet: Callable[[], bool],
        report_since: Callable[[], datetime | None] = lambda: None,
    ) -> None:
        self._db, self._events, self._state, self._keep = db, events, state, keep
        self._clock, self._quiet, self._report_since = clock, quiet, report_since
        self._too_large = False
        self._one_at_a_time = asyncio.Lock()

    async def run(self) -> None:
        """Do one round of pruning. Concurrent calls wait for each other, and each does its own round."""
        async with self._one_at_a_time:
            await self._round()

    async def _round(self) -> None:
        now, tally = self._clock(), Tally()
        before = await self._size()
        if await self._is_clock_sound(now):
            await self._by_age(now, tally)
        await self._drop_unnamed(tally)
        shrunk = await self._fit(now, tally)
        await self._shrink()
        await self._report(tally, before, too_large=shrunk)

    async def _is_clock_sound(self, now: datetime) -> bool:
        """Check whether the clock is consistent with the last time seen, which is kept over restarts."""
        stored = await asyncio.to_thread(self._state.get, _SEEN) or {}
        seen, doubted = (from_text(stored[name]) if stored.get(name) else None for name in ("seen", "doubted"))
        if seen and now < seen:
            doubted = None
        elif seen and now - seen > LEAP:
            doubted = now
        elif doubted and now - doubted > DOUBT:
            doubted = None
        noted = {"seen": to_text(now), "doubted": to_text(doubted) if doubted else None}
        await asyncio.wrap_future(self._state.set(_SEEN, noted))
        return doubted is None

    async def _by_age(self, now: datetime, tally: Tally) -> None:
        ended_before = now - timedelta(days=self._keep().work_days)
        await self._prune_work(ended_before, WORK, tally, _never)
        before = min(now - timedelta(days=self._keep().events_days), self._week_of_report(now))
        await self._prune_events(before, EVENTS, tally, _never)
        calls_before = now - timedelta(days=self._keep().calls_days)
        while count := await self._write(partial(pruning.sum_calls, before=calls_before)):
            tally.calls += count
        while await self._write(partial(pruning.prune_rounds, before=calls_before)):
            pass
        unused_before, most = now - timedelta(days=self._keep().lessons_days), self._keep().lessons
        while count := await self._write(partial(rows.prune, before=unused_before, most=most, limit=pruning.ROWS)):
            tally.lessons += count

    def _week_of_report(self, now: datetime) -> datetime:
        """Return the time from which events must be kept for a report that may still be written or rewritten."""
        monday = (now - timedelta(days=now.weekday())).replace(hour=0, minute=0, second=0, microsecond=0)
        return min(monday - WEEK, self._report_since() or now)

    async def _prune_work(self, before: datetime, setting: str, tally: Tally, fits: Callable[[], bool]) -> None:
        """Prune tasks that ended before a time, the earliest first, until `fits` returns true."""
        while not await asyncio.to_thread(fits):
            task_ids = await self._read(partial(pruning.long_ended, ended_before=before, limit=TASKS))
            if not task_ids:
                return
            for task_id in task_ids:
                await self._prune_task(task_id, before, setting, tally)
                if await asyncio.to_thread(fits):
                    return

    async def _prune_task(self, task_id: int, before: datetime, setting: str, tally: Tally) -> None:
        now = self._clock()
        job = partial(pruning.prune_work, task_id=task_id, ended_before=before, at=now, setting=setting)
        while (gone := await self._write(job)).rows:
            tally.tasks.add(task_id)
            tally.rows += gone.rows
            tally.texts += gone.texts

    async def _prune_events(self, before: datetime, setting: str, tally: Tally, fits: Callable[[], bool]) -> None:
        upto = await asyncio.to_thread(self._events.cursor_at, before)
        gone, count = Gone(reached=0), 0
        while gone.reached is not None and not await asyncio.to_thread(fits):
            gone = await self._write(partial(pruning.prune_events, after=gone.reached, upto=upto, before=before))
            count, tally.texts = count + gone.rows, tally.texts + gone.texts
        if count:
            tally.events += count
            await self._note_events(gone.reached, before, setting)

    async def _note_events(self, stopped_at: int | None, before: datetime, setting: str) -> None:
        """Store the time from which the log is complete.

        This is `before`, or the time of the event at which pruning stopped if that is earlier.
        """
        if stopped_at is not None:
            went_on_with = await self._read(lambda conn: pruning.time_of(conn, stopped_at))
            before = min(before, went_on_with or before)
        noted = Pruned(at=self._clock(), setting=setting, before=before)
        await self._write(lambda conn: pruning.note_events(conn, noted))

    async def _drop_unnamed(self, tally: Tally) -> None:
        """Remove all texts that no row refers to."""
        reached: str | None = ""
        while reached is not None:
            digests, reached = await self._read(partial(pruning.list_unnamed, after=reached, limit=TEXTS))
            for start in range(0, len(digests), pruning.ROWS):
                some = digests[start : start + pruning.ROWS]
                tally.texts += await self._write(partial(pruning.drop_unnamed, digests=some))

    async def _fit(self, now: datetime, tally: Tally) -> bool:
        """Prune the oldest data if the database is too large; return True if it was."""
        limit = self._keep().database_mb << 20
        if (await self._size()).used <= limit:
            self._too_large = False
            return False

        def fits() -> bool:
            return pruning.size(self._db.reader()).used <= FIT * limit

        await self._prune_work(now - RECENT, SIZE, tally, fits)
        await self._prune_events(self._week_of_report(now), SIZE, tally, fits)
        return True

    async def _shrink(self) -> None:
        """Return free pages to the disk in steps.

        While no task runs, also empty the write-ahead log.
        """
        while await self._write(pruning.give_back):
            pass
        if self._quiet():
            await asyncio.to_thread(pruning.fold_log, self._db.path)

    async def _report(self, tally: Tally, before: pruning.Size, *, too_large: bool) -> None:
        after = await self._size()
        still = too_large and after.used > self._keep().database_mb << 20
        done = tally.tasks or tally.events or tally.texts or tally.calls or tally.lessons
        if not (done or (still and not self._too_large)):
            return
        self._too_large = still
        level = Level.WARNING if too_large else Level.INFO
        text = _summary(tally, before, after)
        if too_large:
            text += f"; it had passed database_max_mb ({self._keep().database_mb})"
        if still:
            text += " and still does: what is left belongs to open or recent tasks, or to ledgers; raise the limit"
        Emitter(self._events.emit).emit(
            Kind.PRUNED,
            text,
            level=level,
            tasks=len(tally.tasks),
            rows=tally.rows,
            events=tally.events,
            texts=tally.texts,
            calls=tally.calls,
            lessons=tally.lessons,
            bytes_before=before.file,
            bytes_after=after.file,
            used_after=after.used,
        )

    async def _size(self) -> pruning.Size:
        return await self._read(pruning.size)

    async def _read(self, read: Callable[[Connection], _T]) -> _T:
        return await asyncio.to_thread(lambda: read(self._db.reader()))

    async def _write(self, job: Callable[[Connection], _T]) -> _T:
        return await asyncio.wrap_future(self._db.write(job))


def _never() -> bool:
    return False


def _summary(tally: Tally, before: pruning.Size, after: pruning.Size) -> str:
    more = f", forgot {tally.lessons} lessons, summed up {tally.calls} calls" if tally.lessons or tally.calls else ""
    return (
        f"pruned the steps and replies of {len(tally.tasks)} tasks, {tally.events} events and {tally.texts} texts"
        f"{more}; the database went from {before.file / 2**20:.1f} to {after.file / 2**20:.1f} MB"
    )
