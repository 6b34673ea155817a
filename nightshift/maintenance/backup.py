"""Backups of the database: one an hour and one at each clean stop, checked, the newest and one a day kept."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from nightshift.core.clock import Clock
from nightshift.core.errors import StoreError
from nightshift.core.events import Emitter, Kind, Level
from nightshift.core.ports import Sink
from nightshift.storage.db import backups


class Backup:
    """Makes backups; one that cannot be made is reported, and the old ones stay.

    Args:
        database: the file.
        folder: where backups go.
        clock: gives them their names.
        kept: how many of the newest are kept, and on how many days one of each day.
        sink: takes an event when there is no new backup.
    """

    def __init__(
        self, database: Path, folder: Path, clock: Clock, kept: Callable[[], tuple[int, int]], sink: Sink
    ) -> None:
        self._database, self._folder, self._clock, self._kept = database, folder, clock, kept
        self._events = Emitter(sink)

    async def make(self) -> None:
        """Make one, in a thread of its own."""
        keep, daily = self._kept()
        try:
            await asyncio.to_thread(backups.make, self._database, self._folder, self._clock(), keep=keep, daily=daily)
        except StoreError as error:
            text = f"there is no new backup, the old ones are kept: {error}"
            self._events.emit(Kind.BACKUP_FAILED, text, level=Level.ERROR)
