"""Keeps the daemon's own repository small: packs objects, deletes unreachable objects, and deletes old tasks' branches.

Each task leaves a dozen loose objects, a branch and a note. Packing is always safe, because an object is removed only
when a pack on the disk contains it. Deleting unreachable objects is not always safe. A command that stores the same
bytes as an existing unreachable object relies on that object, which may then be deleted. So unreachable objects are
deleted only when they are weeks old, and while no command of ours stores anything (`SharedLock`). The owner's
repositories are not maintained.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from nightshift.core.tasks.commit_message import draft_of, mark_of
from nightshift.git.branches import is_of_home
from nightshift.git.commands import refuse_locked
from nightshift.git.discovery import MAIN
from nightshift.git.registry import Repositories
from nightshift.git.repository import Repository, find_checkout

UNNAMED_DAYS = 14
"""Days for which unreachable objects are kept, as in git itself."""
PACK_S = 1800.0
# The pack must be on the disk before packing removes the loose objects. One thread and little memory are enough,
# because nobody waits for the result.
_PACKING = (
    *("-c", "core.fsync=loose-object,pack,pack-metadata,commit-graph,reference"),
    *("-c", "pack.threads=1", "-c", "pack.windowMemory=64m"),
)
_AGENT = "refs/heads/agent/"
_BRANCH = re.compile(r"refs/heads/agent/(\d+)-.+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """The numbers of a repository's loose and packed objects, and the sizes of both in KB."""

    loose: int
    packed: int
    packs: int
    kb: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """A branch of a task: its full name, its commit, and whether main contains that commit."""

    name: str
    commit: str
    task_id: int
    integrated: bool


class RepositoryMaintenance:
    """Maintains the daemon's own repository. Every method blocks, and may be called from any thread."""

    def __init__(self, repositories: Repositories) -> None:
        self._repositories = repositories

    def close_idle(self) -> None:
        """End the processes of the owner's repositories that were not used since the last call."""
        self._repositories.close_idle()

    def count_objects(self) -> Stored:
        """Count the repository's objects, loose and packed."""
        lines = self._own().git("count-objects", "-v").text.splitlines()
        counts = {name: int(value) for name, _, value in (line.partition(": ") for line in lines) if value.isdigit()}
        self._own().store.loose_bytes = counts["size"] << 10
        return Stored(
            loose=counts["count"],
            packed=counts["in-pack"],
            packs=counts["packs"],
            kb=counts["size"] + counts["size-pack"],
        )

    def loose_bytes(self) -> int:
        """Return the disk space of loose objects in bytes; counted once, and then increased by each object stored."""
        size = self._own().store.loose_bytes
        if size is None:
            self.count_objects()
            size = self._own().store.loose_bytes
        return size or 0

    def pack(self) -> None:
        """Pack loose objects and small packs, the references and the commit graph; safe at any time.

        Raises:
            GitError: Git failed; nothing is lost.
        """
        own = self._own()
        own.git("pack-refs", "--all", "--prune", timeout_s=PACK_S)
        own.git(*_PACKING, "repack", "-d", "-l", "-q", "--geometric=2", timeout_s=PACK_S)
        own.git(*_PACKING, "commit-graph", "write", "--reachable", "--no-progress", timeout_s=PACK_S)
        own.close()  # Open processes would keep the disk space of removed packs in use

    def drop(self, unnamed_days: float = UNNAMED_DAYS) -> None:
        """Repack all objects except those that have been unreachable for `unnamed_days`.

        Commands that store objects wait meanwhile.

        Raises:
            GitError: Git failed; nothing that is reachable is lost.
        """
        own, expiry = self._own(), f"{int(unnamed_days * 86_400)}.seconds.ago"
        with own.storing.exclusive():
            own.git("reflog", "expire", "--expire=90.days.ago", "--expire-unreachable=30.days.ago", "--all")
            own.git(*_PACKING, "repack", "-d", "-l", "-q", "--cruft", f"--cruft-expiration={expiry}", timeout_s=PACK_S)
            own.git(*_PACKING, "prune", f"--expire={expiry}", timeout_s=PACK_S)
            own.git(*_PACKING, "commit-graph", "write", "--reachable", "--no-progress", timeout_s=PACK_S)
            own.close()

    def branches(self) -> list[Branch]:
        """List the branches of tasks."""
        own = self._own()
        merged = set(own.git("for-each-ref", "--format=%(refname)", f"--merged={MAIN}", _AGENT).text.splitlines())
        lines = own.git("for-each-ref", "--format=%(objectname) %(refname)", _AGENT).text.splitlines()
        matches = (
            (name, commit, _BRANCH.fullmatch(name)) for commit, _, name in (each.partition(" ") for each in lines)
        )
        return [
            Branch(name=name, commit=commit, task_id=int(match[1]), integrated=name in merged)
            for name, commit, match in matches
            if match
        ]

    def delete(self, branches: Iterable[Branch]) -> list[str]:
        """Delete the branches that have not moved, were made by their task and are checked out nowhere.

        Returns the names of the deleted branches.

        Raises:
            ReferenceLocked: A reference is locked; some branches may be deleted already.
        """
        own = self._own()
        return [branch.name for branch in branches if _is_tasks(own, branch) and _delete(own, branch)]

    def delete_of(self, done: Callable[[Collection[int]], Collection[int]]) -> list[str]:
        """Delete the integrated branches of tasks that are done; return the names of the deleted branches.

        `done` is called with the ids of all tasks with an integrated branch, and returns those whose branch may be
        deleted.
        """
        there = [branch for branch in self.branches() if branch.integrated]
        wanted = frozenset(done(frozenset(branch.task_id for branch in there)))
        return self.delete(branch for branch in there if branch.task_id in wanted)

    def _own(self) -> Repository:
        return self._repositories.find(None)


def _is_tasks(own: Repository, branch: Branch) -> bool:
    """Return True if the task made the branch's commit and the branch is checked out nowhere.

    Otherwise a person made the branch in the daemon's repository, and it must not be deleted.
    """
    message = own.read_commit(branch.commit).message.decode("utf-8", "replace")
    made_by_task = str(branch.task_id) in {mark_of(message), draft_of(message)} and is_of_home(own, message)
    return made_by_task and not find_checkout(own, branch.name)


def _delete(own: Repository, branch: Branch) -> bool:
    answer = own.git.ask("update-ref", "--no-deref", "-d", branch.name, branch.commit)
    refuse_locked(answer.error)
    return not answer.code
