"""What the owner is told when something is not taken back: why, and what he can do instead."""

from __future__ import annotations

from collections.abc import Sequence
from shlex import quote

from core.errors import NotReverted
from core.revisions import LogLine
from db.state_store import Commit

SHOWN = 10
"""How many tests or commits are named."""


def no_commit(task_id: int) -> NotReverted:
    """The task changed nothing."""
    return NotReverted(f"task {task_id} made no commit, so there is nothing to take back")


def not_integrated(entry: Commit) -> NotReverted:
    """The work waits on a branch of its own."""
    repo = quote(entry.repo)
    return NotReverted(
        f"task {entry.task_id} was not integrated: its commit {entry.commit[:10]} is on branch {entry.branch} alone\n"
        f"`git -C {repo} branch -D {entry.branch}` deletes the branch\n"
        f"if you merged it yourself, `git -C {repo} revert {entry.commit[:10]}` takes it back"
    )


def left_alone(entry: Commit, why: str) -> NotReverted:
    """The branch may not be moved by us."""
    place = why.partition(";")[0]
    return NotReverted(
        f"{place}, and what you have checked out is never touched\n`git revert {entry.commit[:10]}` does it there"
    )


def rewritten(entry: Commit, branch: str) -> NotReverted:
    """The commit is gone from its branch."""
    return NotReverted(f"{entry.commit[:10]} of task {entry.task_id} is not in the history of {branch} any more")


def taken_back_already(entry: Commit, by: str) -> NotReverted:
    """Once is enough."""
    number = entry.task_id
    return NotReverted(
        f"task {number} is taken back already, by {by[:10]}; `cli.py --reapply {number}` brings its work back"
    )


def stands(entry: Commit) -> NotReverted:
    """There is no revert that could be undone."""
    return NotReverted(f"the work of task {entry.task_id} was not taken back, so it need not be brought back")


def nothing_left(entry: Commit, branch: str) -> NotReverted:
    """Later commits have undone it already."""
    return NotReverted(f"{branch} holds nothing any more of what task {entry.task_id} changed")


def conflict(entry: Commit, paths: Sequence[str], later: Sequence[LogLine]) -> NotReverted:
    """Later commits changed the same lines."""
    return NotReverted(
        "\n".join([
            f"later commits changed the same lines in {_some(paths)}; nothing was changed",
            *_commits(later),
            f"take those back first, or do it by hand with `git -C {quote(entry.repo)} revert {entry.commit[:10]}`",
        ])
    )  # fmt: skip


def breaks(entry: Commit, broken: Sequence[str], later: Sequence[LogLine], *, reapply: bool) -> NotReverted:
    """Other tests need it."""
    how, option = ("with", "--reapply") if reapply else ("without", "--revert")
    return NotReverted(
        "\n".join([
            f"{how} it other tests fail, so nothing was changed: {_some(broken)}",
            *(["later commits touch its files or those tests:", *_commits(later)] if later else []),
            f"`cli.py {option} {entry.task_id} --force` does it all the same",
        ])
    )  # fmt: skip


def not_judged(entry: Commit, why: str, *, reapply: bool) -> NotReverted:
    """No test can be run here."""
    option = "--reapply" if reapply else "--revert"
    return NotReverted(
        f"the tests that its files reach cannot be run: {why}\n"
        f"`cli.py {option} {entry.task_id} --force` does it without them"
    )


def _commits(lines: Sequence[LogLine]) -> list[str]:
    shown = [f"  {line.id[:10]} {_whose(line)}: {line.subject}" for line in lines[:SHOWN]]
    return [*shown, *([f"  and {len(lines) - SHOWN} more"] if len(lines) > SHOWN else [])]


def _whose(line: LogLine) -> str:
    return f"by {line.author}" if line.task_id is None else f"of task {line.task_id}"


def _some(names: Sequence[str]) -> str:
    more = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {more} more" if more > 0 else "")
