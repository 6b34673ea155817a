"""Defines the API's models of the requests and answers of the settings page."""

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

    `value` is the current value. `next` is the value after a restart if `waits` is true. For a secret, only `is_set` is
    given. `veiled` is true if a part of the value is hidden. `above` is an exclusive lower bound. `by_hand` says why
    the setting can only be changed in the file. `fixed` says why the setting cannot be changed on the page at present.
    `on_page` is true if the page always shows the setting. If a value that was set on the page overrides `config.yaml`,
    `in_file` is the value in `config.yaml`.
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
    on_page: bool
    value: Any
    next: Any
    waits: bool
    is_set: bool
    veiled: bool
    origin: Origin
    fixed: str
    in_file: str


class SettingGroup(Answer):
    """A group of settings, with the sentence below its heading."""

    name: str
    text: str


class SettingsShown(Answer):
    """All settings, in the order of their groups.

    If a file has `faults`, the old settings are still in effect. `file` is the owner's file. `overrides` is the file
    that the page writes; its values override those in `file`.
    """

    groups: list[SettingGroup]
    settings: list[SettingRow]
    file: str
    overrides: str
    digest: str
    faults: list[str]


class ChangeIn(BaseModel):
    """New values by name. The value null resets a setting to its default.

    `reset` names settings whose override is removed, so that `config.yaml` applies again. `digest` is the one that `GET
    /api/settings` returned; if it is given and a file has changed since then, the change is refused (409). With
    `dry_run`, everything is checked and nothing is written.
    """

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    changes: dict[str, Any] = Field(max_length=200, repr=False)
    reset: list[Typed] = Field(default_factory=list, max_length=200)
    digest: str = Field("", max_length=64)
    dry_run: StrictBool = False


class Waits(Answer):
    """A changed setting that needs a restart. `holds` is the value that applies until then, masked if it is secret."""

    name: str
    holds: str


class SettingsChanged(Answer):
    """Result of a change of settings.

    `changed` are the settings in effect now, and `later` those that take effect after a restart. `diff` holds the
    removed and added lines of the file. In a dry run, `faults` says for each setting why the change would be refused.
    """

    changed: list[str]
    later: list[Waits]
    diff: list[str]
    digest: str
    faults: dict[str, str] = Field(default_factory=dict)


class ModelTestIn(BaseModel):
    """A model backend to test. Fields that are left out come from the settings.

    With `ask`, the model is asked for a reply of one word, which may cost money.
    """

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    backend: str = Field(min_length=1, max_length=40)
    model: Typed | None = None
    base_url: Typed | None = None
    key: Typed | None = Field(None, repr=False)
    ask: StrictBool = False


class ModelTested(Answer):
    """Result of the test of a model backend.

    `detail` says what was found. `fix` says how to repair it. `offered` lists the models that the backend's server
    offers.
    """

    works: bool
    model: str
    detail: str
    fix: str
    offered: list[str]
    latency_s: float
    reply_s: float | None
    tokens_out: int | None


class NoticeTestIn(BaseModel):
    """Notification channels to test. Fields that are left out come from the settings."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    notify_url: Typed | None = Field(None, repr=False)
    notify_secret: Typed | None = Field(None, repr=False)
    notify_desktop: StrictBool | None = None


class NoticeTold(Answer):
    """Result of the test of one notification channel. `fault` is empty if the notice was sent."""

    way: str
    fault: str


class NoticesTested(Answer):
    """Results of the test of all notification channels."""

    ways: list[NoticeTold]
