"""The hourly and weekly work: saved state with a backup of the database, and the checkpoint that waits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from core.clock import Clock, from_text, to_text
from core.events import Event, Kind
from core.queueing import HoldSource
from core.states import Status
from core.status import DaemonStatus
from db.event_log import EventLog
from db.state_store import StateStore
from queue_manager import QueueManager
from upkeep import state_file

_DUE = "next_checkpoint_at"
_SINCE = "last_checkpoint_at"


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """When what is due, and where it goes. A checkpoint waits `settle_s` at most for running tasks to end."""

    state_interval_s: float
    checkpoint_days: float
    state_file: Path
    backups_dir: Path
    keep_backups: int = 3
    look_s: float = 5.0
    settle_s: float = 300.0


class Housekeeper:
    """Saves state by the hour and calls a checkpoint by the week.

    Args:
        queue: paused by a checkpoint.
        state: keeps when the next checkpoint is due, so that restarts do not postpone it.
        status: what the daemon says about itself now.
        write_report: writes the report of a span of time and returns its path.
    """

    def __init__(
        self,
        schedule: Schedule,
        *,
        queue: QueueManager,
        state: StateStore,
        events: EventLog,
        status: Callable[[], DaemonStatus],
        write_report: Callable[[datetime, datetime], Path],
        clock: Clock,
    ) -> None:
        self._plan, self._queue, self._state, self._events = schedule, queue, state, events
        self._status, self._write_report, self._clock = status, write_report, clock

    def next_checkpoint_at(self) -> datetime:
        """When the next checkpoint is due; decided at the first start and kept over restarts."""
        kept = self._state.get(_DUE)
        return from_text(str(kept)) if kept else self._clock() + timedelta(days=self._plan.checkpoint_days)

    async def run(self) -> None:
        """Look at the clock every few seconds, for ever."""
        if not self._state.get(_DUE):
            await self._keep(_DUE, self.next_checkpoint_at())
            await self._keep(_SINCE, self._clock())
        saved = self._clock()
        await self.save_state()
        while True:
            await asyncio.sleep(self._plan.look_s)
            now = self._clock()
            if (now - saved).total_seconds() >= self._plan.state_interval_s:
                saved = now
                await self.save_state()
            if now >= self.next_checkpoint_at():
                await self.checkpoint()

    async def save_state(self) -> None:
        """Write `state.json`, and a copy of the database beside it."""
        await asyncio.to_thread(state_file.save, self._plan.state_file, self._status())
        await asyncio.to_thread(self._backup)
        self._events.emit(Event(kind=Kind.STATE_SAVED, message=f"state saved to {self._plan.state_file.name}"))

    async def checkpoint(self) -> Path:
        """Stop claims, write the report of the time since the last checkpoint, and wait for the owner."""
        now = self._clock()
        since = self._state.get(_SINCE)
        start = from_text(str(since)) if since else now - timedelta(days=self._plan.checkpoint_days)
        await asyncio.wrap_future(self._queue.hold_back(HoldSource.CHECKPOINT, "the weekly checkpoint"))
        await self._settled()
        report = await asyncio.to_thread(self._write_report, start, now)
        await self._keep(_SINCE, now)
        await self._keep(_DUE, now + timedelta(days=self._plan.checkpoint_days))
        text = f"checkpoint: {report.name} is written; resume with the dashboard or cli.py --resume"
        self._events.emit(Event(kind=Kind.CHECKPOINT, message=text, data={"report": report.name}))
        return report

    async def _settled(self) -> None:
        """Wait until nothing runs any more."""
        end = time.monotonic() + self._plan.settle_s
        while self._queue.counts()[Status.RUNNING] and time.monotonic() < end:  # noqa: ASYNC110 - the count is in the database
            await asyncio.sleep(min(1.0, self._plan.look_s))

    async def _keep(self, name: str, at: datetime) -> None:
        await asyncio.wrap_future(self._state.set(name, to_text(at)))

    def _backup(self) -> None:
        folder = self._plan.backups_dir
        folder.mkdir(parents=True, exist_ok=True)
        stamp = self._clock().strftime("%Y%m%dT%H%M%SZ")
        self._state.backup(folder / f"agent_logs-{stamp}.sqlite")
        for old in sorted(folder.glob("agent_logs-*.sqlite"))[: -self._plan.keep_backups]:
            old.unlink()
