"""The tool calls of one attempt, stored under its worker's fencing token (a `core.ports.ToolLog`)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from nightshift.core.tool_brief import brief
from nightshift.core.tools import ToolPlace, ToolRecord
from nightshift.storage.db.tool_store import ToolStore


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptToolLog:
    """The log of an attempt's calls; `say` receives a short description of each."""

    store: ToolStore
    fence: int
    worker: str | None
    say: Callable[[str], None]

    def stored(self, position: ToolPlace) -> ToolRecord | None:
        """Return the stored result of the call at this position, marked as replayed, or None if there is none."""
        return self.store.stored(position)

    async def save(self, position: ToolPlace, record: ToolRecord) -> None:
        """Store a record with the change after it and an event; it is durable when this returns.

        Raises:
            StaleFence: the task is no longer this worker's.
        """
        self.say(brief(record.name, record.arguments))
        await asyncio.wrap_future(self.store.save(position, self.fence, record, worker=self.worker))
