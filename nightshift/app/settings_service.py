"""Lets the daemon's pages show and change the settings, and test settings before they are saved.

A change is written to the page's own file, `settings.overrides.yaml`; `config.yaml` belongs to the owner and is only
read. Before a byte is written, the reader of the files and every part that is made from the settings check the change.
The file is replaced only if neither file has changed since the check. Only then are the files read again, as after
SIGHUP. Settings that may only be changed by hand (`config.fields.ByHand`) are refused. A change that combines a stored
key with another address is refused too. Otherwise a visitor who may write settings but not read the key could have the
key sent to an address of their own.

A connection (a model backend or a notification channel) can be tested before it is saved. For the same reason, a stored
key is sent only to the address that it is stored with, and a stored secret signs only requests to the stored URL. Apart
from that, a request may go to any address that the settings may name. Redirects are never followed, and the page shows
only model names and our own sentences, never the rest of the response. One test runs at a time, so that nobody can
flood a server with requests.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from concurrent.futures import Future
from dataclasses import asdict, replace
from typing import Any, TypeVar

from pydantic import SecretStr

from nightshift.app.acp import nowhere
from nightshift.app.doctor.backends import one_word
from nightshift.app.models import backend_settings
from nightshift.app.notices import channels, send_test
from nightshift.app.reload import LiveSettings, on_loop
from nightshift.config.catalogue import Described, Kind, describe, to_json_value
from nightshift.config.fields import Heading
from nightshift.config.load import Settings, Sources, settings_at, sources
from nightshift.config.origins import Origin
from nightshift.config.overrides import ConfigChanged, OverridesFile, change_overrides, line, same, text_of
from nightshift.config.reloaded import Reloaded
from nightshift.config.values import web_address
from nightshift.core.built_in import BUILT_IN
from nightshift.core.clock import Clock
from nightshift.core.errors import ConfigError, ModelError
from nightshift.core.text.masking import MASK, Masker, printable
from nightshift.models import backend_class, backends
from nightshift.models.base import BackendSettings, BaseModelHandler
from nightshift.models.model_files import ModelFileBackend
from nightshift.server.context import Busy, SettingsPort
from nightshift.server.settings_answers import (
    ChangeIn,
    ModelTested,
    ModelTestIn,
    NoticeTestIn,
    SettingGroup,
    SettingRow,
    SettingsChanged,
    SettingsShown,
    Waits,
)

NOTHING = Sources(in_file={}, page={}, origins={})


def make_row(
    described: Described, now: Settings, after: Settings, setting_sources: Sources, mask: Masker
) -> SettingRow:
    """Make the row of one setting for the page.

    Args:
        described: the setting's description, which is the same in every daemon.
        now: the settings in force.
        after: the settings that the sources contain, which will be in force after a restart.
        setting_sources: the source of each setting.
        mask: masks secrets in texts.
    """
    name = described.name
    origin = setting_sources.origins.get(name, Origin.DEFAULT)
    overruled = setting_sources.in_file.get(name) if origin is Origin.PAGE else None
    held, later = getattr(now, name), getattr(after, name)
    value, following = (_safe(_short(name, to_json_value(each)), mask) for each in (held, later))
    return SettingRow(
        **asdict(described),
        value=value,
        next=following,
        waits=held != later,
        is_set=later is not None,
        veiled=described.kind is not Kind.SECRET and (value, following) != (to_json_value(held), to_json_value(later)),
        origin=origin,
        fixed=explain_fixed(name, origin),
        in_file="" if overruled is None else _format_value(described, overruled, mask),
    )


def explain_fixed(name: str, origin: Origin) -> str:
    """Return why the files cannot change a setting, and how to fix that; empty if they can."""
    if origin is Origin.ENVIRONMENT:
        return f"the environment of the daemon sets {name.upper()}, which overrules all files; unset it there"
    if origin is Origin.DOTENV:
        return f"the file .env sets {name.upper()}, which overrules this page; change it there"
    return ""


def _format_value(described: Described, value: Any, mask: Masker) -> str:
    """Format a setting's value from a file as text, whether the value is valid or not."""
    if described.kind is Kind.SECRET:
        return MASK
    return printable(mask(line(described.name, value).removeprefix(f"{described.name}: ")))


