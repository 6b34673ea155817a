"""Gives each repository a name that all nodes understand: the address of its remote, or the common workspace.

A path is not valid on another machine. Therefore a task is shared with the address of its repository's remote, without
a password. Each node works on the task in its own checkout of that address, or in a clone that it creates.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from nightshift.core.errors import GitError
from nightshift.core.tasks.task import TaskSpec
from nightshift.git.manager import GitManager

WORKSPACE = "workspace"
KNOWN_S = 60.0
"""Seconds for which a remote's address is cached."""


@dataclass
class SharedRepositories:
    """Finds shared repositories on this machine. May be used in any thread.

    Args:
        git: gives access to repositories on this machine.
        clones: folder for clones of repositories that have no checkout on this machine.
        list_paths: lists the checkouts that tasks of this node named.
        monotonic: monotonic clock, in seconds.
    """

    git: GitManager
    clones: Path
    list_paths: Callable[[], Iterable[str]]
    monotonic: Callable[[], float] = time.monotonic
    has_asked: bool = False
    """True after the hub has said which remote the workspaces follow. Until then, tasks in the workspace count as
    shared and wait for the hub.
    """
    _remotes: dict[str | None, tuple[float, str]] = field(default_factory=dict)

    def shares(self, spec: TaskSpec) -> bool:
        """Check whether any node could do a task.

        The repository must have a remote, and the task must need nothing that only this machine has.
        """
        if spec.mcp or (spec.base or "").startswith("refs/"):
            return False
        return bool(self.remote(spec.repo)) or (spec.repo is None and not self.has_asked)

    def remote(self, repo: str | None) -> str:
        """Return the address of a repository's remote; empty if there is none."""
        read_at, address = self._remotes.get(repo, (-KNOWN_S, ""))
        now = self.monotonic()
        if now - read_at >= KNOWN_S or not address:
            try:
                address = self.git.remote(repo)
            except GitError:  # the task will be refused with the reason
                address = ""
            self._remotes[repo] = (now, address)
        return address

    def name_for_all(self, spec: TaskSpec) -> tuple[TaskSpec, str]:
        """Return the task without a path, and its repository's name, which is the same on all nodes.

        Raises:
            GitError: no branch is checked out in the repository.
        """
        if spec.repo is None:
            return spec, WORKSPACE
        return replace(spec, repo=None, base=spec.base or self.git.branch(spec.repo)), self.remote(spec.repo)

    def path_of(self, address: str) -> str | None:
        """Return the path of a repository on this machine; None if there is no checkout or clone."""
        clone = self.clones / _folder_name(address)
        paths = (path for path in self.list_paths() if self.remote(path) == address)
        return next(paths, str(clone) if clone.exists() else None)

    def refresh(self, spec: TaskSpec) -> None:
        """Update a task's base branch from the remote. The task was submitted on this node.

        Raises:
            GitError: the remote could not be reached.
        """
        self.git.follow(spec.repo, "main" if spec.repo is None else spec.base)

    def keep(self, repo: str | None, text: str) -> str:
        """Store a text at the remote of a repository, and return the blob's id.

        Raises:
            GitError: the remote could not be reached.
        """
        return self.git.publish_text(repo, text)

    def read_kept(self, repo: str | None, blob: str) -> str:
        """Read a text that `keep` has stored at the remote on any node. Raises the errors of `keep`."""
        return self.git.read_published(repo, blob)

    def ready(self, repository: str) -> str | None:
        """Return the path of a repository on this machine, cloning it if necessary; None for the workspace.

        Raises:
            GitError: the remote could not be reached, or the workspace follows no remote.
        """
        if repository == WORKSPACE:
            if not self.remote(None):
                raise GitError("the workspace of this node follows no remote")
            return None
        path = self.path_of(repository)
        if path is None:
            folder = self.clones / _folder_name(repository)
            self.git.clone(repository, folder)
            path = str(folder)
        return path

    def here(self, spec: TaskSpec, repository: str) -> TaskSpec:
        """Update the repository of another node's task from the remote; return the task with the local path.

        Raises:
            GitError: the remote could not be reached, or has no such branch.
        """
        path = self.ready(repository)
        if path is None:
            self.git.follow(None, "main")
            return replace(spec, repo=None)
        if self.git.follow(path, spec.base) is None:
            raise GitError(f"{repository} has no branch {spec.base or ''}".rstrip())
        return replace(spec, repo=path)


def label_of(address: str) -> str:
    """Return the label by which a task can require a node that has this repository, such as `repo:shop`."""
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", address.rstrip("/").removesuffix(".git").rpartition("/")[2])
    return f"repo:{name}"


def _folder_name(address: str) -> str:
    return f"{label_of(address)[5:]}-{hashlib.sha256(address.encode()).hexdigest()[:12]}"
