"""The values of a benchmark: its arms, its items, and the result of an item under an arm."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """One way to solve items: a model with the settings that it works under.

    Attributes:
        name: unique within a run.
        backend: as in `backend=model`.
        model: as in `backend=model`; empty for the built-in engine.
        protocol: the form in which the model sends its changes.
        tools: whether it may look around and edit in steps.
        readers: whether a reviewer and an auditor read its changes.
        memory: whether it sees lessons of earlier items.
    """

    name: str
    backend: str
    model: str
    protocol: str
    tools: bool
    readers: bool
    memory: bool

    @property
    def label(self) -> str:
        """Its model as `backend=model`; the backend alone for the built-in engine."""
        return f"{self.backend}={self.model}" if self.model else self.backend


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A task that was mined from a commit and validated.

    Attributes:
        key: unique: the repository and the commit's SHA.
        repo: the path of the repository.
        commit: the SHA of the commit that solved it.
        parent: the SHA of the commit that an attempt begins with.
        subject: the first line of the commit's message.
        statement: what the model is asked to do.
        lines: how many lines of source the commit changed, added and removed together.
        files: how many source files it changed.
        committed_at: aware, UTC.
        fail_to_pass: the tests that fail before the commit and pass after it.
        pass_to_pass_count: how many tests pass before and after it.
    """

    key: str
    repo: str
    commit: str
    parent: str
    subject: str
    statement: str
    lines: int
    files: int
    committed_at: datetime
    fail_to_pass: tuple[str, ...]
    pass_to_pass_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenOff:
    """An attempt that did not come to its end, which says nothing of the arm: it goes on when the run does.

    Attributes:
        reason: why, in words.
    """

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The result of an item under an arm.

    Attributes:
        item: its key.
        arm: its name.
        solved: whether the verdict passed.
        outcome: why the attempt ended, as a task's `Ending`.
        cost_usd: what is known of its cost.
        tokens_in: tokens of prompts.
        tokens_out: tokens of replies.
        seconds: how long it worked.
        iterations: rounds of coding and testing.
        format_errors: replies that could not be read.
        finished_at: aware, UTC.
    """

    item: str
    arm: str
    solved: bool
    outcome: str
    cost_usd: float
    tokens_in: int
    tokens_out: int
    seconds: float
    iterations: int
    format_errors: int
    finished_at: datetime
