"""The marks at the definition of a setting: its heading, when a change of it holds, and who may make it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, SettingsConfigDict


class SettingsGroup(BaseSettings):
    """The settings under one heading, in order; the docstring below each is its text for their owner."""

    model_config = SettingsConfigDict(use_attribute_docstrings=True)

    heading: ClassVar[str] = ""


class Takes(StrEnum):
    """When a changed setting holds: LIVE, unless the field's `Annotated` says RESTART.

    Live ones hold for what begins after the reload: a task that runs goes on with the limits it began with. RESTART is
    for where things lie and what listens there, the sandbox, which is tested at the start, what vectors are made with,
    and leases, which running claims hold already.
    """

    LIVE = "live"
    RESTART = "restart"


@dataclass(frozen=True, slots=True)
class ByHand:
    """In a field's `Annotated`: it is changed in its file alone, never through the API.

    On the loopback the API asks programs for no token, so whatever may open a socket on this machine may write to it:
    other users, a browser's extension, code of a sandbox that leaks. What such a program could do before is to give
    tasks, which run in the sandbox. So nothing that it can set may lead out of there: no program that the daemon
    starts, no file that it loads as code, nothing that weakens the sandbox or what looks at a change, and not who is
    let in. Who may edit the owner's files has all of that already. Keys have a rule of their own, see
    `app.settings_service`.
    """

    reason: str
    """As the end of a sentence."""


def takes(field: FieldInfo) -> Takes:
    """When a change of the setting holds."""
    return next((each for each in field.metadata if isinstance(each, Takes)), Takes.LIVE)


def by_hand(field: FieldInfo) -> str:
    """Why only its file may change the setting; empty where others may."""
    return next((each.reason for each in field.metadata if isinstance(each, ByHand)), "")


def headings(model: type[BaseSettings]) -> Mapping[str, str]:
    """The heading of each setting that has one, in order."""
    groups = [base for base in model.__mro__ if issubclass(base, SettingsGroup) and vars(base).get("heading")]
    return {name: group.heading for group in groups for name in group.model_fields}
