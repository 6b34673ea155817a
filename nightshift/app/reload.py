"""Reads the settings again while the daemon runs: all of it is checked first, then all of it holds, or nothing does.

Each service that keeps something made from the settings has a *reload hook*: called with the new settings, it checks
them, makes what it needs, and returns the function that applies it. Only when no hook finds a fault are these called,
one after the other, on the workers' loop and without a pause in between, so no task ever sees half of a change.
Services that only look settings up ask `LiveSettings.now` each time and need no hook.
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
"""Checks new settings and makes what follows from them; raises `ConfigError`, or returns what applies it."""


class LiveSettings:
    """The settings as they hold now, and the way to reload them.

    Args:
        settings: as they were at the start.
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
        """Settings in force; ask again each time. Any thread."""
        return self._now

    def serve(self, hooks: Sequence[ReloadHook], emit: Sink) -> None:
        """Pass changes to these hooks from now on, and report them as events."""
        self._reload_hooks, self._emit = tuple(hooks), emit

    async def reload(self) -> Reloaded:
        """Read and check everything, then apply it. Call it on the workers' loop.

        Raises:
            ConfigError: lists every fault; nothing was changed.
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
        """Tell what these settings would change; nothing is applied. Call it on the workers' loop.

        Raises:
            ConfigError: a part that would be made of them finds faults.
        """
        return self._prepare(new)[2]

    def _read_all(self) -> tuple[Settings, tuple[str, ...]]:
        """The settings as the sources say them now, and where the settings page overrules `config.yaml`."""
        new = self._read()
        return new, sources(new).overruled

    def _prepare(self, new: Settings) -> tuple[Settings, Sequence[Callable[[], None]], Reloaded]:
        """The settings that would hold, what applies them, and what came of it in words."""
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
    """Return a function for other threads that runs `reload` on its loop."""
    return lambda: asyncio.run_coroutine_threadsafe(reload(), loop)
