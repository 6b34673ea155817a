"""The settings for the daemon's pages: shown, changed, and tried before they are saved.

A change is checked as the file is, written to it, and then read again. The order is that of safety: everything is
checked before a byte is written, by the reader of the file and by every part that is made of the settings; the file is
replaced only while it is still the one that was checked; and only then is it read again, as after SIGHUP. What
`settings.by_hand` names is refused, and so is a new address for a key that is stored: whoever may write here, but
cannot read the key, could otherwise have it sent to himself.

A connection (a backend of models, a way to notify) can be tested before it is saved. A stored key goes only to the
address that it is stored with, and a stored secret signs only what goes to the stored URL, for the same reason. Where a
request goes is otherwise as free as in the settings themselves; redirects are never followed, and of the answer only
names of models and our own sentences are shown. One test at a time, so that nobody can flood a server through this.
"""

from __future__ import annotations

import asyncio
import difflib
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from concurrent.futures import Future
from dataclasses import replace
from typing import Any, TypeVar

import yaml
from pydantic import SecretStr

from bootstrap.doctor.backends import one_word
from bootstrap.models import backend_settings
from bootstrap.notices import channels, send_test
from bootstrap.reload import LiveSettings, on_loop, read_again
from bootstrap.repair import nothing_runs
from config import Settings, origins
from core.clock import Clock
from core.dialogue import BUILT_IN
from core.errors import ConfigError, ModelError
from core.masking import Masker, printable
from models import BACKENDS, backend_class
from models.base import BackendSettings, BaseModelHandler
from server.context import Busy
from server.settings_port import Change, Changed, ModelTrial, ModelTried, NoticeTrial, SettingsPort, Shown, Valued
from settings.catalogue import Described, Kind, describe, plain
from settings.config_file import Config, ConfigChanged, ConfigFile
from settings.config_text import edited
from settings.live import Reloaded
from settings.origins import Origin
from settings.values import web_address


def shown(described: Described, now: Settings, after: Settings, found: Mapping[str, Origin], mask: Masker) -> Valued:
    """Put together what is known of one setting.

    Args:
        described: what is true of it in any daemon.
        now: what holds.
        after: what the sources say, which is what holds after a restart.
        found: where settings come from.
        mask: takes secrets out of texts.
    """
    name = described.name
    held, later = getattr(now, name), getattr(after, name)
    value, following = (_safe(_short(name, plain(each)), mask) for each in (held, later))
    return Valued(
        described=described,
        value=value,
        next=following,
        waits=held != later,
        is_set=later is not None,
        veiled=described.kind is not Kind.SECRET and (value, following) != (plain(held), plain(later)),
        origin=found.get(name, Origin.DEFAULT),
        fixed=fixed(name, found.get(name)),
    )


def fixed(name: str, origin: Origin | None) -> str:
    """Why the file does not decide about a setting, as a sentence with the mend; empty where it does."""
    if origin is Origin.ENVIRONMENT:
        return f"the environment of the daemon sets {name.upper()}, which overrules config.yaml; unset it there"
    if origin is Origin.DOTENV:
        return f"the file .env sets {name.upper()}, which overrules config.yaml; change it there"
    return ""


def _short(name: str, value: Any) -> Any:
    """A command without its arguments, among which people keep passwords."""
    return [*value[:1], "…"] if name == "notify_command" and len(value) > 1 else value


def _safe(value: Any, mask: Masker) -> Any:
    """The value with its texts masked and made printable."""
    if isinstance(value, str):
        return printable(mask(value))
    if isinstance(value, list):
        return [_safe(each, mask) for each in value]
    if isinstance(value, Mapping):
        return {_safe(key, mask): _safe(each, mask) for key, each in value.items()}
    return value


ASK_S = 45.0
OFFERED_MOST = 200
ADDRESSES: Mapping[str, str] = {
    "openai": "openai_base_url", "anthropic": "anthropic_base_url", "ollama": "ollama_base_url",
}  # fmt: skip


class ConnectionTests:
    """What the page can try; all on the workers' loop.

    Args:
        settings: what holds now.
        mask: takes stored secrets out of what is shown.
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
            faults = await send_test(ways, "on the settings page", self._clock)
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


KEYS: Mapping[str, str] = {
    "openai_base_url": "openai_api_key", "anthropic_base_url": "anthropic_api_key", "notify_url": "notify_secret",
}  # fmt: skip
"""Addresses, each with the key that is sent there, or signs what is."""


class SettingsService:
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


_A = TypeVar("_A")
_T = TypeVar("_T")


def settings_port(
    live: LiveSettings,
    up: Callable[[], Awaitable[object]],
    reload: Callable[[], Coroutine[Any, Any, Reloaded]],
    mask: Masker,
    clock: Clock,
) -> SettingsPort:
    """The settings for threads of the server; changes and tests are made on the loop that runs now.

    Args:
        live: the settings that hold.
        up: done once the daemon serves.
        reload: reads the settings again.
        mask: takes secrets out of what is shown.
        clock: the time.
    """
    loop = asyncio.get_running_loop()
    service, tests = SettingsService(live, up, reload, mask), ConnectionTests(lambda: live.now, mask, clock)

    def threaded(work: Callable[[_A], Coroutine[Any, Any, _T]]) -> Callable[[_A], Future[_T]]:
        return lambda asked: asyncio.run_coroutine_threadsafe(work(asked), loop)

    return SettingsPort(
        show=service.show,
        change=threaded(service.change),
        try_model=threaded(tests.try_model),
        try_notices=threaded(tests.try_notices),
        reload=on_loop(reload, loop),
        notify_on=lambda: frozenset(live.now.notify_on),
    )
