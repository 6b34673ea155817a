"""Repositories as the API answers them."""

from __future__ import annotations

from nightshift.core.clock import Moment
from nightshift.core.repositories import RepositoryState, RepositoryStates, RepositoryStatus
from nightshift.core.tasks.revisions import LogLine
from nightshift.core.text.masking import printable
from nightshift.server.schemas import Answer


class NewestCommit(Answer):
    """The newest commit of what is checked out; `task_id` is that of a commit of ours."""

    commit: str
    at: Moment
    author: str
    subject: str
    task_id: int | None


class RepositoryRow(Answer):
    """One repository: what git says of it, and what the ledger does.

    `changed` counts files that differ from the newest commit, untracked ones left out. `ahead` and `behind` compare the
    branch with what it tracks. `our_commits` are those of Nightshift, `unpushed` those of them that were integrated and
    that no push of its own took along. What is not known is null; `error` says why a repository cannot be looked at.
    """

    path: str
    own: bool
    branch: str | None
    newest: NewestCommit | None
    changed: int | None
    upstream: str | None
    ahead: int | None
    behind: int | None
    remote: str | None
    our_commits: int
    our_last_at: Moment | None
    unpushed: int
    pushed_at: Moment | None
    error: str


class Repositories(Answer):
    """The daemon's own repository, then those of its owner that tasks used last; `more` counts the others.

    `at` is when they were looked at, null while the first look goes on.
    """

    at: Moment | None
    auto_push: bool
    repositories: list[RepositoryRow]
    more: int


def repositories(states: RepositoryStates) -> Repositories:
    """List all repositories."""
    rows = [_row(state) for state in states.found]
    return Repositories(at=states.at, auto_push=states.auto_push, repositories=rows, more=states.more)


def _row(state: RepositoryState) -> RepositoryRow:
    seen, ours = state.status or RepositoryStatus(root=state.repo, branch=None, newest=None, changed=None), state.ours
    return RepositoryRow.from_values(
        seen,
        ours,
        path=printable(state.repo),
        own=state.is_own,
        branch=seen.branch and printable(seen.branch),
        newest=_newest(seen.newest) if seen.newest else None,
        upstream=seen.upstream and printable(seen.upstream),
        remote=seen.remote and printable(seen.remote),
        our_commits=ours.commits,
        our_last_at=ours.last_at,
        error=printable(state.error),
    )


def _newest(line: LogLine) -> NewestCommit:
    author, subject = printable(line.author), printable(line.subject)
    return NewestCommit(commit=line.id, at=line.at, author=author, subject=subject, task_id=line.task_id)
