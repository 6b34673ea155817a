"""Tries what was typed into the settings page and is not saved yet: a backend of models, a way of being told.

A key that is stored goes only to the address that it is stored with, and a stored secret signs only what goes to the
stored URL: who may use the page, but cannot read the file, could else have it sent, or used, elsewhere. Where a request
goes is otherwise as free as in the settings themselves; redirects are never followed, and what comes back is told as
names of models and sentences of ours. One trial at a time, so that nobody makes a hammer of it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from pydantic import SecretStr

from bootstrap.doctor.models import one_word
from bootstrap.models import backend_settings
from bootstrap.notices import channels, tried
from bootstrap.repair import nothing_runs
from config import Settings
from core.clock import Clock
from core.dialogue import BUILT_IN
from core.errors import ConfigError, ModelError
from core.masking import Masker, printable
from models import BACKENDS, backend_class
from models.base import BackendSettings, BaseModelHandler
from server.desk import Busy
from server.settings_door import ModelTrial, ModelTried, NoticeTrial
from settings.values import web_address

ASK_S = 45.0
OFFERED_MOST = 200
ADDRESSES: Mapping[str, str] = {
    "openai": "openai_base_url", "anthropic": "anthropic_base_url", "ollama": "ollama_base_url",
}  # fmt: skip


class SettingTrials:
    """What the page can try; all on the workers' loop.

    Args:
        settings: what holds now.
        mask: takes stored secrets out of what is told.
        clock: the time, for notices.
    """

    def __init__(self, settings: Callable[[], Settings], mask: Masker, clock: Clock) -> None:
        self._settings, self._mask, self._clock = settings, mask, clock
        self._one_at_a_time = asyncio.Lock()

    async def try_model(self, trial: ModelTrial) -> ModelTried:
        """Look whether a backend answers, and have it say one word where that is wanted.

        Raises:
            ConfigError: what was typed cannot be used; names the field.
            Busy: another trial goes on.
        """
        backend, note = self._backend(trial)
        typed = Masker([trial.key] if trial.key else [])
        async with self._alone():
            tried = await _looked_at(backend)
            if tried.works and trial.ask and backend.name != "gpt4all":  # that would load it beside the one in use
                tried = await _asked(backend, tried)
        said = " ".join(filter(None, (tried.detail, note)))
        return replace(tried, detail=printable(self._mask(typed(said))), mend="" if tried.works else backend.setup)

    async def try_notices(self, trial: NoticeTrial) -> Mapping[str, str]:
        """Send a test notice each way that would be set; the ways, each with what went wrong, empty where it arrived.

        Raises:
            ConfigError: no way is set, or the URL is none.
            Busy: another trial goes on.
        """
        now = self._settings()
        stored = now.notify_url.get_secret_value() if now.notify_url else None
        values: dict[str, Any] = {"notify_desktop": trial.desktop}
        if trial.url is not None and trial.url != stored:
            values |= {"notify_url": _address("notify_url", trial.url), "notify_secret": None}
        if trial.secret:
            values["notify_secret"] = SecretStr(trial.secret)
        kept = {name: value for name, value in values.items() if name == "notify_secret" or value is not None}
        ways = channels(now.model_copy(update=kept))
        if not ways.names:
            raise ConfigError(["notify_url: nothing is set that could be tried: no URL, no command, no desktop"])
        async with self._alone():
            faults = await tried(ways, "on the settings page", self._clock)
        return {name: self._mask(fault) for name, fault in faults.items()}

    def _alone(self) -> asyncio.Lock:
        if self._one_at_a_time.locked():
            raise Busy("another trial goes on; try again in a moment")
        return self._one_at_a_time

    def _backend(self, trial: ModelTrial) -> tuple[BaseModelHandler, str]:
        """The backend, not asked yet, and a remark for its owner."""
        if trial.backend not in BACKENDS:
            raise ConfigError([f"backend: there is no {trial.backend!r}; known are {', '.join(BACKENDS)}"])
        if trial.backend == BUILT_IN:
            raise ConfigError(["backend: the built-in engine needs no connection; the status tells of its sandbox"])
        settings, note = self._typed(trial)
        backend = backend_class(trial.backend).configured(settings, trial.model or None)
        if backend is None:
            raise ConfigError([f"backend: {trial.backend} is not configured: {backend_class(trial.backend).setup}"])
        return backend, note

    def _typed(self, trial: ModelTrial) -> tuple[BackendSettings, str]:
        stored = backend_settings(self._settings(), nothing_runs)
        address, key = ADDRESSES.get(trial.backend), f"{trial.backend}_api_key"
        values: dict[str, Any] = {}
        note, usual = "", getattr(BackendSettings(), address or "", None)
        if address and trial.base_url is not None and trial.base_url != (getattr(stored, address) or ""):
            values[address] = _address("base_url", trial.base_url).get_secret_value() if trial.base_url else usual
            if getattr(stored, key, None) and not trial.key:
                values[key] = None
                note = "(The stored key was not sent, because it was given for another address.)"
        if trial.key and hasattr(stored, key):
            values[key] = trial.key
        return replace(stored, **values), note


async def _looked_at(backend: BaseModelHandler) -> ModelTried:
    began = time.monotonic()
    works = await asyncio.to_thread(backend.is_available)
    offered = backend.offered
    unlisted = works and offered and backend.model not in offered and f"{backend.model}:latest" not in offered
    return ModelTried(
        works=works,
        model=backend.model,
        detail=f"{backend.model} is not among the models that it names." if unlisted else backend.detail,
        mend="",
        offered=tuple(printable(name, max_chars=200) for name in sorted(offered)[:OFFERED_MOST]),
        latency_s=time.monotonic() - began,
    )


async def _asked(backend: BaseModelHandler, so_far: ModelTried) -> ModelTried:
    began = time.monotonic()
    try:
        tokens = await one_word(backend, ASK_S)
    except (ModelError, TimeoutError) as error:
        why = str(error) or f"no reply within {ASK_S:g} s"
        return replace(so_far, works=False, detail=f"is there, but gives no reply: {why}")
    return replace(so_far, reply_s=time.monotonic() - began, tokens_out=tokens)


def _address(name: str, text: str) -> SecretStr:
    """An address of the web without a password in it.

    Raises:
        ConfigError: it is none.
    """
    try:
        return web_address(SecretStr(text))
    except ValueError as error:
        raise ConfigError([f"{name}: {error}"]) from None