def _short(name: str, value: Any) -> Any:
    """Return a command without its arguments, which may contain passwords; any other value is returned unchanged."""
    return [*value[:1], "…"] if name == "notify_command" and len(value) > 1 else value


def _safe(value: Any, mask: Masker) -> Any:
    """Return the value with secrets masked and all texts made printable."""
    if isinstance(value, str):
        return printable(mask(value))
    if isinstance(value, list):
        return [_safe(each, mask) for each in value]
    if isinstance(value, Mapping):
        return {_safe(key, mask): _safe(each, mask) for key, each in value.items()}
    return value


ASK_S = 45.0
OFFERED_MOST = 200
ADDRESSES: Mapping[str, str] = {name: f"{name}_base_url" for name in ("openai", "anthropic", "gemini", "ollama")}


class ConnectionTests:
    """Tests connections for the settings page. Call all methods on the workers' event loop.

    Args:
        settings: returns the current settings.
        mask: masks stored secrets in shown texts.
        clock: gives the times of notices.
    """

    def __init__(self, settings: Callable[[], Settings], mask: Masker, clock: Clock) -> None:
        self._settings, self._mask, self._clock = settings, mask, clock
        self._one_at_a_time = asyncio.Lock()

    async def try_model(self, trial: ModelTestIn) -> ModelTested:
        """Check whether a backend answers; if `trial.ask` is set, also have the model reply with one word.

        Raises:
            ConfigError: the input cannot be used; the message names the field.
            Busy: another test is running.
        """
        backend, note = self._backend(trial)
        typed = Masker([trial.key] if trial.key else [])
        async with self._alone():
            tried = await _look_at(backend)
            if tried.works and trial.ask and not isinstance(backend, ModelFileBackend):
                # Ask only a backend that does not load a model file. Otherwise a second copy of the file would be
                # loaded in addition to the copy in use.
                tried = await _ask(backend, tried)
        words = " ".join(filter(None, (tried.detail, note)))
        detail, fix = printable(self._mask(typed(words))), "" if tried.works else backend.setup
        return tried.model_copy(update={"detail": detail, "fix": fix})

    async def try_notices(self, trial: NoticeTestIn) -> Mapping[str, str]:
        """Send a test notice through each channel of the tested settings.

        Returns the error of each channel, empty if the notice arrived.

        Raises:
            ConfigError: no channel is set, or the URL is invalid.
            Busy: another test is running.
        """
        now = self._settings()
        stored = now.notify_url.get_secret_value() if now.notify_url else None
        values: dict[str, Any] = {"notify_desktop": trial.notify_desktop}
        if trial.notify_url is not None and trial.notify_url != stored:
            values |= {"notify_url": _address("notify_url", trial.notify_url), "notify_secret": None}
        if trial.notify_secret:
            values["notify_secret"] = SecretStr(trial.notify_secret)
        changes = {name: value for name, value in values.items() if name == "notify_secret" or value is not None}
        ways = channels(now.model_copy(update=changes))
        if not ways.names:
            raise ConfigError(["notify_url: there is nothing to test: no URL, no command, no desktop"])
        async with self._alone():
            faults = await send_test(ways, "on the settings page", self._clock)
        return {name: self._mask(fault) for name, fault in faults.items()}

    def _alone(self) -> asyncio.Lock:
        if self._one_at_a_time.locked():
            raise Busy("another test is running; try again in a moment")
        return self._one_at_a_time

    def _backend(self, trial: ModelTestIn) -> tuple[BaseModelHandler, str]:
        """Return the backend, before any request to it, and a remark for the owner."""
        if trial.backend not in backends():
            raise ConfigError([f"backend: there is no {trial.backend!r}; known are {', '.join(backends())}"])
        if trial.backend == BUILT_IN:
            raise ConfigError(["backend: the built-in engine needs no connection; the status shows its sandbox"])
        if trial.backend == "acp":
            raise ConfigError(["backend: an agent is started only for a task; the status shows whether that works"])
        settings, note = self._read_typed(trial)
        backend = backend_class(trial.backend).from_settings(settings, trial.model or None)
        if backend is None:
            raise ConfigError([f"backend: {trial.backend} is not configured: {backend_class(trial.backend).setup}"])
        return backend, note

    def _read_typed(self, trial: ModelTestIn) -> tuple[BackendSettings, str]:
        stored = backend_settings(self._settings(), nowhere)
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


