"""The checkpoint: running tasks finish, the report is written, and no task starts until the owner continues.

A checkpoint advances in short steps that never wait. Its state is stored in the database after each step
(`queue.checkpoints`). If the daemon is killed at any moment, the next start therefore continues the checkpoint with the
same span.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

from nightshift.core.clock import Clock
from nightshift.core.errors import StoreError
from nightshift.core.tasks.states import Status
from nightshift.queue import checkpoints
from nightshift.queue.checkpoints import Checkpoints
from nightshift.queue.manager import QueueManager
from nightshift.report import brief
from nightshift.storage.db.database import Database
from nightshift.storage.db.writer import Job, T

SETTLE_S = 12 * 3600.0
"""Seconds to wait for running tasks, which end by their own limits. Tasks that run longer count as hung, and the report
is written without them.
"""


class Checkpoint:
    """Begins checkpoints when they are due or requested, and advances them.

    Args:
        db: stores the state of the checkpoints.
        queue: is paused by a checkpoint, and counts the running tasks.
        days: returns the days from one checkpoint to the next; the value may change.
        write_report: writes the report of a span of time, completely or not at all, and returns its path.
        clock: returns the current time.
        steady: returns True if the clock can be trusted; after a jump no checkpoint begins.
        monotonic: returns seconds that never jump.
        settle_s: seconds that running tasks have to finish.
    """

    def __init__(
        self,
        *,
        db: Database,
        queue: QueueManager,
        days: Callable[[], float],
        write_report: Callable[[datetime, datetime], Path],
        clock: Clock,
        steady: Callable[[], bool] = lambda: True,
        monotonic: Callable[[], float] = time.monotonic,
        settle_s: float = SETTLE_S,
    ) -> None:
        self._db, self._queue, self._clock = db, queue, clock
        self._days, self._write_report, self._steady = days, write_report, steady
        self._monotonic, self._settle_s = monotonic, settle_s
        self._settling_since: float | None = None

    def due_at(self) -> datetime | None:
        """Return when the next checkpoint is due; None while a checkpoint is in progress or waits for the owner.

        May be called from any thread.
        """
        here = checkpoints.read(self._db.reader())
        return None if here.waits or here.since else self._due(here)

    def _due(self, here: Checkpoints) -> datetime:
        return (here.counts_from or self._clock()) + timedelta(days=self._days())

    async def begin_if_due(self) -> bool:
        """Begin a checkpoint if one is due or requested; return True if a checkpoint is in progress."""
        here = checkpoints.read(self._db.reader())
        if here.counts_from is None:
            await self._write(lambda conn: checkpoints.count_from(conn, self._clock()))
            here = checkpoints.read(self._db.reader())
        if here.since is not None:
            return True
        reason = self._reason(here)
        if reason:
            await self._write(lambda conn: checkpoints.begin(self._queue.transaction(conn), reason))
        return bool(reason)

    def _reason(self, here: Checkpoints) -> str:
        if here.waits:
            return ""
        if here.asked:
            return "checkpoint, as you asked: running tasks finish first"
        if self._clock() >= self._due(here) and self._steady():
            return f"checkpoint after {self._days():g} days: running tasks finish first"
        return ""

    async def look(self) -> None:
        """Begin or finish a checkpoint if it is time for that; called periodically.

        Raises:
            StoreError: the database cannot be written; the next call tries again.
            OSError: the report cannot be written; the next call tries again.
        """
        if not await self.begin_if_due():
            self._settling_since = None
        elif self._has_settled():
            await self._finish(await self._write(lambda conn: checkpoints.fix_end(conn, self._clock())))

    async def _finish(self, here: Checkpoints) -> None:
        assert here.since is not None
        assert here.until is not None
        try:
            report = await asyncio.to_thread(self._write_report, here.since, here.until)
            summary = await asyncio.to_thread(brief.read, self._db, here.since, here.until)
        except (OSError, StoreError) as error:
            why = str(error)
            await self._write(lambda conn: checkpoints.not_written(self._queue.transaction(conn), why))
            raise
        await self._write(lambda conn: checkpoints.close(self._queue.transaction(conn), report.name, summary.line))

    def _has_settled(self) -> bool:
        now = self._monotonic()
        if self._settling_since is None:
            self._settling_since = now
        return not self._queue.counts()[Status.RUNNING] or now - self._settling_since >= self._settle_s

    async def _write(self, job: Job[T]) -> T:
        return await asyncio.wrap_future(self._db.write(job))
