"""Backups of the database. One is made and checked each hour and at each clean stop.

Several of the newest backups are kept, and one backup for each of the last days. No backup is made if the daemon has
done nothing since the newest backup. A stopping daemon waits only some seconds for its backup.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path

from nightshift.core.clock import Clock
from nightshift.core.errors import StoreError
from nightshift.core.events import Emitter, Kind, Level
from nightshift.core.ports import Sink
from nightshift.storage.db import backups

HOUR_S = 3600.0


class Backup:
    """Makes backups; a failed backup is reported, and the old ones stay.

    Args:
        database: the database file.
        folder: the folder of the backups.
        clock: gives the times that backups are named after.
        retention: returns the number of newest backups to keep, the number of days of which one backup each is kept,
            and the maximum bytes of all backups.
        sink: gets an event when a backup failed.
    """

    def __init__(
        self, database: Path, folder: Path, clock: Clock, retention: Callable[[], tuple[int, int, int]], sink: Sink
    ) -> None:
        self._database, self._folder, self._clock, self._retention = database, folder, clock, retention
        self._events = Emitter(sink)

    def find_first_s(self) -> float:
        """Return the seconds until the first backup is due: an hour after the newest one, or 0."""
        newest = next(iter(backups.list_backups(self._folder, self._clock())), None)
        at = backups.time_of(newest) if newest else None
        return max(0.0, HOUR_S - abs((self._clock() - at).total_seconds())) if at else 0.0

    async def make(self, limit_s: float | None = None) -> None:
        """Make a backup in a thread. After `limit_s` seconds it is abandoned, and the next start makes one."""
        keep, daily, most = self._retention()
        rules = partial(backups.make, keep=keep, daily=daily, most_bytes=most, limit_s=limit_s)
        job = partial(rules, self._database, self._folder)
        try:
            await asyncio.to_thread(job, self._clock())
        except TimeoutError:
            return
        except StoreError as error:
            text = f"no new backup was made, the old ones are kept: {error}"
            self._events.emit(Kind.BACKUP_FAILED, text, level=Level.ERROR)
