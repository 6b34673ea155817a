"""Removes what a dead daemon left behind, at the next start of the same home and while its lock is held.

Only things that provably belong to us and to a dead process are removed. They are in a folder of this home, or have one
of our names with the id of a process that no longer exists. The care is necessary because another home's daemon may run
on the same machine, and the owner uses the machine too.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nightshift.core.events import Event, Kind, Level
from nightshift.git import leftovers
from nightshift.sandbox import cgroups, job_folders, orphans

NAMED = 20
"""Maximum number of names that the event lists for each kind; the counts in the event are complete."""
# Names of half-written files and folders: `.name.PID` or `.name-PID`, optionally followed by a thread's id.
_DRAFT = re.compile(r"\..+?[.-](\d+)(?:-\d+)?")
# Name of a packed tree that was not yet completely written.
_TREE = re.compile(r"[0-9a-f]{40,64}\.(\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """The paths where one home's daemon may leave files.

    Attributes:
        lock: the home's lock file, which this process holds; files that are newer than the lock file are not leftovers.
        port: the file with the daemon's port.
        scratch: the daemon's own folder for temporary files.
        drafts: folders of this home where files are written under a draft name and then renamed.
        shared: files that are also written under a draft name first, but in folders that the owner uses too.
        workspace: the daemon's own repository.
        packages: the folder of installed package layers.
    """

    lock: Path
    port: Path
    scratch: Path
    drafts: Sequence[Path]
    shared: Sequence[Path]
    workspace: Path
    packages: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    """The result of a sweep: the removed names by kind, and a sentence on what was left alone and why."""

    removed: Mapping[str, Sequence[str]]
    left: str = ""

    @property
    def event(self) -> Event | None:
        """Event of the sweep; None if nothing was found."""
        removed = {kind: names for kind, names in self.removed.items() if names}
        if not removed and not self.left:
            return None
        counts = ", ".join(f"{len(names)} {kind}" for kind, names in removed.items())
        parts = [f"cleaned up after a daemon that died: {counts}" if removed else "", self.left]
        data = {kind.replace(" ", "_"): list(names[:NAMED]) for kind, names in removed.items()}
        level = Level.WARNING if self.left else Level.INFO
        return Event(kind=Kind.ORPHANS_SWEPT, level=level, message="; ".join(filter(None, parts)), data=data)


def sweep(where: Places) -> Swept:
    """Remove the leftovers of one home. Its lock must be held, and the daemon must not have begun anything."""
    since = where.lock.stat().st_mtime
    ended, folders = orphans.sweep_jobs(where.scratch)
    git = leftovers.sweep(where.workspace, since)
    removed = {
        "processes": [str(pid) for pid in ended],
        "job folders": _names(folders),
        "control groups": cgroups.sweep(),
        "temporary files": _names(orphans.sweep_temporary()),
        "drafts": _names(_drafts(where, since)),
        "git files": _names(git.removed),
        "port files": _names(_port(where.port, since)),
    }
    return Swept(removed=removed, left=_locks_left(where.workspace, git.users))


def _locks_left(workspace: Path, users: Sequence[int]) -> str:
    if not users:
        return ""
    numbers = ", ".join(map(str, users))
    return f"locks of git in {workspace} were left alone, because git process {numbers} is at work there"


def _names(paths: Iterable[Path]) -> list[str]:
    return [str(path) for path in paths]


def _port(file: Path, since: float) -> list[Path]:
    """Remove the old port file. No daemon uses it: this one does not listen yet, and the lock excludes others."""
    return [file] if _is_older(file, since) and _remove(file) else []


def _drafts(where: Places, since: float) -> list[Path]:
    """Remove half-written files of processes that no longer exist.

    A file with this process's own id also counts, if it is older than the lock: in containers, ids are reused.
    """
    paths = []
    for folder in (*where.drafts, job_folders.where(where.packages)):
        paths += [path for path in _entries(folder) if _is_dead(path.name, _DRAFT) or _is_dead(path.name, _TREE)]
    for file in where.shared:
        paths += [path for path in file.parent.glob(f".{file.name}.*") if _is_dead(path.name, _DRAFT)]
    return [path for path in paths if _is_older(path, since) and _remove(path)]


def _entries(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _is_dead(name: str, shape: re.Pattern[str]) -> bool:
    owner = shape.fullmatch(name)
    return owner is not None and (int(owner[1]) == os.getpid() or not Path("/proc", owner[1]).exists())


def _is_older(path: Path, since: float) -> bool:
    with contextlib.suppress(OSError):
        return path.lstat().st_mtime < since
    return False


def _remove(path: Path) -> bool:
    with contextlib.suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
        return True
    return False
