"""Settings: the only place that reads the environment and `config.yaml`.

Defaults are overruled by `config.yaml`, that by the environment (and `.env`), that by flags. A key in the file and its
variable share a name: `worker_count: 3` and `WORKER_COUNT=3`. All faults are reported together, unknown keys in the
file are refused, and secrets never show in a repr.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, BeforeValidator, Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, InitSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict

from core.errors import ConfigError

ROOT = Path(__file__).resolve().parent
VERSION = "0.1.0"

Positive = Annotated[int, Field(gt=0)]
Seconds = Annotated[float, Field(gt=0)]
Cost = Annotated[float, Field(ge=0)]
# A package of the Python package index, with a version or without.
Distribution = Annotated[
    str, Field(pattern=r"^[A-Za-z0-9]([A-Za-z0-9._-]{0,80}[A-Za-z0-9])?(==[A-Za-z0-9.!+_-]{1,40})?$")
]


def _off(value: object) -> object:
    """`off` as it was typed: YAML takes the bare word for a truth value."""
    return "off" if value is False else value


class PriceIn(BaseModel, extra="forbid", frozen=True):
    """What a model costs, in USD for a million tokens."""

    input_per_million_usd: Cost
    output_per_million_usd: Cost


class Settings(BaseSettings):
    """Every setting, with its default. The groups follow the rooms that use them."""

    model_config = SettingsConfigDict(extra="ignore", frozen=True, env_file_encoding="utf-8", hide_input_in_errors=True)

    # Where everything lies: the checkout unless told otherwise.
    home: Path = ROOT

    # Models.
    model_type: str = "auto"
    model_name: str | None = None
    phase_models: dict[str, str] = Field(default_factory=dict)
    openai_api_key: SecretStr | None = None
    openai_base_url: str | None = None
    anthropic_api_key: SecretStr | None = None
    anthropic_base_url: str | None = None
    ollama_base_url: str = "http://localhost:11434"
    gpt4all_model_path: Path | None = None
    model_num_ctx: Annotated[int, Field(ge=2048)] = 32768
    model_max_tokens: Positive = 8192
    model_timeout_s: Seconds = 900
    model_max_wait_s: Seconds = 60
    model_prices: dict[str, PriceIn] = Field(default_factory=dict)
    model_probe_s: Seconds = 30
    repair_s: Seconds = 60
    repair_first_s: Annotated[float, Field(ge=0)] = 10
    edit_format: Literal["auto", "whole", "edit"] = "auto"

    # Budgets; None is unlimited.
    task_model_calls: Positive | None = None
    task_tokens: Positive | None = None
    task_cost_usd: Cost | None = None
    day_tokens: Positive | None = None
    day_cost_usd: Cost | None = None
    total_tokens: Positive | None = None
    total_cost_usd: Cost | None = None

    # Workers and the queue.
    worker_count: Annotated[int, Field(ge=1, le=64)] = 3
    max_retries: Annotated[int, Field(ge=1, le=20)] = 3
    retry_base_s: Seconds = 10
    task_timeout: Seconds = 300
    max_iterations: Annotated[int, Field(ge=1, le=100)] = 15
    warn_iterations: Annotated[int, Field(ge=1, le=100)] = 12
    drain_s: Annotated[float, Field(ge=0)] = 20
    lease_s: Annotated[float, Field(ge=5)] = 60

    # Sandbox.
    sandbox: Literal["auto", "bubblewrap", "docker", "process"] = "auto"
    docker_host: str = ""
    docker_image: str = ""
    sandbox_cpus: Annotated[float, Field(gt=0)] = 2
    sandbox_memory_mb: Annotated[int, Field(ge=64)] = 512
    sandbox_pids: Annotated[int, Field(ge=16)] = 128
    sandbox_work_mb: Annotated[int, Field(ge=1)] = 64
    suite_timeout_s: Seconds = 60
    allowed_deps: list[Distribution] = Field(default_factory=list)
    held_out_share: Annotated[float, Field(ge=0, le=0.5)] = 0.25
    oracle_inputs: Annotated[int, Field(ge=0, le=500)] = 20

    # The static checker: rules to severities, repositories to rules that do not hold there, commands that never run.
    checker_rules: dict[str, Annotated[Literal["block", "ask", "note", "off"], BeforeValidator(_off)]] = Field(
        default_factory=dict
    )
    checker_allow: dict[str, list[str]] = Field(default_factory=dict)
    blocked_commands: list[str] = Field(default_factory=list)

    # Git.
    git_auto_push: bool = True
    git_integrate: bool = False
    git_author_name: str | None = None
    git_author_email: str | None = None

    # Memory.
    embedder: Literal["auto", "hashed", "sentence-transformers"] = "auto"
    recall_limit: Annotated[int, Field(ge=0, le=10)] = 3

    # Dashboard and API.
    flask_host: str = "127.0.0.1"
    flask_port: Annotated[int, Field(ge=0, le=65535)] = 5000
    api_token: SecretStr | None = None

    # House-keeping.
    checkpoint_days: Annotated[float, Field(gt=0)] = 7
    state_interval_s: Seconds = 3600
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"

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
    def db_path(self) -> Path:
        """The database."""
        return self.home / "db" / "agent_logs.sqlite"

    @property
    def tasks_file(self) -> Path:
        """The watched inbox."""
        return self.home / "tasks.yaml"

    @property
    def log_file(self) -> Path:
        """The log as JSON lines."""
        return self.home / "logs" / "agent.log"

    @property
    def workspace(self) -> Path:
        """The daemon's own repository, for tasks without one."""
        return self.home / "workspace"

    @property
    def reports_dir(self) -> Path:
        """Where the weekly reports go."""
        return self.home / "reports"

    @property
    def state_file(self) -> Path:
        """The hourly crash-recovery state."""
        return self.home / "state.json"

    @property
    def state_dir(self) -> Path:
        """Staging, locks and sockets."""
        return self.home / "state"

    @property
    def lock_file(self) -> Path:
        """Held by the daemon of this home as long as it lives."""
        return self.state_dir / "lock"

    @property
    def packages_dir(self) -> Path:
        """Packages that tasks may use, as they are shown inside the sandbox."""
        return self.state_dir / "packages"

    @property
    def port_file(self) -> Path:
        """The port that the daemon got, for those on this machine who want to speak to it."""
        return self.state_dir / "port"

    @property
    def token_file(self) -> Path:
        """The token of the API where the daemon has to make one of its own; only the owner can read it."""
        return self.state_dir / "token"

    @property
    def seal_file(self) -> Path:
        """The key that seals the evidence of commits; only the owner can read it."""
        return self.state_dir / "seal"

    @property
    def runner_dir(self) -> Path:
        """The test libraries shown inside the sandbox; made at set-up, shared by all homes of a checkout."""
        return ROOT / ".runner"

    @property
    def process_environment(self) -> Mapping[str, str]:
        """The daemon's own environment, for those who pass parts of it on by an allow-list."""
        return dict(os.environ)

    @property
    def secrets(self) -> tuple[str, ...]:
        """The texts that must never be shown."""
        found = (self.openai_api_key, self.anthropic_api_key, self.api_token)
        return tuple(s.get_secret_value() for s in found if s)


