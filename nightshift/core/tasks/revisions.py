"""Values of a repository: the author of commits, the workspace of an attempt, its commits, and the state of all."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from nightshift.core.clock import Moment
from nightshift.core.code.tree import Tree
from nightshift.core.tasks.projects import WHOLE, Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Author:
    """Author of commits. A field of None is filled from the git configuration of the repository's owner."""

    name: str | None = None
    email: str | None = None

    def over(self, other: Author) -> Author:
        """Return this author, with each field of None replaced by that of the other author."""
        return Author(name=self.name or other.name, email=self.email or other.email)


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """Workspace of one task: a repository, a base commit in it, and the branch for the result.

    `repo` is the root of the named checkout, and `git_dir` is the folder with git's data for it. `target` is the full
    name of the branch that the base was taken from; None if the base is not a branch. `since` is the creation time of
    the task: an older commit with the same task number belongs to a task of another database. `scope` is the part of
    the repository that `tree` contains and that changes are relative to.
    """

    repo: Path
    git_dir: Path
    is_own: bool
    task_id: int
    base: str
    target: str | None
    branch: str
    tree: Tree
    since: datetime | None = None
    scope: Scope = WHOLE
    mark: str = ""
    """Name of the task in its commits (`core.tasks.task.Task.mark`); if it is empty, the task's local number is used.
    """

    def aim_at(self, branch: str) -> Workspace:
        """Return the workspace with another target branch, given by its short or full name."""
        return replace(self, target=f"refs/heads/{branch.removeprefix('refs/heads/')}")

    @property
    def named(self) -> str:
        """Name of the task in its commits: the mark, or the task's number."""
        return self.mark or str(self.task_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """A commit that the daemon made. `tree` is the id of its tree in git; `branch` is the short name of its branch."""

    id: str
    tree: str
    branch: str
    parent: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitFacts:
    """A commit as git stores it: its id, its tree, its parents, and its whole message."""

    id: str
    tree: str
    parents: tuple[str, ...]
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedFile:
    """A file that a commit changed, with the numbers of added and removed lines (None for a binary file)."""

    path: str
    added: int | None
    removed: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangingCommit:
    """A commit with the files that it changed. `at` is the commit's time. A merge lists no files."""

    id: str
    parents: tuple[str, ...]
    at: datetime
    message: str
    files: tuple[ChangedFile, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine:
    """One commit of a history; `task_id` is read from the commit's trailer."""

    id: str
    at: Moment
    author: str
    subject: str
    task_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PushResult:
    """Result of a push. `tried` is False if there is no remote or pushing is switched off.

    `is_wanted` is False if pushing is switched off.
    """

    pushed: bool
    tried: bool
    detail: str
    is_wanted: bool = True


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
    last_at: Moment | None = None
    pushed_at: Moment | None = None


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
    at: Moment | None = None
    repositories: tuple[RepositoryState, ...] = ()
    more: int = 0
