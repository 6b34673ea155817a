"""The state of the repositories that tasks work in, as shown to the owner."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from nightshift.core.tasks.revisions import LogLine


@dataclass(frozen=True, slots=True, kw_only=True)
class RepositoryStatus:
    """State of one repository at a moment, as reported by git.

    `branch` is the short name of the checked-out branch, None if HEAD is detached. `changed` counts the files that
    differ from the newest commit, without untracked ones; None if git did not answer in time. `ahead` and `behind`
    compare the branch with the branch that it tracks (`upstream`), as of the owner's last fetch or push. `remote` is
    the address that a push would go to, without passwords.
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
    """The agent's commits in a repository, according to the ledger, and the integrated commits that are not pushed yet.

    `pushed_at` is the time of the last push.
    """

    repo: str
    commits: int = 0
    unpushed: int = 0
    last_at: datetime | None = None
    pushed_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RepositoryState:
    """One repository. `status` is None if the repository cannot be read; `error` then gives the reason."""

    repo: str
    is_own: bool
    ours: OurCommits
    status: RepositoryStatus | None = None
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepositoryStates:
    """All examined repositories: first the daemon's own, then the others by their most recent task.

    `at` is None before the first check. `more` counts repositories that were not examined, because no task has used
    them for a long time.
    """

    auto_push: bool
    at: datetime | None = None
    repositories: tuple[RepositoryState, ...] = ()
    more: int = 0
