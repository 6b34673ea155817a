"""The checkpoint: tasks are held back, what runs finishes, the report is written, and the owner has the word.

It is looked after in short looks that never wait, and where it stands is in the database after each of them
(`db.checkpoints`), so a kill at any moment is nothing but a longer look: the next start goes on with the same span.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

from core.clock import Clock
from core.errors import StoreError
from core.states import Status
from db import checkpoints
from db.checkpoints import Checkpoints
from db.database import Database
from db.event_log import EventLog
from db.holds import Holds
from db.task_queries import TaskQueries
from db.writer import Job, T

SETTLE_S = 12 * 3600.0
"""What runs ends by its own limits; after this it is taken for hung, and the report is written without it."""


class Checkpoint:
    """Calls checkpoints when they are due or asked for.

    Args:
        db: keeps where they stand, and says what still runs.
        events: gets the event of each.
        days: how long after the last one the next is due; may change.
        write_report: writes the report of a span of time, whole or not at all, and returns its path.
        clock: the time.
        steady: tells whether the clock may be believed; one that has just jumped calls no checkpoint.
        monotonic: seconds that never jump.
        settle_s: how long what runs may take to finish.
    """

    def __init__(
        self,
        *,
        db: Database,
        events: EventLog,
        days: Callable[[], float],
        write_report: Callable[[datetime, datetime], Path],
        clock: Clock,
        steady: Callable[[], bool] = lambda: True,
        monotonic: Callable[[], float] = time.monotonic,
        settle_s: float = SETTLE_S,
    ) -> None:
        self._db, self._tasks, self._events, self._clock = db, TaskQueries(db), events, clock
        self._days, self._write_report, self._steady = days, write_report, steady
        self._monotonic, self._settle_s = monotonic, settle_s
        self._holds = Holds(events, clock)
        self._settling_since: float | None = None

    def due_at(self) -> datetime | None:
        """When the next one is due; None while one is under way or waits for the owner. May be called on any thread."""
        here = checkpoints.read(self._db.reader())
        return None if here.waits or here.since else self._due(here)

    def _due(self, here: Checkpoints) -> datetime:
        return (here.counts_from or self._clock()) + timedelta(days=self._days())

    async def begin_if_due(self) -> bool:
        """Hold tasks back where a checkpoint is due or asked for; tells whether one is under way then."""
        here = checkpoints.read(self._db.reader())
        if here.counts_from is None:
            await self._write(lambda conn: checkpoints.count_from(conn, self._clock()))
            here = checkpoints.read(self._db.reader())
        if here.since is not None:
            return True
        reason = self._reason(here)
        if reason:
            await self._write(lambda conn: checkpoints.begin(conn, self._holds, reason, self._clock()))
        return bool(reason)

    def _reason(self, here: Checkpoints) -> str:
        if here.waits:
            return ""
        if here.asked:
            return "checkpoint, as you asked: what runs finishes first"
        if self._clock() >= self._due(here) and self._steady():
            return f"checkpoint after {self._days():g} days: what runs finishes first"
        return ""

    async def look(self) -> None:
        """Go one step on, if there is one to go.

        Raises:
            StoreError: the database does not take it; the next look tries again.
            OSError: the report cannot be written; likewise.
        """
        if not await self.begin_if_due():
            self._settling_since = None
        elif self._settled():
            await self._finish(await self._write(lambda conn: checkpoints.fix_end(conn, self._clock())))

    async def _finish(self, here: Checkpoints) -> None:
        assert here.since is not None
        assert here.until is not None
        try:
            report = await asyncio.to_thread(self._write_report, here.since, here.until)
        except (OSError, StoreError) as error:
            why = str(error)
            await self._write(lambda conn: checkpoints.not_written(conn, self._holds, why))
            raise
        await self._write(lambda conn: checkpoints.close(conn, self._holds, self._events, report.name, self._clock()))

    def _settled(self) -> bool:
        now = self._monotonic()
        if self._settling_since is None:
            self._settling_since = now
        return not self._tasks.counts()[Status.RUNNING] or now - self._settling_since >= self._settle_s

    async def _write(self, job: Job[T]) -> T:
        return await asyncio.wrap_future(self._db.write(job))
