"""Requests and answers of the settings page, as models of the API."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StrictBool

from nightshift.config.catalogue import Kind
from nightshift.config.fields import Takes
from nightshift.config.origins import Origin
from nightshift.server.schemas import Answer

Typed = Annotated[str, Field(max_length=2000)]


class SettingRow(Answer):
    """One setting.

    `value` is what holds now, `next` what will after a restart where `waits`; of a secret only `is_set` is told, and
    `veiled` says that a part of a value is not shown. `above` is a bound that the value itself may not have. `by_hand`
    says why only the file changes it, `fixed` why it cannot be changed from here at present, `in_file`
    what `config.yaml` says where the page's value overrules that.
    """

    name: str
    group: str
    text: str
    kind: Kind
    unit: str
    least: float | None
    above: float | None
    most: float | None
    choices: list[str]
    optional: bool
    default: Any
    takes: Takes
    by_hand: str
    value: Any
    next: Any
    waits: bool
    is_set: bool
    veiled: bool
    origin: Origin
    fixed: str
    in_file: str


class SettingsShown(Answer):
    """All settings in the order of their headings; with `faults` in a file the old ones still hold.

    `file` is the owner's, `overrides` the one that the page writes and that overrules it.
    """

    settings: list[SettingRow]
    file: str
    overrides: str
    digest: str
    faults: list[str]


class ChangeIn(BaseModel):
    """New values by name; null puts a setting back to its default. With `dry_run` all is checked and nothing written.

    `reset` names settings that were set from here and of which `config.yaml` shall decide again. With `digest`, as
    `GET /api/settings` told it, the change is refused (409) where a file was changed meanwhile.
    """

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    changes: dict[str, Any] = Field(max_length=200, repr=False)
    reset: list[Typed] = Field(default_factory=list, max_length=200)
    digest: str = Field("", max_length=64)
    dry_run: StrictBool = False


class Waits(Answer):
    """A setting that was changed and needs a restart; `holds` is the value until then, masked where it is secret."""

    name: str
    holds: str


class SettingsChanged(Answer):
    """Settings in force now (`changed`) and after a restart (`later`); `diff` has the lines that went and came.

    A dry run tells in `faults`, by setting, why the change would be refused.
    """

    changed: list[str]
    later: list[Waits]
    diff: list[str]
    digest: str
    faults: dict[str, str] = Field(default_factory=dict)


class ModelTestIn(BaseModel):
    """A backend to be tried; what is left out is as the settings say. `ask` has it say one word, which may cost."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    backend: str = Field(min_length=1, max_length=40)
    model: Typed | None = None
    base_url: Typed | None = None
    key: Typed | None = Field(None, repr=False)
    ask: StrictBool = False


class ModelTested(Answer):
    """How it went: `detail` says what was found, `fix` what to do; `offered` are the models that the server names."""

    works: bool
    model: str
    detail: str
    fix: str
    offered: list[str]
    latency_s: float
    reply_s: float | None
    tokens_out: int | None


class NoticeTestIn(BaseModel):
    """Ways of telling that are to be tried; what is left out is as the settings say."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    notify_url: Typed | None = Field(None, repr=False)
    notify_secret: Typed | None = Field(None, repr=False)
    notify_desktop: StrictBool | None = None


class NoticeTold(Answer):
    """One way of telling; `fault` is empty where the notice arrived."""

    way: str
    fault: str


class NoticesTested(Answer):
    """All ways that were tried."""

    ways: list[NoticeTold]
