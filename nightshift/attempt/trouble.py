"""Distinguishes trouble outside a task, such as a full disk, a lock or a lack of memory, from the task's own failure.

Such trouble is not the task's fault, so it does not count as a try. The task keeps its steps and its change and waits,
for hours if necessary. The first task that meets a trouble checks repeatedly whether it has passed; the other tasks
wait for that one.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from nightshift.core.errors import (
    GitError,
    GitKilled,
    PlaceUnready,
    ReferenceLocked,
    RepositoryUnready,
    SandboxError,
    SandboxUnready,
)

# Error numbers that a file system returns while it is unusable.
_OF_PLACES = {
    errno.ENOSPC: "is full",
    errno.EDQUOT: "is full: the quota is used up",
    errno.EROFS: "is read-only",
    errno.EIO: "reports errors",
    errno.ESTALE: "is away",
    errno.ENODEV: "is away",
    errno.ENXIO: "is away",
    errno.ENOTCONN: "is away",
    errno.EHOSTDOWN: "is away",
    errno.ETIMEDOUT: "is away",
}
_OF_MACHINE = {
    errno.EMFILE: "open files of this process (`ulimit -n`)",
    errno.ENFILE: "open files of this machine",
    errno.ENOMEM: "memory of this machine",
    errno.EAGAIN: "processes of this machine",
}
_BY_WORDS = {os.strerror(number).lower(): number for number in (*_OF_PLACES, *_OF_MACHINE)}
_LEAST_BYTES, _LEAST_INODES = 1 << 20, 16
# Seconds that a task waits. The task that checks for the trouble waits `_FIRST_S` at first and `_LOOKS_S` at most; all
# other tasks wait `_OTHERS_S`.
_FIRST_S, _LOOKS_S, _OTHERS_S = 5.0, 60.0, 300.0


def find_trouble(error: BaseException, repo: Path) -> str:
    """Return the trouble because of which a repository's task must wait.

    Empty if the error is the task's own failure.
    """
    for each in _chain(error):
        if isinstance(each, ReferenceLocked):
            return f"a lock in {_short(repo)}: {each}"
        number = _number_of(each)
        if number in _OF_MACHINE:
            return _OF_MACHINE[number]
        if number in _OF_PLACES:
            named = isinstance(each, OSError) and isinstance(each.filename, str | bytes) and os.fsdecode(each.filename)
            return f"disk of {_short(Path(named) if named else repo)} {_OF_PLACES[number]}"
        if isinstance(each, PlaceUnready | GitKilled):
            return str(each)
        if isinstance(each, RepositoryUnready):  # When the task was accepted, the repository was there
            return f"the repository of {_short(repo)}, which cannot be read now ({str(each).partition('; run ')[0]})"
        if isinstance(each, SandboxUnready):
            return f"the sandbox: {each}"
    is_of_place = any(isinstance(each, GitError | OSError) for each in _chain(error))
    return find_lack(repo) if is_of_place else ""


def find_lack(repo: Path) -> str:
    """Return what prevents work in a repository; empty if nothing does."""
    try:
        room = os.statvfs(repo)
    except OSError as error:
        why = _OF_PLACES.get(error.errno or 0)
        return f"disk of {_short(repo)} {why}" if why else f"{_short(repo)}, which is not there"
    if room.f_flag & os.ST_RDONLY:
        return f"disk of {_short(repo)} is read-only"
    if room.f_bavail * room.f_frsize < _LEAST_BYTES:
        return f"disk of {_short(repo)} is full"
    if room.f_files and room.f_favail < _LEAST_INODES:  # a file system without an inode limit reports 0
        return f"disk of {_short(repo)} has no inodes left"
    return ""


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and the errors that led to it."""
    seen = set[int]()
    waiting: list[BaseException | None] = [error]
    while waiting:
        each = waiting.pop()
        if each is not None and id(each) not in seen:
            seen.add(id(each))
            yield each
            waiting += [each.__cause__, each.__context__]
            waiting += each.exceptions if isinstance(each, BaseExceptionGroup) else ()


def _number_of(error: BaseException) -> int:
    """Return an error's system error number; 0 if it has none.

    The messages of git and sandboxes are searched for the system's text of each number.
    """
    if isinstance(error, OSError):
        return error.errno or 0
    if isinstance(error, GitError | SandboxError):
        words = str(error).lower()
        return next((number for text, number in _BY_WORDS.items() if text in words), 0)
    return 0


def _short(path: Path) -> str:
    home = Path.home()
    return f"~/{path.relative_to(home)}" if path != home and path.is_relative_to(home) else str(path)


@dataclass(slots=True)
class Troubles:
    """The troubles that tasks wait for; for each trouble, one of the tasks checks whether it has passed."""

    _looking: dict[str, int] = field(default_factory=dict)
    _waits: dict[int, int] = field(default_factory=dict)

    def enter(self, task_id: int, why: str, now: datetime) -> tuple[datetime, bool]:
        """Record that a trouble holds up a task; return when its wait ends, and True if the trouble is new."""
        is_new = why not in self._looking
        self.leave(task_id, but=why)
        looks = self._looking.setdefault(why, task_id) == task_id
        count = self._waits[task_id] = self._waits.get(task_id, 0) + 1
        rest_s = min(_FIRST_S * 2.0 ** min(count - 1, 20), _LOOKS_S) if looks else _OTHERS_S
        return now + timedelta(seconds=rest_s), is_new

    def leave(self, task_id: int, *, but: str = "") -> tuple[str, ...]:
        """Record that a task waits for no trouble any more or, if `but` is given, only for that trouble.

        Returns:
            The other troubles that the task checked; nobody checks them any more.
        """
        over = tuple(why for why, looking in self._looking.items() if looking == task_id and why != but)
        for why in over:
            del self._looking[why]
        if not but:
            self._waits.pop(task_id, None)
        return over
