"""Decides which branches belong to a task, and puts the task's commit on a branch.

The final result of a task replaces its draft on the branch, but a draft never replaces a final result.
"""

from __future__ import annotations

from collections.abc import Iterator

from nightshift.core.errors import GitError, RepositoryUnready
from nightshift.core.tasks.commit_message import draft_of, home_of, mark_of
from nightshift.core.tasks.revisions import Workspace
from nightshift.git.discovery import CLASHING_BRANCH, clash_of
from nightshift.git.repository import Repository, find_checkout

TRIES = 50
"""Maximum number of retries of a compare-and-swap that other processes keep winning.

This is also the limit of the alternative names that are tried for a branch.
"""


def attach(repository: Repository, workspace: Workspace, commit: str) -> str:
    """Put a commit on the task's branch, or on the first alternative name that is free; return the branch's name.

    A name is not free if a branch with that name, or below it, belongs to the owner or contains a commit of another
    task or home.

    Raises:
        ReferenceLocked: A reference is locked.
        GitError: There is no free name, or git refuses.
    """
    refusals, is_draft = list[str](), is_draft_of(repository, commit, workspace)
    for name in _branch_names(workspace.branch, repository.home):
        full = f"refs/heads/{name}"
        if not (refused := repository.move((full, commit, None))):
            return name
        held = repository.resolve(full)[0]
        is_free = held is not None and may_move(repository, full, held, workspace)
        if is_draft and held and not is_draft_of(repository, held, workspace):
            is_free = False
        if is_free and not repository.move((full, commit, held)):
            return name
        refusals.append(refused)
    if repository.resolve(CLASHING_BRANCH)[0]:
        raise RepositoryUnready(clash_of(repository.root))
    raise GitError(f"branch {workspace.branch} could not be made: {refusals[0]}")


def _branch_names(branch: str, home: str) -> Iterator[str]:
    """Yield the branch names to try: the given name, then the name with the home's id, then numbered names."""
    yield branch
    if home:
        branch = f"{branch}-{home}"
        yield branch
    yield from (f"{branch}-{number}" for number in range(2, TRIES))


def may_move(repository: Repository, branch: str, held: str, workspace: Workspace) -> bool:
    """Return True if a branch that points to this commit belongs to the task and is not checked out anywhere."""
    made_by_task = is_ours(repository, held, workspace) or is_draft_of(repository, held, workspace)
    return made_by_task and not find_checkout(repository, branch)


def is_ours(repository: Repository, commit: str, workspace: Workspace) -> bool:
    """Return True if the commit is this task's result; a draft is not."""
    return mark_of(_read_message(repository, commit, workspace)) == workspace.named


def is_draft_of(repository: Repository, commit: str, workspace: Workspace) -> bool:
    """Return True if the commit is a draft of this task."""
    return draft_of(_read_message(repository, commit, workspace)) == workspace.named


def _read_message(repository: Repository, commit: str, workspace: Workspace) -> str:
    """Return the message of a commit that this home made after the task began to exist; empty for any other commit.

    The comparison with the task's creation time allows for git's times, which have no fractions of a second. A task's
    number is unique only within its home; a task that several nodes share has the same mark on each node.
    """
    raw = repository.read_commit(commit)
    message = raw.message.decode("utf-8", "replace")
    young = workspace.since is None or raw.committed_at >= workspace.since.replace(microsecond=0)
    counts = young and (not workspace.named.isdigit() or is_of_home(repository, message))
    return message if counts else ""


def is_of_home(repository: Repository, message: str) -> bool:
    """Return True if a daemon of this home made the commit with this message.

    A commit of version 0.1.0 names no home. It counts only in the daemon's own repository, because no other home works
    there, while several homes may work on the owner's repositories.
    """
    home = home_of(message)
    return home == repository.home or (repository.is_own and not home)
