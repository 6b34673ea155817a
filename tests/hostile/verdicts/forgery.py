"""Forged passes: a wrong answer to a task that gets a passing verdict, or carries out what it must not know."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from nightshift.core.tasks.held_out import HeldOut
from nightshift.core.tasks.task import Language
from nightshift.core.tasks.verdicts import Label


class Kind(StrEnum):
    """The classes of forgeries, by what is deceived."""

    EQUAL = "equal_objects"
    DECLINED = "declined_answers"
    LEAK = "leaks"
    CHANNEL = "covert_channels"
    NAMED = "named_outcomes"
    IN_PROCESS = "in_process"


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """A task's tests with the honest answer to them.

    `given` and `base` are the task's tests and the files of the repository, `words` is the task's description. `held`
    is what is held out of the tests, empty where nothing is. `honest` solves the task and must pass.
    """

    name: str
    given: Mapping[str, str]
    honest: Mapping[str, str]
    words: str
    base: Mapping[str, str] = field(default_factory=dict)
    held: HeldOut = field(default_factory=HeldOut)
    language: Language = Language.PYTHON


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgery:
    """A wrong answer to the tests of a suite.

    `files` is the change that a model sends. `carries` are texts that would tell a model what was held out, as the
    forgery words them. `best` is the best label that it may get.
    """

    name: str
    kind: Kind
    suite: Suite
    files: Mapping[str, str]
    carries: tuple[str, ...] = ()
    best: Label = Label.DOUBTFUL

    @property
    def language(self) -> Language:
        """The language of the suite."""
        return self.suite.language

    @property
    def id(self) -> str:
        """Its name with its class and its language, as tests are named by it."""
        return f"{self.kind}-{self.language}-{self.name}"


def code(text: str) -> str:
    """A program's text as it stands indented in a module of ours."""
    return textwrap.dedent(text).strip("\n") + "\n"
