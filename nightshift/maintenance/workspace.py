"""Keeps the daemon's own repository small: packs it often, and cleans it once a week while no task runs.

The branches of tasks that were integrated and ended long ago are deleted, because main contains their commits. A branch
that was never integrated is kept at any age, because it is the only reference to work that was paid for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from datetime import datetime, timedelta

from nightshift.core.clock import Clock, from_text, to_text
from nightshift.core.events import Emitter, Kind
from nightshift.git.maintenance import RepositoryMaintenance, Stored
from nightshift.storage.db import pruning
from nightshift.storage.db.database import Database
from nightshift.storage.db.event_log import EventLog
from nightshift.storage.db.state_store import StateStore

LOOSE_BYTES = 32 << 20
"""Bytes of loose objects above which the repository is packed, which takes a second. The number of objects would say
little, because one object can be as large as the list of all names in a big folder.
"""
CLEAN_EVERY = timedelta(days=7)
_CLEANED = "workspace_cleaned_at"


class Workspace:
    """Keeps the workspace repository of one home small.

    Args:
        repository: packs the repository, drops unused objects and deletes branches.
        db: contains the times when tasks ended.
        state: stores the time of the last cleaning.
        events: gets an event each time the repository was packed or cleaned.
        keep_days: returns the days for which the integrated branch of an ended task is kept.
        quiet: returns True if no task runs.
        clock: returns the current time.
    """

    def __init__(
        self,
        repository: RepositoryMaintenance,
        db: Database,
        state: StateStore,
        events: EventLog,
        *,
        keep_days: Callable[[], float],
        quiet: Callable[[], bool],
        clock: Clock,
    ) -> None:
        self._repository, self._db, self._state, self._events = repository, db, state, Emitter(events.emit)
        self._keep_days, self._quiet, self._clock = keep_days, quiet, clock

    async def run(self) -> None:
        """Clean the repository if that is due and no task runs; else pack it if it has too many bytes of loose objects.

        Raises:
            GitError: git failed; nothing is lost.
        """
        if await self._is_due() and self._quiet():
            before = await asyncio.to_thread(self._repository.count_objects)
            branches = await asyncio.to_thread(self._repository.delete_of, self._long_ended)
            await asyncio.to_thread(self._repository.pack)
            await asyncio.to_thread(self._repository.drop)
            await asyncio.wrap_future(self._state.set(_CLEANED, to_text(self._clock())))
            await self._report("cleaned", before, len(branches))
        elif await asyncio.to_thread(self._repository.loose_bytes) >= LOOSE_BYTES:
            before = await asyncio.to_thread(self._repository.count_objects)
            await asyncio.to_thread(self._repository.pack)
            await self._report("packed", before, 0)

    async def _is_due(self) -> bool:
        """Check whether a cleaning is due. The first cleaning is due a week after the first check."""
        now, last = self._clock(), await asyncio.to_thread(self._state.get, _CLEANED)
        if last is None or from_text(str(last)) > now:
            await asyncio.wrap_future(self._state.set(_CLEANED, to_text(now)))
            return False
        return now - from_text(str(last)) >= CLEAN_EVERY

    def _long_ended(self, task_ids: Collection[int]) -> frozenset[int]:
        before: datetime = self._clock() - timedelta(days=self._keep_days())
        return pruning.list_ended_among(self._db.reader(), task_ids, before)

    async def _report(self, what: str, before: Stored, branches: int) -> None:
        after = await asyncio.to_thread(self._repository.count_objects)
        gone = f", {branches} integrated branches deleted" if branches else ""
        text = (
            f"the workspace was {what}: {before.loose} loose objects and {before.packs} packs became "
            f"{after.loose} and {after.packs}, {before.kb / 1024:.1f} MB {after.kb / 1024:.1f} MB{gone}"
        )
        self._events.emit(
            Kind.PRUNED,
            text,
            loose_before=before.loose,
            loose_after=after.loose,
            kb_before=before.kb,
            kb_after=after.kb,
            branches=branches,
        )
