"""Result of running a repository's suite before any change, with the reason if the suite cannot judge changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from nightshift.core.tasks.change_checks import Ask, AskKind
from nightshift.core.tasks.task import Language


@dataclass(frozen=True, slots=True, kw_only=True)
class Preflight:
    """Result of running the base's suite once before a model is asked.

    Attributes:
        repo: The root of the checkout.
        commit: The commit that was run.
        at: The time of the run.
        language: The language of the tests.
        command: The arguments of the command, or the runner of the tests.
        environment: The files that declare the installed environment.
        collected: The number of tests; 0 for a command that does not list its tests.
        passed: The number of tests that passed.
        failed: The number of tests that failed, without those that cannot run here.
        idle: The reasons why tests cannot run here, each with the number of tests.
        note: How the run ended, if it did not end normally.
        fault: The reason why no change can be judged here, with a remedy; empty if changes can be judged.
        surroundings: A digest of language, command and environment; the suite runs again only if this digest changes.
    """

    repo: str
    commit: str
    at: datetime
    language: Language
    command: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    collected: int = 0
    passed: int = 0
    failed: int = 0
    idle: Mapping[str, int]
    note: str = ""
    fault: str = ""
    surroundings: str = ""

    @property
    def summary(self) -> str:
        """The result in one line."""
        idle = sum(self.idle.values())
        ran = f"{self.passed} of {self.collected} tests passed, {self.failed} failed, {idle} cannot run"
        unnamed = "the command ended with exit status 0" if self.command else "there are no tests"
        return ran if self.collected else self.note or unnamed

    @property
    def ask(self) -> Ask:
        """The question that asks the owner whether to work on tasks although no change can be judged.

        The question is asked once for each value of `surroundings`.
        """
        question = f"{self.fault[:1].upper()}{self.fault[1:]}. Work on its tasks anyway?"
        return Ask(
            kind=AskKind.ENVIRONMENT, subject=f"{AskKind.ENVIRONMENT}:suite:{self.surroundings}", question=question
        )


def state_key(repo: str, language: Language) -> str:
    """Return the key under which the last result for a repository is stored."""
    return f"preflight:{language}:{repo}"
