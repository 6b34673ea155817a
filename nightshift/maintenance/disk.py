"""Reacts to low disk space: no task is started, caches are removed at once, and the owner is notified once.

A full disk makes writes fail everywhere at once, and not even the database can store a report of that. Therefore work
stops while there is still space for the running tasks and for the log. It continues automatically when there is clearly
more space than the reserve. It does not continue at the first free byte, because it would then stop and start with
every task.
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
"""Work continues when the free space is at least this multiple of the reserve."""
# Minimum number of free inodes. One task creates some hundred files.
LEAST_INODES = 500
MB = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskSpace:
    """Free space of one file system; `inodes` is None if they are not limited."""

    what: str
    path: Path
    free_mb: float
    inodes: int | None = None

    def __str__(self) -> str:
        files = f" and {self.inodes} inodes" if self.inodes is not None and self.inodes < ENOUGH * LEAST_INODES else ""
        return f"{self.free_mb:.0f} MB{files} are free for {self.what} ({self.path})"

    def share(self, wanted_mb: float, inodes: float) -> float:
        """Return free space divided by needed space, for bytes or for inodes, whichever is lower.

        A result below 1 means that the space is not enough.
        """
        of_files = self.inodes / inodes if self.inodes is not None else 1.0
        return min(self.free_mb / wanted_mb, of_files) if wanted_mb else 1.0


class DiskGuard:
    """Watches the free disk space, and pauses work when it is low.

    Args:
        places: the folders that need space; the keys are their names for the owner.
        reserve_mb: returns the MB that must be free; 0 switches the check off.
        free_space: removes caches and old data.
        queue: the queue that is paused.
        emit: gets an event when the space is low.
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
        """Check the space once, and add or remove the pause.

        Raises:
            StoreError: the pause could not be written.
        """
        holds = await asyncio.to_thread(lambda: self._queue.pause_state().has(PauseSource.DISK))
        low = await self._find_lowest(1.0)
        if low and not holds:
            await self._stop(low)
        elif holds and not await self._find_lowest(ENOUGH):
            await asyncio.wrap_future(self._queue.remove_pause(PauseSource.DISK))

    async def _find_lowest(self, times: float) -> DiskSpace | None:
        """Return the place with the least free space; None if every place has at least `times` the reserve."""
        spaces = await asyncio.to_thread(lambda: [_space_at(what, path) for what, path in self._places.items()])
        wanted = (times * self._reserve_mb(), times * LEAST_INODES)
        low = [space for space in spaces if space.share(*wanted) < 1.0]
        return min(low, key=lambda space: space.share(*wanted), default=None)

    async def _stop(self, low: DiskSpace) -> None:
        """Pause the queue, then free space. If the disk is too full to store the pause, free space first."""
        reserve_mb = self._reserve_mb()
        least = f"less than disk_reserve_mb ({reserve_mb:.0f}) and {LEAST_INODES} inodes"
        reason = f"{low}, {least}; work continues by itself at {ENOUGH:g} times that"
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
    """Return the free space at a path; if the path does not exist, at its nearest existing parent."""
    there = next(folder for folder in (path, *path.parents) if folder.exists())
    room = os.statvfs(there)
    free_mb = room.f_bavail * room.f_frsize / MB
    return DiskSpace(what=what, path=path, free_mb=free_mb, inodes=room.f_favail if room.f_files else None)
