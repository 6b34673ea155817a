"""The daemon's real services on their own home, without the workers and the HTTP server."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from nightshift.app.services import Services
from nightshift.app.store import StoreServices, open_store
from nightshift.attempt.services import AttemptServices
from nightshift.config.load import Settings, load_settings
from nightshift.core.clock import utc_now


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """The opened services that a test uses."""

    settings: Settings
    store: StoreServices
    parts: AttemptServices


@contextlib.asynccontextmanager
async def open_services(home: Path, **settings_of_home: object) -> AsyncIterator[Opened]:
    """Open the services of a home; they are closed at the end, after the store."""
    settings = load_settings({"embedder": "hashed", "model_type": "ollama", **settings_of_home}, home)
    async with contextlib.AsyncExitStack() as last:
        with contextlib.ExitStack() as stack:
            services = Services(settings, store := open_store(settings, stack), stack, utc_now)
            last.push_async_callback(services.aclose)
            parts = await services.prepare()
            assert parts, services.notices
            yield Opened(settings=settings, store=store, parts=parts)
