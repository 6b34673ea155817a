"""The value classes of a benchmark: its arms, its items, and the result of an item for an arm."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """One way to solve items: a model with its settings.

    Attributes:
        name: unique within a run.
        backend: as in `backend=model`.
        model: as in `backend=model`; empty for the built-in engine.
        protocol: the form in which the model sends its changes.
        tools: whether the model may explore and edit in steps.
        readers: whether a reviewer and an auditor read its changes.
        memory: whether the model sees lessons from earlier items.
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
        """The arm's model as `backend=model`; only the backend for the built-in engine."""
        return f"{self.backend}={self.model}" if self.model else self.backend


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A task that was mined from a commit and validated.

    Attributes:
        key: unique key: the repository and the commit's SHA.
        repo: the path of the repository.
        commit: the SHA of the commit that solved the task.
        parent: the SHA of the commit that an attempt starts from.
        subject: the first line of the commit's message.
        statement: the request to the model.
        lines: source lines that the commit changed, added and removed together.
        files: number of source files that the commit changed.
        committed_at: aware, UTC.
        fail_to_pass: the tests that fail before the commit and pass after it.
        pass_to_pass_count: number of tests that pass before and after the commit.
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
    """An interrupted attempt, which says nothing about the arm; it is resumed when the run continues.

    Attributes:
        reason: why it was interrupted, in words.
    """

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The result of an item for an arm.

    Attributes:
        item: the item's key.
        arm: the arm's name.
        solved: whether the verdict passed.
        outcome: why the attempt ended, as a task's `Ending`.
        cost_usd: the known part of its cost.
        tokens_in: tokens of prompts.
        tokens_out: tokens of replies.
        seconds: working time.
        iterations: rounds of coding and testing.
        format_errors: number of unreadable replies.
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
