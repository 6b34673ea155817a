"""The house-keeping of a daemon, put together: what is looked after, and how often."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from assembly.store import Store
from config import Settings
from core.clock import Clock
from core.events import Event, Kind
from core.status import DaemonStatus
from upkeep import state_file
from upkeep.backup import Backup
from upkeep.checkpoint import Checkpoint
from upkeep.clock_watch import ClockWatch
from upkeep.rounds import Chore, Housekeeper

LOOK_S = 2.0
"""How often is looked for what an owner waits for, such as a checkpoint."""
CLOCK_S, NOTE_S = 5.0, 300.0
"""How often the clocks are compared, and how often the time is noted for the next start."""


class House:
    """Looks after the daemon: state by the hour, backups, checkpoints.

    Args:
        settings: what holds now; asked again where a setting may change while the daemon runs.
        store: the database and its rooms.
        status: what the daemon says about itself.
        clock: the time.
    """

    def __init__(
        self, settings: Callable[[], Settings], store: Store, status: Callable[[], DaemonStatus], clock: Clock
    ) -> None:
        self._settings, self._store, self._status = settings, store, status
        self._watch = ClockWatch(store.db, store.queue, store.events, clock)
        self.checkpoint = Checkpoint(
            db=store.db,
            events=store.events,
            days=lambda: settings().checkpoint_days,
            write_report=self._report,
            clock=clock,
            steady=self._watch.steady,
        )
        self._backup = Backup(
            settings().db_path,
            settings().backups_dir,
            clock,
            lambda: (settings().backups_keep, settings().backups_daily),
            store.events.emit,
        )
        self.keeper = Housekeeper(self._chores(), store.events.emit)

    def _chores(self) -> list[Chore]:
        """All chores; a new one gets its line here."""
        hourly_s = self._settings().state_interval_s
        return [
            Chore(name="clock", every_s=CLOCK_S, run=self._watch.look),
            Chore(name="last time seen", every_s=NOTE_S, run=self._watch.note),
            Chore(name="checkpoint", every_s=LOOK_S, run=self.checkpoint.look),
            Chore(name="state", every_s=hourly_s, run=self.save_state),
            Chore(name="backup", every_s=hourly_s, run=self._backup.make),
        ]

    async def prepare(self) -> None:
        """What must stand before the first task is begun."""
        await self._watch.begin()
        await self.checkpoint.begin_if_due()

    async def close(self) -> None:
        """What is done last, when nothing runs any more."""
        await self.save_state()
        await self._watch.note()
        await self._backup.make()

    async def save_state(self) -> None:
        """Write `state.json`."""
        path = self._settings().state_file
        await asyncio.to_thread(state_file.save, path, self._status())
        self._store.events.emit(Event(kind=Kind.STATE_SAVED, message=f"state saved to {path.name}"))

    def _report(self, since: datetime, until: datetime) -> Path:
        from weekly_summary import summarise, write_report  # noqa: PLC0415 - needed once a week

        return write_report(summarise(self._store.db, since, until), self._settings().reports_dir)
