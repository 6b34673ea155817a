"""A commit that waits on its task's branch, and the errors if it can be neither integrated nor discarded."""

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
"""Maximum number of tests or paths that a message names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A task's newest commit, which waits on the task's branch; `facts` is its description in git."""

    task: Task
    entry: Entry
    workspace: Workspace
    facts: CommitFacts

    @property
    def target(self) -> str:
        """The target branch's short name; empty without a target."""
        return (self.workspace.target or "").removeprefix("refs/heads/")

    @property
    def commit(self) -> Commit:
        """The waiting commit in the form that `GitManager` works with."""
        facts, parent = self.facts, next(iter(self.facts.parents), "")
        return Commit(id=facts.id, tree=facts.tree, branch=self.entry.branch, parent=parent)

    @property
    def is_draft(self) -> bool:
        """True if the commit is a draft."""
        return bool(draft_of(self.facts.message))


def is_open(task: Task, entry: Entry) -> BranchRefused:
    """Return the error for a task that is being worked on again."""
    number = task.id
    return BranchRefused(
        f"task {number} is {task.status}, so {entry.branch} may still change; wait until the task ends, or "
        f"`{format_command(f'cancel {number}')}` first"
    )


def is_the_hubs(task: Task, entry: Entry) -> BranchRefused:
    """Return the error for a hub's task: machines follow the remote, and this command only moves local branches."""
    return BranchRefused(
        f"task {task.id} is shared with a hub, and its branch {entry.branch} is at the remote; merge or delete it there"
    )


def is_integrated(entry: Entry) -> BranchRefused:
    """Return the error for discarding a commit that is already integrated."""
    target, number = entry.target.removeprefix("refs/heads/"), entry.task_id
    undo = format_command(f"revert {number}")
    return BranchRefused(f"task {number} is integrated: {entry.commit[:10]} is in {target}; `{undo}` undoes it")


def was_reverted(entry: Entry) -> BranchRefused:
    """Return the error for a task that was integrated and then reverted."""
    number, by = entry.task_id, (entry.reverted_by or "")[:10]
    return BranchRefused(
        f"task {number} was integrated and is reverted by {by}; `{format_command(f'reapply {number}')}` brings it back"
    )


def branch_is_gone(entry: Entry) -> BranchRefused:
    """Return the error for a branch that was discarded or that the owner deleted."""
    how = "was discarded" if entry.discarded_at else "is gone"
    return BranchRefused(f"branch {entry.branch} {how}; `{branch_again(entry)}` makes it again")


def holds_others(entry: Entry, newest: LogLine) -> BranchRefused:
    """Return the error for a branch to which somebody else added commits."""
    return BranchRefused(
        f"{entry.branch} holds more than the commit of task {entry.task_id}: {newest.id[:10]} by {newest.author} "
        f"({newest.subject}); it was left alone, use `git -C {quote(entry.repo)} merge {entry.branch}` or "
        f"`git -C {quote(entry.repo)} branch -D {entry.branch}`"
    )


def other_fork_is_integrated(entry: Entry, number: int) -> BranchRefused:
    """Return the error for a fork whose sibling is already integrated."""
    undo = format_command(f"revert {number}")
    return BranchRefused(f"task {number}, a fork beside task {entry.task_id}, is integrated already; `{undo}` first")


def target_not_moved(waiting: Waiting, why: str) -> BranchRefused:
    """Return the error for a target that is checked out, or for a base that is not a branch."""
    entry = waiting.entry
    if waiting.workspace.target is None:
        return stays(waiting, f"the task began at {waiting.task.spec.base}, which is not a branch")
    return BranchRefused(
        f"{why.partition(';')[0]}, and Nightshift never touches a checked-out branch\n"
        f"`git merge {entry.branch}` takes the commit there"
    )


def stays(waiting: Waiting, why: str) -> BranchRefused:
    """Return the error for a commit that must stay on its branch for the reason `why`."""
    entry = waiting.entry
    return BranchRefused(f"{entry.commit[:10]} stays on {entry.branch}: {why}\n{_by_hand(waiting)}")


def conflicts(waiting: Waiting, paths: Sequence[str]) -> BranchRefused:
    """Return the error for a commit that conflicts with newer work in the target."""
    entry, where = waiting.entry, name_first(paths, SHOWN)
    return BranchRefused(
        f"{waiting.target} has changed the same lines in {where}; the commit stays on {entry.branch}\n"
        f"`{format_command(f'fork {entry.task_id}')}` has a task make the change again; {_by_hand(waiting)}"
    )


def brings_nothing(waiting: Waiting, later: Sequence[LogLine]) -> BranchRefused:
    """Return the error for a commit whose whole change is already in the target."""
    number, entry = waiting.entry.task_id, waiting.entry
    by = f", since {later[0].id[:10]} ({later[0].subject})" if later else ""
    return BranchRefused(
        f"{waiting.target} already has all that task {number} changed{by}; nothing was moved\n"
        f"`{format_command(f'discard {number}')}` removes {entry.branch}"
    )


def no_evidence(waiting: Waiting, why: str) -> BranchRefused:
    """Return the error for a commit without a usable note; only the note says how to judge the commit."""
    entry = waiting.entry
    return BranchRefused(
        f"nothing says how to judge {entry.commit[:10]}: {why}\n{_force(waiting)} integrates it without a run",
        is_forcible=True,
    )


def not_judged(waiting: Waiting, why: str) -> BranchRefused:
    """Return the error for a commit whose tests cannot be run."""
    return BranchRefused(
        f"its tests cannot be run, so nothing was moved: {why}\n{_force(waiting)} integrates it without a run",
        is_forcible=True,
    )


def fails(waiting: Waiting, verdict: Verdict) -> BranchRefused:
    """Return the error for a commit that fails its tests or does not do what the task says."""
    failing = f": {name_first(sorted(verdict.failing), SHOWN)}" if verdict.failing else ""
    why = "; ".join(verdict.unmet) or f"{verdict.reason}{failing}"
    return BranchRefused(
        f"it does not pass on {waiting.target}, so nothing was moved: {why}\n{_force(waiting)} integrates it anyway",
        is_forcible=True,
    )


def _force(waiting: Waiting) -> str:
    return f"`{format_command(f'integrate {waiting.entry.task_id} --force')}`"


def _by_hand(waiting: Waiting) -> str:
    entry = waiting.entry
    return f"by hand: `git -C {quote(entry.repo)} merge {entry.branch}` with {waiting.target or 'a branch'} checked out"


def branch_again(entry: Entry) -> str:
    """Return the git command that recreates a commit's branch."""
    return f"git -C {quote(entry.repo)} branch {entry.branch} {entry.commit}"
