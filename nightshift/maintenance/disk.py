"""Low disk: no task is started while little space is left, what can go at once goes, and the owner is notified once.

A full disk ends writes in their middle, everywhere at once, and the database cannot even say so. So work stops while
there still is space for what runs and for the log. It goes on by itself when there is clearly more than that, and
not at the first free byte, or it would stop and go with every task.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from nightshift.core.errors import StoreError
from nightshift.core.events import Emitter, Kind, Level
from nightshift.core.ports import Sink
from nightshift.core.tasks.queueing import PauseSource
from nightshift.queue.manager import QueueManager

ENOUGH = 1.25
"""Work goes on when so many times the reserve is free."""
# A task makes some hundred files.
LEAST_INODES = 500
MB = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskSpace:
    """Free space of one file system; `inodes` is None where it has no limit of them."""

    what: str
    path: Path
    free_mb: float
    inodes: int | None = None

    def __str__(self) -> str:
        files = f" and {self.inodes} inodes" if self.inodes is not None and self.inodes < ENOUGH * LEAST_INODES else ""
        return f"{self.free_mb:.0f} MB{files} are free for {self.what} ({self.path})"

    def share(self, wanted_mb: float, inodes: float) -> float:
        """How much of what is wanted is free, by what is scarcer: below 1 it is not enough."""
        of_files = self.inodes / inodes if self.inodes is not None else 1.0
        return min(self.free_mb / wanted_mb, of_files) if wanted_mb else 1.0


class DiskGuard:
    """Looks at the space that is left.

    Args:
        places: what needs space, and where it lies.
        reserve_mb: how much must be free, in MB; 0 switches this off.
        make_room: removes what can be made again and what is old.
        queue: claims are held back here.
        emit: takes the event.
    """

    def __init__(
        self,
        places: Mapping[str, Path],
        *,
        reserve_mb: Callable[[], float],
        free_space: Callable[[], Awaitable[None]],
        queue: QueueManager,
        emit: Sink,
    ) -> None:
        self._places, self._reserve_mb, self._free_space = places, reserve_mb, free_space
        self._queue, self._events = queue, Emitter(emit)

    async def look(self) -> None:
        """Look once.

        Raises:
            StoreError: that claims are held back could not be written.
        """
        holds = await asyncio.to_thread(lambda: self._queue.pause_state().has(PauseSource.DISK))
        low = await self._find_lowest(1.0)
        if low and not holds:
            await self._stop(low)
        elif holds and not await self._find_lowest(ENOUGH):
            await asyncio.wrap_future(self._queue.remove_pause(PauseSource.DISK))

    async def _find_lowest(self, times: float) -> DiskSpace | None:
        """Find the place with the least space of those that have less than so many times the reserve."""
        spaces = await asyncio.to_thread(lambda: [_space_at(what, path) for what, path in self._places.items()])
        wanted = (times * self._reserve_mb(), times * LEAST_INODES)
        low = [space for space in spaces if space.share(*wanted) < 1.0]
        return min(low, key=lambda space: space.share(*wanted), default=None)

    async def _stop(self, low: DiskSpace) -> None:
        """Hold claims back and free space; where not even that can be written, free space first."""
        reserve_mb = self._reserve_mb()
        least = f"less than disk_reserve_mb ({reserve_mb:.0f}) and {LEAST_INODES} inodes"
        reason = f"{low}, {least}; work goes on by itself at {ENOUGH:g} times that"
        try:
            await asyncio.wrap_future(self._queue.add_pause(PauseSource.DISK, reason))
        except StoreError:
            await self._free_space()
            await asyncio.wrap_future(self._queue.add_pause(PauseSource.DISK, reason))
        self._events.emit(
            Kind.DISK_LOW,
            f"no task is started: {reason}",
            level=Level.ERROR,
            place=low.what,
            path=str(low.path),
            free_mb=round(low.free_mb),
            reserve_mb=reserve_mb,
        )
        await self._free_space()


def _space_at(what: str, path: Path) -> DiskSpace:
    """The space at a place, or above it where it does not exist yet."""
    there = next(folder for folder in (path, *path.parents) if folder.exists())
    room = os.statvfs(there)
    free_mb = room.f_bavail * room.f_frsize / MB
    return DiskSpace(what=what, path=path, free_mb=free_mb, inodes=room.f_favail if room.f_files else None)
