"""The state of a repository, for the owner: what is checked out, what changed, and what a push would send.

Reading the state writes nothing, and starts no program that the repository names. Files are compared in our view of the
repository, with the checkout's index and files, and the view defines no filters that attributes could use.
"""

from __future__ import annotations

import re

from nightshift.core.errors import GitError
from nightshift.core.tasks.revisions import RepositoryStatus
from nightshift.git import history, protocol
from nightshift.git.registry import Repositories, Where
from nightshift.git.repository import Repository

LOOK_S = 4.0
"""Timeout of each command, in seconds; a value that is unknown after that is left out."""


class StatusReader:
    """Reads the state of repositories; every method blocks, and may be called from any thread."""

    def __init__(self, repositories: Repositories) -> None:
        self._repositories = repositories

    def read(self, where: Where, timeout_s: float = LOOK_S) -> RepositoryStatus:
        """Read the state of a repository.

        Raises:
            GitError: The repository cannot be used, or git failed.
        """
        repository = self._repositories.find(where)
        head = repository.git.ask("symbolic-ref", "--quiet", "HEAD", timeout_s=timeout_s).text
        newest = repository.resolve("HEAD")[0]
        remote = repository.configuration().remote_url
        upstream, ahead, behind = _read_tracked(repository, head, timeout_s)
        return RepositoryStatus(
            root=str(repository.root),
            branch=head.removeprefix("refs/heads/") or None,
            newest=history.newest(repository, newest, 1)[0] if newest else None,
            changed=_count_changed(repository, newest, timeout_s) if newest else None,
            upstream=upstream,
            ahead=ahead,
            behind=behind,
            remote=protocol.without_password(remote) if remote else None,
        )


def _count_changed(repository: Repository, newest: str, timeout_s: float) -> int | None:
    files = repository.view.over(
        repository.root, GIT_INDEX_FILE=str(repository.git.folder / "index"), GIT_WORK_TREE=str(repository.root)
    )
    options = ("--name-only", "-z", "--no-ext-diff", "--no-textconv", "--no-renames", "--ignore-submodules=all")
    try:
        return files("diff", *options, newest, "--", timeout_s=timeout_s).out.count(b"\0")
    except GitError:
        return None


def _read_tracked(repository: Repository, head: str, timeout_s: float) -> tuple[str | None, int | None, int | None]:
    """Return the branch's upstream branch, and by how many commits the branch is ahead of it and behind it."""
    form = "--format=%(upstream:lstrip=2) %(upstream:track,nobracket)"
    tracked = repository.git.ask("for-each-ref", form, head, timeout_s=timeout_s).text if head else ""
    name, _, differs = tracked.partition(" ")
    if not name or differs == "gone":
        return None, None, None
    counts = {side: int(count) for side, count in re.findall(r"(ahead|behind) (\d+)", differs)}
    return name, counts.get("ahead", 0), counts.get("behind", 0)
