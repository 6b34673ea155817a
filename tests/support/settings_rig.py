"""The settings of a home behind a real server: the daemon's own parts without its sandbox and workers."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from nightshift.app.acp import nowhere
from nightshift.app.models import chain_of
from nightshift.app.reload import LiveSettings
from nightshift.app.settings_service import settings_port
from nightshift.config.load import Settings, load_settings, settings_at
from nightshift.core.clock import utc_now
from nightshift.core.events import Event
from nightshift.core.text.masking import Masker
from nightshift.server.serving.listen import Listen
from tests.support.app_context import Client, Got, make_desk, serving


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsRig:
    """A home whose settings are served over HTTP.

    `written` is the text of the home's config.yaml. `page` has the settings that were changed on the dashboard's page.
    """

    home: Path
    live: LiveSettings
    client: Client
    events: list[Event]

    @property
    def file(self) -> Path:
        return self.home / "config.yaml"

    @property
    def own_file(self) -> Path:
        return self.home / "settings.overrides.yaml"

    @property
    def written(self) -> str:
        return self.file.read_text()

    @property
    def page(self) -> Any:
        return yaml.safe_load(self.own_file.read_text()) or {} if self.own_file.exists() else None

    def shown(self) -> Any:
        got = self.client.get("/api/settings")
        assert got.status == 200, got.text
        return got.json

    def row(self, name: str) -> Any:
        return next(each for each in self.shown()["settings"] if each["name"] == name)

    def put(self, changes: Mapping[str, Any], **more: Any) -> Got:
        return self.send("PUT", "/api/settings", {"changes": changes, **more})

    def send(self, method: str, path: str, body: Any) -> Got:
        return self.client.request(method, path, json.dumps(body), {"Content-Type": "application/json"})


def _take_models(settings: Settings) -> Callable[[], None]:
    """Build the chain of models, which is the first thing that the daemon's services do with new settings."""
    chain_of(settings, nowhere)
    return lambda: None


@contextmanager
def settings_served(home: Path, config: str | None = None, listen: Listen | None = None) -> Iterator[SettingsRig]:
    """Serve the settings of a home; an event loop in a thread replaces the workers' loop."""
    home.mkdir(exist_ok=True)
    if config is not None:
        (home / "config.yaml").write_text(config)
    loop, events, context = asyncio.new_event_loop(), list[Event](), make_desk(home)
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    settings = load_settings(home=home)
    live, mask = LiveSettings(settings, partial(settings_at, settings)), Masker(settings.secrets)

    async def port() -> Any:
        live.serve([_take_models, _learn(mask)], events.append)
        up = asyncio.Event()
        up.set()
        return settings_port(live, up.wait, live.reload, mask, utc_now)

    try:
        opened_port = asyncio.run_coroutine_threadsafe(port(), loop).result(60)
        with serving(replace(context, settings=opened_port, reload=opened_port.reload), listen) as client:
            yield SettingsRig(home=home, live=live, client=client, events=events)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()
        context.database.close()


def _learn(mask: Masker) -> Callable[[Settings], Callable[[], None]]:
    return lambda settings: lambda: mask.learn(settings.secrets)
