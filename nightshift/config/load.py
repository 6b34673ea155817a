"""Reads all settings. Only this package reads the environment and `config.yaml`.

`config.yaml` overrides the defaults, the overrides of the settings page (`settings.overrides.yaml`) come next, then the
environment (and `.env`), and then command-line flags. A key in a file and its variable share a name: `worker_count: 3`
and `WORKER_COUNT=3`. All faults are reported together, unknown keys in a file are rejected, and secrets never appear in
a repr. The files are in `NIGHTSHIFT_HOME`. If that is unset, they are in the user's XDG folders if
`NIGHTSHIFT_LAYOUT=xdg` or there is no writable checkout, and otherwise in the checkout.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import yaml
from pydantic import ValidationError, field_validator, model_validator
from pydantic_settings import (
    BaseSettings,
    DotEnvSettingsSource,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from nightshift.config.access import Access, digest_of, remember
from nightshift.config.fields import by_hand
from nightshift.config.forges import ForgeSettings
from nightshift.config.hub import HubSettings
from nightshift.config.mcp import McpSettings
from nightshift.config.models import PromptSettings
from nightshift.config.origins import Origin
from nightshift.config.overrides import same
from nightshift.config.places import ROOT, Layout, Places, find_places
from nightshift.config.service import VARIABLES, ServiceManager, service_manager_in
from nightshift.config.upkeep import CheckpointSettings, DashboardSettings, NotificationSettings, StorageSettings
from nightshift.config.work import GitSettings, LearningSettings, ReviewSettings, SandboxSettings, WorkerSettings
from nightshift.core.errors import ConfigError

_ALSO = {"github": "GH_TOKEN", "gitea": "FORGEJO_TOKEN"}
"""Variables of other programs, read as a fallback if the token for this kind of forge is unset."""
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH", re.IGNORECASE)
_LONG_VALUE = 16
"""Length from which a value counts as a secret even if its name does not suggest a secret.

Shorter values are flags and names, and masking them would mask ordinary text.
"""


class Settings(
    PromptSettings,
    WorkerSettings,
    ReviewSettings,
    GitSettings,
    SandboxSettings,
    CheckpointSettings,
    NotificationSettings,
    ForgeSettings,
    McpSettings,
    HubSettings,
    LearningSettings,
    DashboardSettings,
    StorageSettings,
    Layout,
):
    """Every setting, with its default. The groups are the headings that the owner sees, in order."""

    model_config = SettingsConfigDict(extra="ignore", frozen=True, env_file_encoding="utf-8", hide_input_in_errors=True)

    @field_validator("*", mode="before")
    @classmethod
    def _empty_is_unset(cls, value: Any, info: Any) -> Any:
        field = cls.model_fields[info.field_name]
        return field.get_default(call_default_factory=True) if value == "" else value

    @model_validator(mode="after")
    def _safe_to_listen(self) -> Settings:
        if self.flask_host not in {"127.0.0.1", "localhost", "::1"} and self.api_token is None:
            raise ValueError(f"flask_host: {self.flask_host} can be reached from other machines; set API_TOKEN as well")
        return self

    @property
    def process_environment(self) -> Mapping[str, str]:
        """The daemon's own environment, for callers that pass on only an allow-list of variables."""
        return {name: value for name, value in os.environ.items() if name not in VARIABLES}

    @property
    def acp_environment(self) -> Mapping[str, str]:
        """Variables that the owner lets the agent see."""
        own = (self.openai_api_key, self.anthropic_api_key, self.gemini_api_key)
        keys = dict(zip(("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"), own, strict=True))
        variables = {name: key.get_secret_value() for name, key in keys.items() if key} | dict(os.environ)
        return {name: variables[name] for name in self.acp_variables if variables.get(name)}

    def forge_token(self, kind: str, host: str) -> str:
        """Return the token for a forge of this kind at this host; empty if there is none."""
        if (own := self.forge_tokens.get(host)) is not None:
            return own.get_secret_value()
        kind = "gitea" if kind == "forgejo" else kind
        named = {"github": self.github_token, "gitlab": self.gitlab_token, "gitea": self.gitea_token}.get(kind)
        return named.get_secret_value() if named else os.environ.get(_ALSO.get(kind, ""), "")

    @property
    def access(self) -> Access:
        """The address and the token with which the daemon is reached."""
        return Access(
            places=Places(home=self.home, folders=self.folders),
            flask_host=self.flask_host,
            flask_port=self.flask_port,
            api_token=self.api_token.get_secret_value() if self.api_token else None,
        )

    @property
    def _agents_keys(self) -> tuple[str, ...]:
        """Values in the agent's environment that may be keys."""
        variables = self.acp_environment.items()
        return tuple(value for name, value in variables if _SECRET_NAME.search(name) or len(value) >= _LONG_VALUE)

    @property
    def _placeholder(self) -> str:
        """A short word without digits that stands in for a key, if the owner's own server needs none.

        It is not masked, because that would mask ordinary text.
        """
        key = self.openai_api_key.get_secret_value() if self.openai_api_key and self.openai_base_url else ""
        return "" if len(key) >= _LONG_VALUE or any(map(str.isdigit, key)) else key

    @property
    def secrets(self) -> tuple[str, ...]:
        """Texts that must never be shown."""
        secret_fields = (
            *(self.openai_api_key, self.anthropic_api_key, self.gemini_api_key, self.api_token),
            *(self.notify_secret, self.notify_url),
            *(self.github_token, self.gitlab_token, self.gitea_token, *self.forge_tokens.values()),
            self.forge_webhook_secret,
            *self.mcp_tokens.values(),
            self.hub_database_url,
        )
        hub = urlsplit(self.hub_database_url.get_secret_value()).password if self.hub_database_url else None
        also = (
            *(os.environ.get(name, "") for name in _ALSO.values()),
            *self._agents_keys,
            hub and unquote(hub),
            os.environ.get("TEMPORAL_API_KEY", ""),
        )
        return tuple(
            t for t in (*(s.get_secret_value() for s in secret_fields if s), *also) if t and t != self._placeholder
        )


