"""How the suite of a repository runs before anything is changed, and why nothing can be judged there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from nightshift.core.tasks.change_checks import Ask, AskKind
from nightshift.core.tasks.task import Language


@dataclass(frozen=True, slots=True, kw_only=True)
class Preflight:
    """The base's suite, run once before a model is asked.

    Attributes:
        repo: the root of the checkout.
        commit: what was looked at.
        at: when it was.
        language: of the tests.
        command: its words, or the runner of the tests.
        environment: the files that declare what was installed for it.
        collected: how many tests there are; none for a command that names no tests.
        passed: how many passed.
        failed: how many failed, those that cannot run here left out.
        idle: why tests cannot run here, each with their number.
        note: how the run ended, where that was not well.
        fault: why nothing can be judged here, with what mends it; empty where something can.
        surroundings: a digest of language, command and environment; where it is the same, nobody looks again.
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
        return ran if self.collected else self.note or "the command ended with exit status 0"

    @property
    def ask(self) -> Ask:
        """The question whether tasks are worked on where nothing can be judged; one for each surroundings."""
        question = f"{self.fault[:1].upper()}{self.fault[1:]}. Shall its tasks be worked on all the same?"
        return Ask(
            kind=AskKind.ENVIRONMENT, subject=f"{AskKind.ENVIRONMENT}:suite:{self.surroundings}", question=question
        )


def state_key(repo: str, language: Language) -> str:
    """The key under which the last look at a repository is kept."""
    return f"preflight:{language}:{repo}"
