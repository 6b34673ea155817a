"""Stores the tool calls of one attempt under its worker's fencing token; implements `core.ports.ToolLog`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from nightshift.core.tools import ToolPlace, ToolRecord, brief
from nightshift.storage.db.tool_store import ToolStore


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptToolLog:
    """The log of an attempt's tool calls; `say` receives each call in one line, for the worker's status."""

    store: ToolStore
    fence: int
    worker: str | None
    say: Callable[[str], None]

    def stored(self, position: ToolPlace) -> ToolRecord | None:
        """Return the stored result of the call at this position, or None if there is none."""
        return self.store.stored(position)

    async def save(self, position: ToolPlace, record: ToolRecord) -> None:
        """Store a call's record and an event about the call; both are durable when this returns.

        Raises:
            StaleFence: the task is no longer this worker's.
        """
        self.say(brief(record.name, record.arguments))
        await asyncio.wrap_future(self.store.save(position, self.fence, record, worker=self.worker))
