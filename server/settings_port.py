"""What pages may know of the settings and do with them: values, and the callables that a daemon puts behind them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, NoReturn

from core.errors import ConfigError
from maintenance.notify.notices import NoticeKind
from settings.catalogue import Described
from settings.live import Reloaded
from settings.origins import Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class Valued:
    """One setting as it stands.

    `value` is what holds, `next` what will after a restart, where `waits`; a secret has neither. `veiled` says that a
    part of the value is not shown, `fixed` why `config.yaml` cannot change it.
    """

    described: Described
    value: Any
    next: Any
    waits: bool
    is_set: bool
    veiled: bool
    origin: Origin
    fixed: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """All settings; `faults` are those that the file has now, for which the old settings still hold."""

    settings: tuple[Valued, ...]
    file: str
    digest: str
    faults: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """New values by name (None: back to the default). With a `digest` the file must still be the one that has it."""

    values: Mapping[str, Any] = field(repr=False)
    digest: str = ""
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """What came of a change, or would; `diff` has the lines of the file that go (`-`) and come (`+`)."""

    reloaded: Reloaded
    digest: str
    diff: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTrial:
    """A backend that is to be tried; what is None is as the settings say. `ask` has it say one word, which may cost."""

    backend: str
    model: str | None = None
    base_url: str | None = None
    key: str | None = field(default=None, repr=False)
    ask: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTried:
    """How it went: `detail` says what was found, `mend` what to do. Tokens are those of the word, None without one."""

    works: bool
    model: str
    detail: str
    mend: str
    offered: tuple[str, ...]
    latency_s: float
    reply_s: float | None = None
    tokens_out: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeTrial:
    """Ways of telling that are to be tried; what is None is as the settings say."""

    url: str | None = field(default=None, repr=False)
    secret: str | None = field(default=None, repr=False)
    desktop: bool | None = None


def _nobody(*_: object) -> NoReturn:
    raise ConfigError(["settings: nothing is known of them here: no daemon is behind this server"])


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsPort:
    """Where the API reaches the daemon's settings; all may be called from any thread and fail with `ConfigError`.

    `notify_on` are the kinds of notices that are wanted.
    """

    show: Callable[[], Shown] = _nobody
    change: Callable[[Change], Future[Changed]] = _nobody
    try_model: Callable[[ModelTrial], Future[ModelTried]] = _nobody
    try_notices: Callable[[NoticeTrial], Future[Mapping[str, str]]] = _nobody
    reload: Callable[[], Future[Reloaded]] = _nobody
    notify_on: Callable[[], frozenset[str]] = lambda: frozenset(NoticeKind)


CLOSED = SettingsPort()
"""What a context without a daemon behind it has."""
