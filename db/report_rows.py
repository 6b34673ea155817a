"""What the weekly report is made from: the rows of one span of time, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from core.gates import AskKind
from core.states import Ending, Status
from db.commit_signs import ChangedFile, Signs


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedTask:
    """A task that ended; `kind` and `repo` are empty where none was given.

    A task that was tried again after its end has an `EndedTask` for each.
    """

    id: int
    status: Status
    ending: Ending | None
    kind: str
    repo: str
    description: str
    reason: str
    attempt: int
    iterations: int
    created_at: datetime
    not_before: datetime | None
    started_at: datetime | None
    ended_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """One answered call; `cost_usd` is None where the price is not known.

    `saved` names the backend whose call the built-in engine made needless; empty for all other replies.
    """

    at: datetime
    task_id: int | None
    backend: str
    model: str
    tokens_in: int
    tokens_out: int
    cost_usd: float | None
    latency_s: float
    saved: str = ""

    @property
    def tokens(self) -> int:
        """Prompt and reply together."""
        return self.tokens_in + self.tokens_out


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitRow:
    """One commit as it stood at the end of the span.

    `model` are the models that had a hand in it. `asked_repo` is the repository as its task names it, empty for the
    daemon's own. `files` and `signs` are None where they are not known.
    """

    id: int
    at: datetime
    task_id: int
    attempt: int
    commit: str
    asked_repo: str
    subject: str
    label: str
    model: str
    iterations: int
    integrated: bool
    pushed: bool
    reviewed: bool
    reverted: bool
    files: tuple[ChangedFile, ...] | None
    signs: Signs | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureRow:
    """A stored failure: its normalised `signature`, the error, the change that failed as a patch, and what came of it.

    `lesson` is empty, and `solved` False, where no fix was known at the end of the span.
    """

    at: datetime
    task_id: int | None
    signature: str
    error: str
    code: str
    repo: str
    solved: bool
    lesson: str

    @property
    def kind(self) -> str:
        """What it was: an exception, a way to die, or a rule of the checker."""
        return self.error.partition("\n")[0].partition(":")[0].strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class AskRow:
    """What a task asked its owner; `granted` and `answered_at` are None while there is no answer."""

    task_id: int
    kind: AskKind
    subject: str
    granted: bool | None
    asked_at: datetime
    answered_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialRow:
    """An attempt that a lesson was near to, and what it took; `control` where it saw none by lot."""

    at: datetime
    control: bool
    solved: bool
    iterations: int
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRow:
    """An event of the log, as far as the report reads it."""

    id: int
    at: datetime
    kind: str
    message: str
    task_id: int | None
    data: Mapping[str, Any]