async def _look_at(backend: BaseModelHandler) -> ModelTested:
    began = time.monotonic()
    works = await asyncio.to_thread(backend.is_available)
    offered = backend.offered
    unlisted = works and offered and backend.model not in offered and f"{backend.model}:latest" not in offered
    return ModelTested(
        works=works,
        model=backend.model,
        detail=f"{backend.model} is not among the models that it names." if unlisted else backend.detail,
        fix="",
        offered=[printable(name, max_chars=200) for name in sorted(offered)[:OFFERED_MOST]],
        latency_s=time.monotonic() - began,
        reply_s=None,
        tokens_out=None,
    )


async def _ask(backend: BaseModelHandler, so_far: ModelTested) -> ModelTested:
    began = time.monotonic()
    try:
        tokens = await one_word(backend, ASK_S)
    except (ModelError, TimeoutError) as error:
        why = str(error) or f"no reply within {ASK_S:g} s"
        return so_far.model_copy(update={"works": False, "detail": f"answers, but gave no reply: {why}"})
    return so_far.model_copy(update={"reply_s": time.monotonic() - began, "tokens_out": tokens})


def _address(name: str, text: str) -> SecretStr:
    """Return a web address after checking that it contains no password.

    Raises:
        ConfigError: the text is not a web address, or it contains a password.
    """
    try:
        return web_address(SecretStr(text))
    except ValueError as error:
        raise ConfigError([f"{name}: {error}"]) from None


KEYS: Mapping[str, str] = {
    "openai_base_url": "openai_api_key", "anthropic_base_url": "anthropic_api_key",
    "gemini_base_url": "gemini_api_key", "notify_url": "notify_secret",
}  # fmt: skip
"""Maps each setting that is an address to the setting of the key that is sent there or that signs the requests."""