def load_settings(flags: Mapping[str, Any] | None = None, home: Path | None = None) -> Settings:
    """Read all sources.

    Args:
        flags: settings by field name that overrule everything else; None values are left out.
        home: the folder of `config.yaml`, the database and the rest, instead of `NIGHTSHIFT_HOME` or the checkout.

    Raises:
        ConfigError: lists every fault with the name of its setting and the mend.
    """
    where = (home or _home()).expanduser().resolve()
    from_file, faults = _read_file(where / "config.yaml")

    class Sourced(Settings):
        model_config = SettingsConfigDict(env_file=where / ".env")

        @classmethod
        def settings_customise_sources(
            cls, settings_cls: type[BaseSettings], *_: PydanticBaseSettingsSource, **named: PydanticBaseSettingsSource
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            last = InitSettingsSource(settings_cls, from_file)
            return named["init_settings"], named["env_settings"], named["dotenv_settings"], last

    given = {name: value for name, value in (flags or {}).items() if value is not None}
    try:
        read = Sourced(**{**given, "home": where})
    except ValidationError as error:
        faults += [_fault(item) for item in error.errors(include_url=False)]
    if faults:
        raise ConfigError(faults)
    return read


def _home() -> Path:
    return Path(os.environ.get("NIGHTSHIFT_HOME") or ROOT)


def _read_file(path: Path) -> tuple[dict[str, Any], list[str]]:
    """The file's mapping of known settings, and what is wrong with the file."""
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except FileNotFoundError:
        return {}, []
    except (yaml.YAMLError, UnicodeDecodeError, OSError) as error:
        return {}, [f"{path.name}: cannot be read: {' '.join(str(error).split())}"]
    if not isinstance(data, dict):
        return {}, [f"{path.name}: must be a mapping of settings, one `name: value` a line"]
    known = Settings.model_fields.keys() - {"home"}
    unknown = [f"{path.name}: {name}: unknown setting{_did_you_mean(str(name))}" for name in data if name not in known]
    return {k: v for k, v in data.items() if k in known and v is not None}, unknown


def _did_you_mean(name: str) -> str:
    near = difflib.get_close_matches(name.lower(), Settings.model_fields, n=1)
    return f"; did you mean {near[0]}?" if near else ""


def _fault(item: Any) -> str:
    name = ".".join(str(part) for part in item["loc"])
    text = str(item["msg"]).removeprefix("Value error, ")
    return f"{name} ({name.upper()}): {text}" if name else text
