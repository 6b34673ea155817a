"""Port of the API to the daemon's settings: the callables that a daemon puts behind it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import NoReturn

from nightshift.config.reloaded import Reloaded
from nightshift.core.errors import ConfigError
from nightshift.maintenance.notify.notices import NoticeKind
from nightshift.server.settings_answers import (
    ChangeIn,
    ModelTested,
    ModelTestIn,
    NoticeTestIn,
    SettingsChanged,
    SettingsShown,
)


def _nobody(*_: object) -> NoReturn:
    raise ConfigError(["settings: nothing is known of them here: no daemon is behind this server"])


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsPort:
    """Port to the daemon's settings; all may be called from any thread and fail with `ConfigError`.

    `notify_on` are the kinds of notices that are wanted.
    """

    show: Callable[[], SettingsShown] = _nobody
    change: Callable[[ChangeIn], Future[SettingsChanged]] = _nobody
    try_model: Callable[[ModelTestIn], Future[ModelTested]] = _nobody
    try_notices: Callable[[NoticeTestIn], Future[Mapping[str, str]]] = _nobody
    reload: Callable[[], Future[Reloaded]] = _nobody
    notify_on: Callable[[], frozenset[str]] = lambda: frozenset(NoticeKind)


CLOSED = SettingsPort()
"""Port of a context without a daemon behind it."""
