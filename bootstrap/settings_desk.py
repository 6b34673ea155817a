"""Shows the settings and changes them from the browser: checked as the file is, written to it, then read again.

The order is that of safety: everything is judged before a byte is written, by the reader of the file and by every part
that is made of the settings; the file is replaced only while it still is what was judged; and only then is it read
again, as SIGHUP would. What `settings.by_hand` names is refused, and so is a new address for a key that is stored: who
may write here, but cannot read the key, could else have it sent to himself.
"""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import yaml

from bootstrap.reload import LiveSettings, read_again
from bootstrap.settings_shown import fixed, shown
from config import Settings, origins
from core.errors import ConfigError
from core.masking import Masker
from server.settings_door import Change, Changed, Shown
from settings.catalogue import Described, Kind, describe
from settings.config_file import Config, ConfigChanged, ConfigFile
from settings.config_text import edited
from settings.live import Reloaded

KEYS: Mapping[str, str] = {
    "openai_base_url": "openai_api_key", "anthropic_base_url": "anthropic_api_key", "notify_url": "notify_secret",
}  # fmt: skip
"""Addresses, each with the key that is sent there, or signs what is."""


class SettingsDesk:
    """The settings of one daemon, for its pages.

    Args:
        live: the settings that hold.
        up: done once the daemon serves.
        reload: reads the settings again; on the workers' loop.
        mask: takes secrets out of what is shown.
    """

    def __init__(
        self,
        live: LiveSettings,
        up: Callable[[], Awaitable[object]],
        reload: Callable[[], Awaitable[Reloaded]],
        mask: Masker,
    ) -> None:
        self._live, self._up, self._reload, self._mask = live, up, reload, mask
        self._described: Mapping[str, Described] = describe(Settings)
        secret = [name for name, each in self._described.items() if each.kind is Kind.SECRET]
        self._file = ConfigFile(live.now.config_file, secret)
        self._one_at_a_time = asyncio.Lock()

    def show(self) -> Shown:
        """All settings as they stand. Any thread.

        Raises:
            ConfigError: the file cannot be read.
        """
        file, now, faults = self._file.read(), self._live.now, tuple[str, ...]()
        try:
            after = read_again(now, file.text)
        except ConfigError as error:
            after, faults = now, tuple(map(self._mask, error.faults))
        found = {} if faults else origins(now, file.text)
        settings = tuple(shown(each, now, after, found, self._mask) for each in self._described.values())
        return Shown(settings=settings, file=str(now.config_file), digest=file.digest, faults=faults)

    async def change(self, asked: Change) -> Changed:
        """Write new values to `config.yaml` and read it again. Call it on the workers' loop.

        Raises:
            ConfigChanged: the file is another one than was looked at.
            ConfigError: lists every fault; nothing was written.
        """
        await self._up()
        async with self._one_at_a_time:
            old = await asyncio.to_thread(self._file.read)
            if asked.digest and asked.digest != old.digest:
                raise ConfigChanged()
            text, new = await asyncio.to_thread(self._judged, old, asked.values)
            outlook = self._live.check(new)
            diff = await asyncio.to_thread(self._diff, old.text, text, asked.values)
            if asked.dry_run:
                return Changed(reloaded=outlook, digest=old.digest, diff=diff)
            if text != old.text:
                await asyncio.to_thread(self._file.replace, old, text)
            done = await self._reload()
            return Changed(reloaded=done, digest=(await asyncio.to_thread(self._file.read)).digest, diff=diff)

    def _judged(self, old: Config, values: Mapping[str, Any]) -> tuple[str, Settings]:
        """The text that would be written, and the settings that it gives."""
        if faults := [fault for name in values if (fault := self._refusal(name, old))]:
            raise ConfigError(faults)
        try:
            text = edited(old.text, values)
        except yaml.YAMLError:
            read_again(self._live.now, old.text)  # says what is wrong with the file
            raise
        new = read_again(self._live.now, text)
        if faults := self._keys_led_astray(new, old, values):
            raise ConfigError(faults)
        return text, new

    def _refusal(self, name: str, old: Config) -> str:
        """Why this setting cannot be changed from here; empty where it can."""
        if name not in self._described:
            return f"{name}: is no setting"
        if why := self._described[name].by_hand:
            return f"{name}: is changed in config.yaml alone, because {why}"
        why = fixed(name, origins(self._live.now, old.text).get(name))
        return f"{name}: {why}" if why else ""

    def _keys_led_astray(self, new: Settings, old: Config, values: Mapping[str, Any]) -> list[str]:
        try:
            now = read_again(self._live.now, old.text)
        except ConfigError:  # this very change mends the file
            now = self._live.now
        return [
            f"{url}: what is stored as {key} was given for another address; give it anew with this change, or remove it"
            for url, key in KEYS.items()
            if getattr(new, url) != getattr(now, url) and getattr(now, key) and getattr(new, key) and key not in values
        ]

    def _diff(self, old: str, new: str, values: Mapping[str, Any]) -> tuple[str, ...]:
        """The lines that differ, without those around them, in which anything may stand."""
        before, after = self._file.veiled(old), self._file.veiled(new, values)
        lines = difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm="")
        return tuple(self._mask(line) for line in list(lines)[2:] if not line.startswith("@@"))
