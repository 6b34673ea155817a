"""Removes locks and crash reports that killed git processes left in the daemon's own repository.

A lock left behind blocks all later commands. It is removed only under two conditions. It is older than the daemon's own
lock, so no git process of this daemon made it. And no git process works in the repository, so the lock does not belong
to a person who works there. In the owner's repositories no lock is removed; the resulting error names the lock with its
age (`protocol.lock_in`).
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from psutil import Process

WAIT_S, PAUSE_S = 2.0, 0.1
"""Seconds to wait for git processes of a dead daemon, which end when their input ends; and seconds between two checks.
"""
_STORE = frozenset({f"{number:02x}" for number in range(256)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftovers:
    """The removed paths, and the processes that still work in the repository, which is why some locks were kept."""

    removed: tuple[Path, ...] = ()
    users: tuple[int, ...] = ()


def sweep(workspace: Path, since: float) -> Leftovers:
    """Remove locks and crash reports from the daemon's own repository.

    Args:
        workspace: The repository's checkout.
        since: The time when the daemon took its lock, in seconds since the epoch; newer files are kept.
    """
    git = workspace.resolve() / ".git"
    if not (git / "HEAD").exists():
        return Leftovers()
    old = [path for path in _candidates(git) if _older(path, since)]
    if not old:
        return Leftovers()
    if users := _wait_for(workspace.resolve()):
        return Leftovers(users=tuple(users))
    for path in old:
        path.unlink(missing_ok=True)
    return Leftovers(removed=tuple(old))


def _candidates(git: Path) -> Iterator[Path]:
    for folder, folders, files in os.walk(git):
        folders[:] = [name for name in folders if not (name in _STORE and Path(folder).name == "objects")]
        yield from (Path(folder, name) for name in files if name.endswith(".lock") or "fast_import_crash_" in name)


def _older(path: Path, since: float) -> bool:
    try:
        return path.stat().st_mtime < since
    except OSError:
        return False


def _wait_for(root: Path) -> list[int]:
    """Return the git processes that work in the repository, after waiting for those whose daemon has died."""
    end = time.monotonic() + WAIT_S
    while (users := list(_users(root))) and time.monotonic() < end:
        time.sleep(PAUSE_S)
    return users


def _users(root: Path) -> Iterator[int]:
    import psutil  # noqa: PLC0415  only where something was left

    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):  # it has ended, or belongs to another user
            if process.pid != os.getpid() and process.name().startswith("git") and _works_in(process, root):
                yield process.pid


def _works_in(process: Process, root: Path) -> bool:
    """Return True if a process works below a folder, judged by its working directory, repository and open files."""
    state = process.as_dict(["environ", "cwd", "open_files"])
    files = [file.path for file in state["open_files"] or ()]
    paths = [(state["environ"] or {}).get("GIT_DIR", ""), state["cwd"] or "", *files]
    return any(Path(path).is_relative_to(root) for path in paths)
