"""Puts the settings of a daemon behind the door that its pages have to them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from bootstrap.reload import LiveSettings, on_loop
from bootstrap.setting_trials import SettingTrials
from bootstrap.settings_desk import SettingsDesk
from core.clock import Clock
from core.masking import Masker
from server.settings_door import SettingsDoor
from settings.live import Reloaded

_A = TypeVar("_A")
_T = TypeVar("_T")


def settings_door(
    live: LiveSettings,
    up: Callable[[], Awaitable[object]],
    reload: Callable[[], Coroutine[Any, Any, Reloaded]],
    mask: Masker,
    clock: Clock,
) -> SettingsDoor:
    """The door, for threads; what goes through it is done on the loop that runs now.

    Args:
        live: the settings that hold.
        up: done once the daemon serves.
        reload: reads the settings again.
        mask: takes secrets out of what is shown.
        clock: the time.
    """
    loop = asyncio.get_running_loop()
    desk, trials = SettingsDesk(live, up, reload, mask), SettingTrials(lambda: live.now, mask, clock)

    def threaded(work: Callable[[_A], Coroutine[Any, Any, _T]]) -> Callable[[_A], Future[_T]]:
        return lambda asked: asyncio.run_coroutine_threadsafe(work(asked), loop)

    return SettingsDoor(
        show=desk.show,
        change=threaded(desk.change),
        try_model=threaded(trials.try_model),
        try_notices=threaded(trials.try_notices),
        reload=on_loop(reload, loop),
        told=lambda: frozenset(live.now.notify_on),
    )
