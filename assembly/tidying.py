"""The chores that keep a daemon of months bounded: pruning, packing, room on the disk; made from the settings."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from assembly.rooms import Rooms
from assembly.store import Store
from config import Settings
from core.clock import Clock
from core.states import Status
from db import checkpoints
from db.event_log import EventLog
from upkeep import orphans
from upkeep.pruning import Keep, Pruner
from upkeep.rounds import Chore
from upkeep.workspace import Workspace

HOUR_S = 3600.0


def tidying(settings: Callable[[], Settings], store: Store, rooms: Rooms, clock: Clock) -> Sequence[Chore]:
    """The chores.

    Args:
        settings: what holds now.
        store: the database and its rooms.
        rooms: what the workers use, as far as it grows.
        clock: the time.
    """

    def quiet() -> bool:
        return not store.queue.counts()[Status.RUNNING]

    pruner = Pruner(
        store.db,
        store.events,
        store.state,
        keep=lambda: _keep(settings()),
        clock=clock,
        quiet=quiet,
        report_since=lambda: checkpoints.read(store.db.reader()).last,
    )
    workspace = Workspace(
        rooms.git.care,
        store.db,
        store.state,
        store.events,
        keep_days=lambda: settings().keep_work_days,
        quiet=quiet,
        clock=clock,
    )
    return [
        Chore(name="pruning", every_s=HOUR_S, run=pruner.run, first_s=120.0),
        Chore(name="packing", every_s=HOUR_S, run=workspace.run, first_s=600.0),
    ]


async def sweep_orphans(settings: Settings, events: EventLog) -> None:
    """Sweep what a dead daemon of this home left, and tell it; only while the home's lock is held."""
    where = orphans.Places(
        lock=settings.lock_file,
        port=settings.port_file,
        scratch=settings.state_dir,
        drafts=(
            settings.state_dir,
            settings.state_dir / "staging",
            settings.state_dir / "trials",
            settings.reports_dir,
            settings.db_path.parent,
            settings.backups_dir,
        ),
        shared=(settings.state_file, settings.seal_file),
        workspace=settings.workspace,
        packages=settings.packages_dir,
    )
    swept = await asyncio.to_thread(orphans.sweep, where)
    if swept.event:
        events.emit(swept.event)


def _keep(settings: Settings) -> Keep:
    return Keep(
        events_days=settings.keep_events_days,
        work_days=settings.keep_work_days,
        database_mb=settings.database_max_mb,
    )
