"""Markers in the definition of a setting: its heading, when a change takes effect, and who may change it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, SettingsConfigDict


class SettingsGroup(BaseSettings):
    """The settings under one heading, in order. The docstring below each setting is the text that the owner sees."""

    model_config = SettingsConfigDict(use_attribute_docstrings=True)

    heading: ClassVar[str] = ""


class Takes(StrEnum):
    """When a changed setting takes effect: LIVE, unless the field's `Annotated` says RESTART.

    A LIVE setting applies to work that starts after the reload; a running task keeps the limits that it started with.
    RESTART is for paths and listening addresses, for the sandbox, which is tested at the start, for the model that
    makes the vectors, and for leases, which running claims hold already.
    """

    LIVE = "live"
    RESTART = "restart"


@dataclass(frozen=True, slots=True)
class ByHand:
    """Marker in a field's `Annotated`: the setting is changed in its file alone, never through the API.

    On the loopback the API asks for no token, so any program that may open a socket on this machine can write to it:
    other users, a browser's extension, or code that escaped from a sandbox. Such a program could already submit tasks,
    and those run in the sandbox. So the API must not change any setting that leads out of the sandbox: programs that
    the daemon starts, files that it loads as code, the strength of the sandbox or of the checks on a change, and the
    access to the daemon. A program that can edit the owner's files has all of that already. Keys have a rule of their
    own, see `app.settings_service`.
    """

    reason: str
    """The reason, as the end of a sentence."""


def takes(field: FieldInfo) -> Takes:
    """Return when a change of the setting takes effect."""
    return next((each for each in field.metadata if isinstance(each, Takes)), Takes.LIVE)


def by_hand(field: FieldInfo) -> str:
    """Return the reason why only its file may change the setting; empty if the API may change it too."""
    return next((each.reason for each in field.metadata if isinstance(each, ByHand)), "")


def headings(model: type[BaseSettings]) -> Mapping[str, str]:
    """Return the heading of each setting that has one, in order."""
    groups = [base for base in model.__mro__ if issubclass(base, SettingsGroup) and vars(base).get("heading")]
    return {name: group.heading for group in groups for name in group.model_fields}
