"""Values of the repository: the author of commits, the workspace of an attempt, and the commits it makes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from nightshift.core.code.tree import Tree
from nightshift.core.tasks.projects import WHOLE, Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Author:
    """Author of the commits; None takes what the repository's owner configured for git."""

    name: str | None = None
    email: str | None = None

    def over(self, other: Author) -> Author:
        """The same author, with the other's name or address where this says nothing."""
        return Author(name=self.name or other.name, email=self.email or other.email)


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """Workspace of one task: a repository, a base commit in it, and the branch that takes the result.

    `repo` is the root of the checkout that was named, `git_dir` the folder that git keeps for it. `target` is the full
    name of the branch that the base was taken from, None for a base that is no branch. `since` is when the task was
    created: an older commit that names the same task number belongs to a task of another database. `scope` is the part
    of the repository that `tree` holds and that changes are relative to.
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
    """Name of the task in its commits (`core.tasks.task.Task.mark`); empty: its number here."""

    def aim_at(self, branch: str) -> Workspace:
        """The same workspace with another branch, by its short or full name, that takes the result."""
        return replace(self, target=f"refs/heads/{branch.removeprefix('refs/heads/')}")

    @property
    def named(self) -> str:
        """The mark."""
        return self.mark or str(self.task_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """A commit of the daemon's. `tree` is git's id of its tree, `branch` the short name of the branch that holds it."""

    id: str
    tree: str
    branch: str
    parent: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitFacts:
    """A commit as git stores it: the ids of itself, its tree and its parents, and its whole message."""

    id: str
    tree: str
    parents: tuple[str, ...]
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedFile:
    """A file that a commit changed, with the lines that it added and removed there; None where it is no text."""

    path: str
    added: int | None
    removed: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangingCommit:
    """A commit with what it changed; `at` is when it was committed. A merge has no files here."""

    id: str
    parents: tuple[str, ...]
    at: datetime
    message: str
    files: tuple[ChangedFile, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine:
    """One commit of a history; `task_id` is that of its trailer."""

    id: str
    at: datetime
    author: str
    subject: str
    task_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PushResult:
    """Result of a push. `tried` is False where there was nothing to push to or pushing is off.

    `is_wanted` is False where it is off.
    """

    pushed: bool
    tried: bool
    detail: str
    is_wanted: bool = True
