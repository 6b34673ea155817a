"""How the repositories stand that tasks work in, as their owner wants to know it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from nightshift.core.tasks.revisions import LogLine


@dataclass(frozen=True, slots=True, kw_only=True)
class RepositoryStatus:
    """State of one repository at a moment, as git tells it.

    `branch` is the short name of what is checked out, None where HEAD stands on a commit. `changed` counts the files
    that differ from the newest commit, untracked ones left out; None where that was not known in time. `ahead` and
    `behind` compare the branch with what it tracks (`upstream`), as of the last fetch or push of its owner. `remote` is
    where a push would go, without passwords.
    """

    root: str
    branch: str | None
    newest: LogLine | None
    changed: int | None
    upstream: str | None = None
    ahead: int | None = None
    behind: int | None = None
    remote: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OurCommits:
    """Commits of the agent's in a repository, by the ledger, and those integrated that no push has taken along.

    `pushed_at` is when the last one was pushed.
    """

    repo: str
    commits: int = 0
    unpushed: int = 0
    last_at: datetime | None = None
    pushed_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RepositoryState:
    """One repository; `status` is None where it cannot be read, and `error` says why."""

    repo: str
    is_own: bool
    ours: OurCommits
    status: RepositoryStatus | None = None
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepositoryStates:
    """All that were looked at, the daemon's own first, then by the last task; `at` is None before the first look.

    `more` counts those that tasks used long ago and nobody looked at.
    """

    auto_push: bool
    at: datetime | None = None
    repositories: tuple[RepositoryState, ...] = ()
    more: int = 0
