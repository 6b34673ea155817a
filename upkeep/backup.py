"""Copies of the database beside it, the newest few of them."""

from __future__ import annotations

import asyncio
from pathlib import Path

from core.clock import Clock
from db.state_store import StateStore


class Backup:
    """Makes copies and keeps the newest.

    Args:
        state: makes the copy.
        folder: where they go.
        clock: gives them their names.
        keep: how many stay.
    """

    def __init__(self, state: StateStore, folder: Path, clock: Clock, keep: int = 3) -> None:
        self._state, self._folder, self._clock, self._keep = state, folder, clock, keep

    async def make(self) -> None:
        """Make one, and drop the oldest beyond those that stay."""
        await asyncio.to_thread(self._make)

    def _make(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        stamp = self._clock().strftime("%Y%m%dT%H%M%SZ")
        self._state.backup(self._folder / f"agent_logs-{stamp}.sqlite")
        for old in sorted(self._folder.glob("agent_logs-*.sqlite"))[: -self._keep]:
            old.unlink()