NAMES = frozenset(Settings.model_fields.keys() - Layout.__annotations__.keys())
"""Names of the settings that files and variables may set: all settings except the home and the folders."""


def load_settings(flags: Mapping[str, Any] | None = None, home: Path | None = None) -> Settings:
    """Read the settings from all sources.

    Args:
        flags: Settings by field name that override everything else; None values are ignored.
        home: The folder of `config.yaml`, the database and the other files; None means the folder that the environment
            gives.

    Raises:
        ConfigError: Lists every fault with the name of its setting and the way to fix it.
    """
    return settings_at(find_places(home), flags)


def settings_at(places: Layout, flags: Mapping[str, Any] | None = None, *, overrides: str | None = None) -> Settings:
    """Read the settings from all sources at these paths, like `load_settings`.

    Args:
        places: The paths of the files; an earlier `Settings` object also works.
        flags: As for `load_settings`.
        overrides: The text to use instead of the content of `settings.overrides.yaml`.
    """
    in_file, page, faults = _read_files(places, overrides)
    sourced = _add_sources(places, {name: value for name, value in {**in_file, **page}.items() if value is not None})
    given = {name: value for name, value in (flags or {}).items() if value is not None}
    try:
        read = sourced(**{**given, "home": places.home, "folders": places.folders})
    except ValidationError as error:
        faults += [_fault(item) for item in error.errors(include_url=False)]
    except SettingsError as error:  # A malformed list or mapping in a variable
        faults.append(f"{error}: write it as JSON")
    if faults:
        raise ConfigError(faults)
    return read