class SettingsService:
    """The settings of one daemon, for its pages.

    Args:
        live: the settings in force.
        up: waits until the daemon serves.
        reload: reads the settings again, on the workers' event loop.
        mask: masks secrets in shown texts.
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
        self._file = OverridesFile(live.now.overrides_file, live.now.config_file)
        self._one_at_a_time = asyncio.Lock()

    def show(self) -> SettingsShown:
        """Show all settings with their values and sources. May be called on any thread.

        Raises:
            ConfigError: a file cannot be read.
        """
        digest, now, faults = self._file.digest(), self._live.now, tuple[str, ...]()
        try:
            after, setting_sources = settings_at(now), sources(now)
        except ConfigError as error:
            after, setting_sources, faults = now, NOTHING, tuple(map(self._mask, error.faults))
        settings = [make_row(each, now, after, setting_sources, self._mask) for each in self._described.values()]
        return SettingsShown(
            groups=[SettingGroup(name=each, text=each.text) for each in Heading],
            settings=settings,
            file=str(now.config_file),
            overrides=str(now.overrides_file),
            digest=digest,
            faults=list(faults),
        )

    async def change(self, asked: ChangeIn) -> SettingsChanged:
        """Write new values to the page's file and read the settings again. Call this on the workers' event loop.

        Raises:
            ConfigChanged: the files have changed since they were shown.
            ConfigError: the change has faults; the message lists all of them, and nothing was written.
        """
        await self._up()
        async with self._one_at_a_time:
            digest = await asyncio.to_thread(self._file.digest)
            if asked.digest and asked.digest != digest:
                raise ConfigChanged()
            before, after, new = await asyncio.to_thread(self._judge, asked)
            outlook = self._live.check(new)
            diff = self._diff(before, after)
            if asked.dry_run:
                return _answer_change(outlook, digest, diff)
            if diff:
                await asyncio.to_thread(self._file.replace, digest, text_of(after))
            done = await self._reload()
            return _answer_change(done, await asyncio.to_thread(self._file.digest), diff)

    def _judge(self, asked: ChangeIn) -> tuple[Mapping[str, Any], Mapping[str, Any], Settings]:
        """Return the page's overrides, the overrides after the change, and the resulting settings."""
        setting_sources = sources(self._live.now)
        names = dict.fromkeys([*asked.changes, *asked.reset])
        if faults := [fault for name in names if (fault := self._refusal(name, setting_sources.origins))]:
            raise ConfigError(faults)
        after = change_overrides(setting_sources.page, setting_sources.in_file, asked.changes, asked.reset)
        new = settings_at(self._live.now, overrides=text_of(after))
        if faults := self._keys_led_astray(new, after, asked.changes):
            raise ConfigError(faults)
        return setting_sources.page, after, new

    def _refusal(self, name: str, origins: Mapping[str, Origin]) -> str:
        """Return why this setting cannot be changed from the page; empty if it can."""
        if name not in self._described:
            return f"{name}: is not a setting"
        if why := self._described[name].by_hand:
            return f"{name}: can only be changed in config.yaml, because {why}"
        why = explain_fixed(name, origins.get(name, Origin.DEFAULT))
        return f"{name}: {why}" if why else ""

    def _keys_led_astray(self, new: Settings, after: Mapping[str, Any], values: Mapping[str, Any]) -> list[str]:
        """Return a fault for each address that would get a stored key although the key was given for another address.

        There is no fault if the change contains the key as well. There is also none if the page sets neither the
        address nor the key, because then the owner combined the two.
        """
        try:
            now = settings_at(self._live.now)
        except ConfigError:  # the stored files have faults, which this change repairs
            now = self._live.now
        return [
            f"{url}: what is stored as {key} was given for another address; enter it with this change, or remove it"
            for url, key in KEYS.items()
            if getattr(new, key) and key not in values and {url, key} & after.keys()
            if (getattr(new, url), getattr(new, key)) != (getattr(now, url), getattr(now, key))
        ]

    def _diff(self, before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
        """Return the lines that a change removes from the page's file, and the lines that it adds."""
        lines = list[str]()
        for name in dict.fromkeys([*before, *after]):
            if name in before and name in after and same(before[name], after[name]):
                continue
            secret = self._described[name].kind is Kind.SECRET
            if name in before:
                lines.append(f"-{name}: {MASK}" if secret else f"-{self._mask(line(name, before[name]))}")
            if name in after:
                veiled = secret and after[name] is not None
                lines.append(f"+{name}: {MASK} (new)" if veiled else f"+{self._mask(line(name, after[name]))}")
        return lines


def _answer_change(came: Reloaded, digest: str, diff: list[str]) -> SettingsChanged:
    later = [Waits.model_validate(each) for each in came.later]
    return SettingsChanged(changed=list(came.changed), later=later, diff=diff, digest=digest)


_A = TypeVar("_A")
_T = TypeVar("_T")


def settings_port(
    live: LiveSettings,
    up: Callable[[], Awaitable[object]],
    reload: Callable[[], Coroutine[Any, Any, Reloaded]],
    mask: Masker,
    clock: Clock,
) -> SettingsPort:
    """Return the settings service for the server's threads; changes and tests run on the current event loop.

    Args:
        live: the settings in force.
        up: waits until the daemon serves.
        reload: reads the settings again.
        mask: masks secrets in shown texts.
        clock: gives the current time.
    """
    loop = asyncio.get_running_loop()
    service, tests = SettingsService(live, up, reload, mask), ConnectionTests(lambda: live.now, mask, clock)

    def on_own_loop(work: Callable[[_A], Coroutine[Any, Any, _T]]) -> Callable[[_A], Future[_T]]:
        return lambda asked: asyncio.run_coroutine_threadsafe(work(asked), loop)

    return SettingsPort(
        show=service.show,
        change=on_own_loop(service.change),
        try_model=on_own_loop(tests.try_model),
        try_notices=on_own_loop(tests.try_notices),
        reload=on_loop(reload, loop),
    )
