"""The chores that keep a daemon of months bounded: pruning, packing, room on the disk; made from the settings."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from bootstrap.services import Rooms
from bootstrap.store import Store
from config import Settings
from core.clock import Clock
from core.states import Status
from db.event_log import EventLog
from environments.layers import LayerStore
from maintenance import orphans
from maintenance.disk import DiskGuard
from maintenance.pruning import Keep, Pruner
from maintenance.scheduler import Chore
from maintenance.workspace import Workspace
from taskqueue import checkpoints

HOUR_S = 3600.0
DISK_S = 30.0


def tidying(settings: Callable[[], Settings], store: Store, rooms: Rooms, clock: Clock) -> Sequence[Chore]:
    """The chores.

    Args:
        settings: what holds now.
        store: the database and its rooms.
        rooms: what the workers use, as far as it grows.
        clock: the time.
    """
    return _Tidying(settings, store, rooms, clock).chores()


class _Tidying:
    """Puts the parts of the chores together."""

    def __init__(self, settings: Callable[[], Settings], store: Store, rooms: Rooms, clock: Clock) -> None:
        self._settings, self._store, self._rooms, self._clock = settings, store, rooms, clock
        self._pruner = self._make_pruner()

    def chores(self) -> list[Chore]:
        """Each with its pace."""
        return [
            Chore(name="disk", every_s=DISK_S, run=self._make_guard().look),
            Chore(name="layers", every_s=24 * HOUR_S, run=self._sweep_layers, first_s=HOUR_S),
            Chore(name="pruning", every_s=HOUR_S, run=self._pruner.run, first_s=120.0),
            Chore(name="packing", every_s=HOUR_S, run=self._make_workspace().run, first_s=600.0),
        ]

    def _make_pruner(self) -> Pruner:
        store = self._store
        return Pruner(
            store.db,
            store.events,
            store.state,
            keep=lambda: _keep(self._settings()),
            clock=self._clock,
            quiet=self._is_quiet,
            report_since=lambda: checkpoints.read(store.db.reader()).last,
        )

    def _make_workspace(self) -> Workspace:
        store = self._store
        return Workspace(
            self._rooms.git.care,
            store.db,
            store.state,
            store.events,
            keep_days=lambda: self._settings().keep_work_days,
            quiet=self._is_quiet,
            clock=self._clock,
        )

    def _make_guard(self) -> DiskGuard:
        return DiskGuard(
            _places(self._settings()),
            reserve_mb=lambda: self._settings().disk_reserve_mb,
            make_room=self._make_room,
            queue=self._store.queue,
            emit=self._store.events.emit,
        )

    def _is_quiet(self) -> bool:
        return not self._store.queue.counts()[Status.RUNNING]

    async def _sweep_layers(self) -> None:
        if self._rooms.layers is not None:
            await asyncio.to_thread(self._rooms.layers.sweep)

    async def _make_room(self) -> None:
        await asyncio.to_thread(_drop_caches, self._settings(), self._rooms.layers)
        await self._pruner.run()


def _places(settings: Settings) -> dict[str, Path]:
    """What needs room, and where it lies."""
    return {
        "the database": settings.db_path.parent,
        "the workspace": settings.workspace,
        "the log": settings.log_file.parent,
        "temporary files": Path(tempfile.gettempdir()),
    }


def _drop_caches(settings: Settings, layers: LayerStore | None) -> None:
    """Remove what is made again when it is needed, and is in no job's hands."""
    if layers is not None:
        layers.sweep(keep_mb=0)
    old = time.time() - HOUR_S
    for folder in (settings.state_dir / "staging", settings.state_dir / "trials"):
        for tree in folder.glob("*.tree"):
            with contextlib.suppress(FileNotFoundError):
                if tree.stat().st_mtime < old:
                    tree.unlink()


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
