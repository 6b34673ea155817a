"""The daemon's real rooms on a home of its own, without workers and doors."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from attempt.services import AttemptServices
from bootstrap.services import Rooms
from bootstrap.store import Store, open_store
from config import Settings, load_settings
from core.clock import utc_now


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """What a test works with."""

    settings: Settings
    store: Store
    parts: AttemptServices


@contextlib.asynccontextmanager
async def open_rooms(home: Path) -> AsyncIterator[Opened]:
    """The rooms of a home; let go of at the end, after the store."""
    settings = load_settings({"embedder": "hashed", "model_type": "ollama"}, home)
    async with contextlib.AsyncExitStack() as last:
        with contextlib.ExitStack() as stack:
            rooms = Rooms(settings, store := open_store(settings, stack), stack, utc_now)
            last.push_async_callback(rooms.aclose)
            parts = await rooms.prepare()
            assert parts, rooms.notices
            yield Opened(settings=settings, store=store, parts=parts)
