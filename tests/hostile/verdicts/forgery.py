"""Defines forged passes: wrong answers that get a passing verdict, or that leak held-out cases."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from nightshift.core.tasks.held_out import HeldOut
from nightshift.core.tasks.task import Language
from nightshift.core.tasks.verdicts import Label


class Kind(StrEnum):
    """The classes of forgeries, by the mechanism with which they deceive."""

    EQUAL = "equal_objects"
    DECLINED = "declined_answers"
    LEAK = "leaks"
    CHANNEL = "covert_channels"
    NAMED = "named_outcomes"
    IN_PROCESS = "in_process"


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """The tests of a task, and the honest answer to them.

    Attributes:
        name: The name of the suite.
        given: The tests that the owner supplies.
        honest: An answer that solves the task and must pass.
        words: The task's description.
        base: The files of the repository.
        held: The cases held out of the tests; empty if there are none.
        language: The language of the tests and of the answer.
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

    `files` is the change that a model sends. `carries` are texts, in the forgery's own format, that would reveal
    held-out cases to a model. `best` is the best label that the forgery may get.
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
        """The forgery's name with its class and language, used as the test id."""
        return f"{self.kind}-{self.language}-{self.name}"


def code(text: str) -> str:
    """Return a program's text without the indentation of the string literal that contains it."""
    return textwrap.dedent(text).strip("\n") + "\n"
