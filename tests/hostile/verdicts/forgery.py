"""What a forged pass is: a wrong answer to a task that gets a passing verdict, or carries out what it must not know."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from nightshift.core.tasks.held_out import HeldOut
from nightshift.core.tasks.task import Language


class Kind(StrEnum):
    """The classes of forgeries, by what is deceived."""

    EQUAL = "equal_objects"
    DECLINED = "declined_answers"
    LEAK = "leaks"
    CHANNEL = "covert_channels"
    NAMED = "named_outcomes"
    IN_PROCESS = "in_process"


class Did(StrEnum):
    """What the code did with a forgery before there was a defence against its class.

    `ACCEPTED` and `VERIFIED` are passing verdicts with the label `tests_passed` and `verified`. `LEAKS` is a refusal
    that tells a model, or whoever reads the verdict, what was held out.
    """

    ACCEPTED = "accepted"
    VERIFIED = "verified"
    LEAKS = "leaks"


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

    `files` is the change that a model sends, `did` what came of it without a defence. `carries` are texts that would
    tell a model what was held out, as the forgery words them. `may_pass` marks what no defence inside the process can
    stop: it may pass, and is then neither `verified` nor passed over by the checker.
    """

    name: str
    kind: Kind
    suite: Suite
    files: Mapping[str, str]
    did: Did = Did.ACCEPTED
    carries: tuple[str, ...] = ()
    may_pass: bool = False

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
