"""Reloads the settings while the daemon runs: everything is checked first, then either all changes are applied or none.

Each service that stores something made from the settings has a *reload hook*. The hook is called with the new settings,
checks them, makes what the service needs, and returns a function that applies the result. These functions are called
only if no hook finds a fault. They run one after the other on the workers' event loop, without a pause in between, so
that no task ever sees half of a change. Services that only read settings call `LiveSettings.now` each time and need no
hook.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

from pydantic import SecretStr

from nightshift.config.fields import Takes, headings, takes
from nightshift.config.load import Settings, sources
from nightshift.config.reloaded import Later, Reloaded
from nightshift.core.errors import ConfigError
from nightshift.core.events import Event, Kind, Level
from nightshift.core.ports import Sink
from nightshift.core.text.masking import MASK, Masker

ReloadHook = Callable[[Settings], Callable[[], None]]
"""Functions that check new settings and prepare their use. They return the function that applies the settings, or raise
`ConfigError`.
"""


class LiveSettings:
    """The current settings, with a method to reload them.

    Args:
        settings: the settings at the start.
        read: reads all sources again.
    """

    def __init__(self, settings: Settings, read: Callable[[], Settings]) -> None:
        self._now, self._read = settings, read
        self._reload_hooks: tuple[ReloadHook, ...] = ()
        self._emit: Sink = lambda _event: None
        self._mask = Masker(settings.secrets)
        self._one_at_a_time = asyncio.Lock()
        self.notices: tuple[str, ...] = ()

    @property
    def now(self) -> Settings:
        """Settings in force. Do not store the value, but read the property each time; any thread may do so."""
        return self._now

    def serve(self, hooks: Sequence[ReloadHook], emit: Sink) -> None:
        """Call these hooks on every change from now on, and report changes as events."""
        self._reload_hooks, self._emit = tuple(hooks), emit

    async def reload(self) -> Reloaded:
        """Read and check all settings, then apply them. Call this on the workers' event loop.

        Raises:
            ConfigError: the settings have faults; the message lists all of them, and nothing was changed.
        """
        async with self._one_at_a_time:
            try:
                new, overruled = await asyncio.to_thread(self._read_all)
                settings, to_apply, done = self._prepare(new)
            except ConfigError as error:
                self._refuse(error)
                raise
            self._now = settings
            for apply in to_apply:
                apply()
        done = replace(done, overruled=overruled)
        self.notices = (done.sentence,) if done.later else ()
        data = {"changed": list(done.changed), "later": {each.name: each.holds for each in done.later}}
        self._emit(Event(kind=Kind.SETTINGS_RELOADED, message=done.sentence, data=data))
        return done

    def check(self, new: Settings) -> Reloaded:
        """Return what these settings would change, without applying them. Call this on the workers' event loop.

        Raises:
            ConfigError: a hook finds faults in the settings.
        """
        return self._prepare(new)[2]

    def _read_all(self) -> tuple[Settings, tuple[str, ...]]:
        """Return the settings from all sources, and the names of overridden settings.

        A setting counts as overridden if `config.yaml` sets it and the settings page sets another value.
        """
        new = self._read()
        return new, sources(new).overruled

    def _prepare(self, new: Settings) -> tuple[Settings, Sequence[Callable[[], None]], Reloaded]:
        """Return the settings that would be in force, the functions that apply them, and a summary for the owner."""
        self._mask.learn(new.secrets)
        old = self._now
        changed = [name for name in headings(Settings) if getattr(new, name) != getattr(old, name)]
        waiting = [name for name in changed if takes(Settings.model_fields[name]) is Takes.RESTART]
        settings = new.model_copy(update={name: getattr(old, name) for name in waiting})
        to_apply, faults = list[Callable[[], None]](), list[str]()
        for hook in self._reload_hooks:
            try:
                to_apply.append(hook(settings))
            except ConfigError as error:
                faults += error.faults
        if faults:
            raise ConfigError(faults)
        done = Reloaded(
            changed=tuple(name for name in changed if name not in waiting),
            later=tuple(Later(name=name, holds=self._show(getattr(old, name))) for name in waiting),
        )
        return settings, to_apply, done

    def _refuse(self, error: ConfigError) -> None:
        text = self._mask(f"the settings have faults, so the old ones stay in use: {'; '.join(error.faults)}")
        self.notices = (text,)
        data = {"faults": [self._mask(fault) for fault in error.faults]}
        self._emit(Event(kind=Kind.SETTINGS_REFUSED, level=Level.ERROR, message=text, data=data))

    def _show(self, value: object) -> str:
        if isinstance(value, SecretStr):
            return MASK
        return self._mask(str(value)) if value not in (None, "") else "unset"


def on_loop(
    reload: Callable[[], Coroutine[Any, Any, Reloaded]], loop: asyncio.AbstractEventLoop
) -> Callable[[], Future[Reloaded]]:
    """Return a function that other threads call to run `reload` on the event loop."""
    return lambda: asyncio.run_coroutine_threadsafe(reload(), loop)
