"""Markers in the definition of a setting: its heading, when a change takes effect, and who may change the setting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Self

from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, SettingsConfigDict


class Heading(StrEnum):
    """The groups of the settings page and of the reference, in order; `text` is the sentence below each heading."""

    MODELS = "Models", "The models that are asked, their keys, and how much they think."
    LIMITS = "Limits and budgets", "How long a task may work, and how much it may spend."
    WORKERS = "Workers and hours", "How many tasks run at once, and when no task is started."
    REVIEWS = "Reviews, git and forges", "What is read before a commit, what you are asked, and where commits go."
    CHECKS = "Sandbox and checks", "What untrusted code may use, and which checks a change must pass."
    UPKEEP = "Dashboard, notices and storage", "Who may reach the dashboard, how you are told, and what is kept."

    text: str

    def __new__(cls, name: str, text: str = "") -> Self:
        """Make a heading from its name and its sentence."""
        heading = str.__new__(cls, name)
        heading._value_, heading.text = name, text
        return heading


class SettingsGroup(BaseSettings):
    """Settings under one heading, in order. The owner sees the docstring below each setting.

    `on_page` names the settings that the settings page always shows. The page shows the others only if they are set or
    searched for, so that rarely changed settings do not hide the common ones.
    """

    model_config = SettingsConfigDict(use_attribute_docstrings=True)

    heading: ClassVar[Heading | None] = None
    on_page: ClassVar[frozenset[str]] = frozenset()


class Takes(StrEnum):
    """When a changed setting takes effect: LIVE, unless the field's `Annotated` says RESTART.

    A LIVE setting applies to work that starts after the reload; a running task keeps the limits that it started with.
    RESTART is for paths and listening addresses, for the sandbox (it is tested at the start), for the model that
    computes the embedding vectors, and for leases (running claims already hold them).
    """

    LIVE = "live"
    RESTART = "restart"


@dataclass(frozen=True, slots=True)
class ByHand:
    """Marker in a field's `Annotated`: the setting can only be changed in its file, never through the API.

    On the loopback interface the API requires no token, so any program that may open a socket on this machine can write
    to the API: another user's program, a browser's extension, or code that escaped from a sandbox. Such a program can
    submit tasks, but tasks run in the sandbox. So the API must not change any setting that leads out of the sandbox:
    programs that the daemon starts, files that it loads as code, the strength of the sandbox or of the checks on a
    change, and the access to the daemon. A program that can edit the owner's files can already change all of these.
    Keys follow a separate rule, see `app.settings_service`.
    """

    reason: str
    """The reason, worded as the end of a sentence."""


def takes(field: FieldInfo) -> Takes:
    """Return when a change of the setting takes effect."""
    return next((each for each in field.metadata if isinstance(each, Takes)), Takes.LIVE)


def by_hand(field: FieldInfo) -> str:
    """Return the reason why the setting may only be changed in its file; empty if the API may change it too."""
    return next((each.reason for each in field.metadata if isinstance(each, ByHand)), "")


def headings(model: type[BaseSettings]) -> Mapping[str, Heading]:
    """Return the heading of each setting that has one, in order."""
    return {name: group.heading for group in _groups(model) for name in group.model_fields if group.heading}


def list_on_page(model: type[BaseSettings]) -> frozenset[str]:
    """Return the names of the settings that the settings page always shows."""
    return frozenset().union(*(group.on_page for group in _groups(model)))


def _groups(model: type[BaseSettings]) -> list[type[SettingsGroup]]:
    return [base for base in model.__mro__ if issubclass(base, SettingsGroup) and vars(base).get("heading")]
