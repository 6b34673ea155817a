"""Whose a branch is, and where a task's commit goes."""

from __future__ import annotations

from core.commit_message import mark_of
from core.errors import GitError
from core.revisions import Workspace
from gitrepo.repository import Repository, checked_out

TRIES = 50
"""How often a compare-and-swap that others keep winning is tried again before it is an error."""


def attach(found: Repository, workspace: Workspace, made: str) -> str:
    """Put a commit on the task's branch, or on the first numbered one that is free; gives the branch's name.

    Raises:
        GitError: there is no free name, or git refuses.
    """
    refused = ""
    for number in range(1, TRIES):
        name = workspace.branch if number == 1 else f"{workspace.branch}-{number}"
        full = f"refs/heads/{name}"
        refused = found.move((full, made, None))
        held = found.resolve(full)[0] if refused else None
        if refused and held is None:
            break
        if held is None or (may_move(found, full, held, workspace) and not found.move((full, made, held))):
            return name
    raise GitError(f"branch {workspace.branch} could not be made: {refused}")


def may_move(found: Repository, branch: str, held: str, workspace: Workspace) -> bool:
    """Tell whether a branch that holds this commit is the task's, and nobody looks at it."""
    return is_ours(found, held, workspace) and not checked_out(found, branch)


def is_ours(found: Repository, commit: str, workspace: Workspace) -> bool:
    """Tell whether this task made the commit. Git's times have no fractions of a second."""
    raw = found.read_commit(commit)
    young = workspace.since is None or raw.committed_at >= workspace.since.replace(microsecond=0)
    return young and mark_of(raw.message.decode("utf-8", "replace")) == workspace.named
