"""A commit that waits on its task's branch, and the reasons why it is neither integrated nor discarded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from shlex import quote

from nightshift.core.errors import BranchRefused
from nightshift.core.program import format_command
from nightshift.core.tasks.commit_message import draft_of
from nightshift.core.tasks.revisions import Commit, CommitFacts, LogLine, Workspace
from nightshift.core.tasks.task import Task
from nightshift.core.tasks.verdicts import Verdict
from nightshift.core.text.faults import name_first
from nightshift.storage.db.state_store import Commit as Entry

SHOWN = 10
"""How many tests or paths are named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """The newest commit of a task with the workspace that it was made in; `facts` are git's."""

    task: Task
    entry: Entry
    workspace: Workspace
    facts: CommitFacts

    @property
    def target(self) -> str:
        """The target's short name."""
        return (self.workspace.target or "").removeprefix("refs/heads/")

    @property
    def commit(self) -> Commit:
        """The commit as git knows it."""
        facts, parent = self.facts, next(iter(self.facts.parents), "")
        return Commit(id=facts.id, tree=facts.tree, branch=self.entry.branch, parent=parent)

    @property
    def is_draft(self) -> bool:
        """Tell whether the commit is a draft."""
        return bool(draft_of(self.facts.message))


def is_open(task: Task, entry: Entry) -> BranchRefused:
    """The task is worked on again."""
    number = task.id
    return BranchRefused(
        f"task {number} is {task.status}, so {entry.branch} may still change; wait until the task ends, or "
        f"`{format_command(f'cancel {number}')}` first"
    )


def is_the_hubs(task: Task, entry: Entry) -> BranchRefused:
    """Other machines follow the remote, and this command moves local branches only."""
    return BranchRefused(
        f"task {task.id} is shared with a hub, and its branch {entry.branch} is at the remote; merge or delete it there"
    )


def is_integrated(entry: Entry) -> BranchRefused:
    """There is nothing to discard."""
    target, number = entry.target.removeprefix("refs/heads/"), entry.task_id
    undo = format_command(f"revert {number}")
    return BranchRefused(f"task {number} is integrated: {entry.commit[:10]} is in {target}; `{undo}` undoes it")


def was_reverted(entry: Entry) -> BranchRefused:
    """It was integrated once."""
    number, by = entry.task_id, (entry.reverted_by or "")[:10]
    return BranchRefused(
        f"task {number} was integrated and is reverted by {by}; `{format_command(f'reapply {number}')}` brings it back"
    )


def branch_is_gone(entry: Entry) -> BranchRefused:
    """The branch was discarded, or its owner deleted it."""
    how = "was discarded" if entry.discarded_at else "is gone"
    return BranchRefused(f"branch {entry.branch} {how}; `{branch_again(entry)}` makes it again")


def holds_others(entry: Entry, newest: LogLine) -> BranchRefused:
    """Somebody else added to the branch."""
    return BranchRefused(
        f"{entry.branch} holds more than the commit of task {entry.task_id}: {newest.id[:10]} by {newest.author} "
        f"({newest.subject}); it was left alone, use `git -C {quote(entry.repo)} merge {entry.branch}` or "
        f"`git -C {quote(entry.repo)} branch -D {entry.branch}`"
    )


def other_fork_is_integrated(entry: Entry, number: int) -> BranchRefused:
    """One of the forks beside it was taken."""
    undo = format_command(f"revert {number}")
    return BranchRefused(f"task {number}, a fork beside task {entry.task_id}, is integrated already; `{undo}` first")


def target_not_moved(waiting: Waiting, why: str) -> BranchRefused:
    """The owner has the target checked out, or the base was no branch."""
    entry = waiting.entry
    if waiting.workspace.target is None:
        return stays(waiting, f"the task began at {waiting.task.spec.base}, which is no branch")
    return BranchRefused(
        f"{why.partition(';')[0]}, and what you have checked out is never touched\n"
        f"`git merge {entry.branch}` takes the commit there"
    )


def stays(waiting: Waiting, why: str) -> BranchRefused:
    """Stay on the branch, whatever else stood in the way."""
    entry = waiting.entry
    return BranchRefused(f"{entry.commit[:10]} stays on {entry.branch}: {why}\n{_by_hand(waiting)}")


def conflicts(waiting: Waiting, paths: Sequence[str]) -> BranchRefused:
    """Newer work changed the same lines."""
    entry, where = waiting.entry, name_first(paths, SHOWN)
    return BranchRefused(
        f"{waiting.target} has changed the same lines in {where}; the commit stays on {entry.branch}\n"
        f"`{format_command(f'fork {entry.task_id}')}` has a task make the change again; {_by_hand(waiting)}"
    )


def brings_nothing(waiting: Waiting, later: Sequence[LogLine]) -> BranchRefused:
    """The target has the same content."""
    number, entry = waiting.entry.task_id, waiting.entry
    by = f", since {later[0].id[:10]} ({later[0].subject})" if later else ""
    return BranchRefused(
        f"{waiting.target} has all that task {number} changed already{by}; nothing was moved\n"
        f"`{format_command(f'discard {number}')}` removes {entry.branch}"
    )


def no_evidence(waiting: Waiting, why: str) -> BranchRefused:
    """Nothing says how to judge it."""
    entry = waiting.entry
    return BranchRefused(
        f"nothing says how to judge {entry.commit[:10]}: {why}\n{_force(waiting)} integrates it without a run",
        is_forcible=True,
    )


def not_judged(waiting: Waiting, why: str) -> BranchRefused:
    """No test can be run here."""
    return BranchRefused(
        f"its tests cannot be run, so nothing was moved: {why}\n{_force(waiting)} integrates it without a run",
        is_forcible=True,
    )


def fails(waiting: Waiting, verdict: Verdict) -> BranchRefused:
    """The tests say no, or the words of the task."""
    failing = f": {name_first(sorted(verdict.failing), SHOWN)}" if verdict.failing else ""
    why = "; ".join(verdict.unmet) or f"{verdict.reason}{failing}"
    return BranchRefused(
        f"it does not pass on {waiting.target}, so nothing was moved: {why}\n"
        f"{_force(waiting)} integrates it all the same",
        is_forcible=True,
    )


def _force(waiting: Waiting) -> str:
    return f"`{format_command(f'integrate {waiting.entry.task_id} --force')}`"


def _by_hand(waiting: Waiting) -> str:
    entry = waiting.entry
    return f"by hand: `git -C {quote(entry.repo)} merge {entry.branch}` with {waiting.target or 'a branch'} checked out"


def branch_again(entry: Entry) -> str:
    """The command that makes the branch of a commit again."""
    return f"git -C {quote(entry.repo)} branch {entry.branch} {entry.commit}"