def _add_sources(places: Layout, from_files: Mapping[str, Any]) -> type[Settings]:
    """Return a settings class that reads these sources in order.

    Each reading needs a new class, because the class contains the content of the files.
    """

    class Sourced(Settings):
        model_config = SettingsConfigDict(env_file=places.dotenv_file)

        @classmethod
        def settings_customise_sources(
            cls, settings_cls: type[BaseSettings], *_: PydanticBaseSettingsSource, **named: PydanticBaseSettingsSource
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            last = InitSettingsSource(settings_cls, dict(from_files))
            return named["init_settings"], named["env_settings"], named["dotenv_settings"], last

    return Sourced


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """The values from each source, by the names of settings.

    `in_file` contains the values in `config.yaml`. `page` contains the values of the settings page, where None stands
    for the default. `origins` gives the source of each setting that is set anywhere.
    """

    in_file: Mapping[str, Any]
    page: Mapping[str, Any]
    origins: Mapping[str, Origin]

    @property
    def overruled(self) -> tuple[str, ...]:
        """Names of the settings that the settings page sets to another value than `config.yaml` does."""
        pages = [name for name in self.page if self.origins[name] is Origin.PAGE]
        return tuple(name for name in pages if name in self.in_file and not same(self.in_file[name], self.page[name]))


def sources(places: Layout) -> Sources:
    """Find the source of each setting.

    Args:
        places: The paths of the files.

    Raises:
        ConfigError: One of the files has faults.
    """
    in_file, page, faults = _read_files(places, None)
    if faults:
        raise ConfigError(faults)
    dotenv = DotEnvSettingsSource(Settings, env_file=places.dotenv_file, env_file_encoding="utf-8").env_vars
    origin_names = [
        (Origin.FILE, in_file),
        (Origin.PAGE, page),
        (Origin.DOTENV, dotenv),
        (Origin.ENVIRONMENT, map(str.lower, os.environ)),
    ]
    origins = {name: origin for origin, names in origin_names for name in names if name in Settings.model_fields}
    return Sources(in_file=in_file, page=page, origins=origins)


def load_access(places: Places) -> Access:
    """Read the settings from all sources, and cache how to reach the daemon of these paths.

    Raises:
        ConfigError: As for `load_settings`.
    """
    try:
        before = digest_of(places, NAMES)
    except OSError:
        before = ""
    access = settings_at(places).access
    remember(access, NAMES, before, sources(places).origins["api_token"] if access.api_token else Origin.DEFAULT)
    return access


def settings_or_defaults(home: Path | None = None) -> tuple[Settings, tuple[str, ...]]:
    """Return the settings and their faults.

    If there are any faults, the settings are the defaults for the same home.
    """
    try:
        return load_settings(home=home), ()
    except ConfigError as error:
        faults = error.faults
    try:
        places = find_places(home)
    except ConfigError:
        places = Places(home=ROOT, folders=None)
    return Settings.model_construct(home=places.home, folders=places.folders), faults


def set_variables(given: Mapping[str, object]) -> None:
    """Set environment variables from command-line flags; a value of None leaves the variable unchanged."""
    os.environ.update({name: str(value) for name, value in given.items() if value is not None})


def service_manager() -> ServiceManager:
    """Read from the environment how to notify the service manager that started this process."""
    return service_manager_in(os.environ, os.getpid())


def _read_files(places: Layout, overrides: str | None) -> tuple[dict[str, Any], dict[str, Any], list[str]]:
    """Return the content of `config.yaml`, the overrides of the settings page, and the faults of both files."""
    in_file, faults = _read_file(places.config_file, None)
    page, more = _read_file(places.overrides_file, overrides)
    reasons = {name: by_hand(Settings.model_fields[name]) for name in page}
    more += [
        f"{places.overrides_file.name}: {name}: can only be changed in config.yaml, because {why}"
        for name, why in reasons.items()
        if why
    ]
    return {name: value for name, value in in_file.items() if value is not None}, page, faults + more


def _read_file(path: Path, text: str | None) -> tuple[dict[str, Any], list[str]]:
    """Return the file's known settings, and the faults of the file."""
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8") if text is None else text) or {}
    except FileNotFoundError:
        return {}, []
    except yaml.MarkedYAMLError as error:  # The error's own text shows the line, which may contain a secret
        mark, what = error.problem_mark, " ".join(filter(None, (error.context, error.problem)))
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        return {}, [f"{path.name}: cannot be read: {where}{what}"]
    except (yaml.YAMLError, UnicodeDecodeError, OSError) as error:
        return {}, [f"{path.name}: cannot be read: {' '.join(str(error).split())}"]
    if not isinstance(data, dict):
        return {}, [f"{path.name}: must be a mapping of settings, one `name: value` a line"]
    unknown = [f"{path.name}: {name}: unknown setting{_did_you_mean(str(name))}" for name in data if name not in NAMES]
    return {name: value for name, value in data.items() if name in NAMES}, unknown


def _did_you_mean(name: str) -> str:
    near = difflib.get_close_matches(name.lower(), Settings.model_fields, n=1)
    return f"; did you mean {near[0]}?" if near else ""


def _fault(item: Any) -> str:
    name = ".".join(str(part) for part in item["loc"])
    text = str(item["msg"]).removeprefix("Value error, ")
    return f"{name} ({name.upper()}): {text}" if name else text
