"""A task beside its forks: what each came to, so that one can tell which model did the same step best."""

from __future__ import annotations

from nightshift.core.tasks.forking import Fork
from nightshift.core.tasks.states import Status
from nightshift.core.tasks.task import Task
from nightshift.queue import store
from nightshift.server.context import AppContext
from nightshift.server.formatting import short
from nightshift.server.schemas import Answer
from nightshift.storage.db.commit_ledger import CommitLedger
from nightshift.storage.db.state_store import Commit


class Side(Answer):
    """A task or a fork of it. `step_no` is where the fork began, null for the task itself; `model` who was to be asked.

    A fork that is `held` leaves its commit on its branch. `integrated` tells that its commit is on the target and was
    not reverted, `waits` that it waits on its branch.

    What follows `seconds` is of its newest commit, and null or empty where it made none: `model` then is who wrote it.
    `seconds` are from its start to its end, or until now; null before it.
    """

    task_id: int
    step_no: int | None
    model: str
    status: Status
    reason: str
    cost_usd: float
    unpriced: int
    tokens: int
    seconds: float | None
    label: str
    tests_passed: int | None
    files: int | None
    added: int | None
    removed: int | None
    branch: str
    integrated: bool
    waits: bool
    held: bool


class SideBySide(Answer):
    """The task first, then its forks, oldest first."""

    task_id: int
    sides: list[Side]


def side_by_side(context: AppContext, task: Task) -> SideBySide:
    """The task and its newest hundred forks."""
    conn = context.database.reader()
    sides = [_side(context, context.queue.get(number), fork) for number, fork in store.forks_of(conn, task.id)]
    return SideBySide(task_id=task.id, sides=[_side(context, task), *sides])


def _side(context: AppContext, task: Task, fork: Fork | None = None) -> Side:
    ledger = CommitLedger(context.database, context.events)
    commit = next(iter(ledger.page(1, task_id=task.id)), None)
    ended = task.ended_at or context.clock()
    return Side(
        task_id=task.id,
        step_no=fork.step_no if fork else None,
        model=short(commit.model if commit else fork.model if fork else "", context.mask),
        status=task.status,
        reason=short(task.reason, context.mask),
        cost_usd=task.spent.cost_usd,
        unpriced=task.spent.unpriced,
        tokens=task.spent.tokens,
        seconds=(ended - task.started_at).total_seconds() if task.started_at else None,
        label=commit.label if commit else "",
        tests_passed=commit.signs.tests_passed if commit and commit.signs else None,
        branch=short(commit.branch, context.mask) if commit else "",
        integrated=bool(commit and commit.integrated and not commit.reverted_by),
        waits=bool(commit and commit.waits),
        held=bool(fork and fork.held),
        **_size(commit),
    )


def _size(commit: Commit | None) -> dict[str, int | None]:
    if commit is None or commit.files is None:
        return {"files": None, "added": None, "removed": None}
    return {
        "files": len(commit.files),
        "added": sum(file.added or 0 for file in commit.files),
        "removed": sum(file.removed or 0 for file in commit.files),
    }
