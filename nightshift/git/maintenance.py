"""Keeps the daemon's own repository small: packs objects, drops what nothing names, deletes the branches of old tasks.

Each task leaves a dozen loose objects, a branch and a note. Packing is safe beside everything else: an object is
removed only when a pack on the disk has it. Dropping is not: a command that is about to use an object again, because it
has just the bytes that are to be stored, may find it gone the moment after. So what nothing names is dropped only when
it is weeks old, and while no command of ours stores anything (`SharedLock`). The owner's repositories are left alone.
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
"""How long what nothing names any more stays, as in git itself."""
PACK_S = 1800.0
# What is packed is removed where it was: the pack must be on the disk first. One thread and little memory, since
# nobody waits for it.
_PACKING = (
    *("-c", "core.fsync=loose-object,pack,pack-metadata,commit-graph,reference"),
    *("-c", "pack.threads=1", "-c", "pack.windowMemory=64m"),
)
_AGENT = "refs/heads/agent/"
_BRANCH = re.compile(r"refs/heads/agent/(\d+)-.+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """How the objects of a repository are kept, and in how many KB."""

    loose: int
    packed: int
    packs: int
    kb: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """A branch of a task: its full name, where it stands, and whether main holds that."""

    name: str
    commit: str
    task_id: int
    integrated: bool


class RepositoryMaintenance:
    """Cares for the daemon's own repository. Every method blocks, and may be called from any thread."""

    def __init__(self, repositories: Repositories) -> None:
        self._repositories = repositories

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
        """Return the bytes that loose objects take on the disk: counted once, then raised by what is stored."""
        size = self._own().store.loose_bytes
        if size is None:
            self.count_objects()
            size = self._own().store.loose_bytes
        return size or 0

    def pack(self) -> None:
        """Pack loose objects and small packs, references and the graph of commits; safe at any time.

        Raises:
            GitError: git failed; nothing is lost.
        """
        own = self._own()
        own.git("pack-refs", "--all", "--prune", timeout_s=PACK_S)
        own.git(*_PACKING, "repack", "-d", "-l", "-q", "--geometric=2", timeout_s=PACK_S)
        own.git(*_PACKING, "commit-graph", "write", "--reachable", "--no-progress", timeout_s=PACK_S)
        own.close()  # processes that stay open would keep the removed packs on the disk

    def drop(self, unnamed_days: float = UNNAMED_DAYS) -> None:
        """Pack everything anew, without what nothing has named for some days. Who stores something waits meanwhile.

        Raises:
            GitError: git failed; nothing that is named is lost.
        """
        own, expiry = self._own(), f"{int(unnamed_days * 86_400)}.seconds.ago"
        with own.storing.exclusive():
            own.git("reflog", "expire", "--expire=90.days.ago", "--expire-unreachable=30.days.ago", "--all")
            own.git(*_PACKING, "repack", "-d", "-l", "-q", "--cruft", f"--cruft-expiration={expiry}", timeout_s=PACK_S)
            own.git(*_PACKING, "prune", f"--expire={expiry}", timeout_s=PACK_S)
            own.git(*_PACKING, "commit-graph", "write", "--reachable", "--no-progress", timeout_s=PACK_S)
            own.close()

    def branches(self) -> list[Branch]:
        """The branches of tasks."""
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
        """Delete branches that still stand where they were seen, were made by their task, and are shown nowhere.

        Raises:
            ReferenceLocked: a lock is in the way; some may be deleted already.
        """
        own = self._own()
        return [branch.name for branch in branches if _is_tasks(own, branch) and _delete(own, branch)]

    def delete_of(self, done: Callable[[Collection[int]], Collection[int]]) -> list[str]:
        """Delete the integrated branches of those tasks that `done` picks from the ids of all that have one."""
        there = [branch for branch in self.branches() if branch.integrated]
        wanted = frozenset(done(frozenset(branch.task_id for branch in there)))
        return self.delete(branch for branch in there if branch.task_id in wanted)

    def _own(self) -> Repository:
        return self._repositories.find(None)


def _is_tasks(own: Repository, branch: Branch) -> bool:
    """Tell whether the task made what the branch holds; a visitor's branch of such a name is his."""
    message = own.read_commit(branch.commit).message.decode("utf-8", "replace")
    made_by_task = str(branch.task_id) in {mark_of(message), draft_of(message)} and is_of_home(own, message)
    return made_by_task and not find_checkout(own, branch.name)


def _delete(own: Repository, branch: Branch) -> bool:
    answer = own.git.ask("update-ref", "--no-deref", "-d", branch.name, branch.commit)
    refuse_locked(answer.error)
    return not answer.code
