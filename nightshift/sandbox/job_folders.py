"""Folders that the jobs' user can enter, but only the daemon can change.

Files that are shown inside the sandbox are opened by the jobs' user. If the daemon runs as root, jobs have a user of
their own, who cannot reach a checkout below a closed home. In that case a folder below /var/tmp is used instead. Anyone
can create names in /var/tmp, so a folder is accepted only if it is a real folder, belongs to the daemon, and is not
writable for others.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from pathlib import Path

from nightshift.core.errors import SandboxError
from nightshift.sandbox import launcher

FALLBACK = Path("/var/tmp")  # noqa: S108 (see `_own`)
_COVERED = ("/tmp", "/dev", "/work")  # noqa: S108 (what jobs have there is their own)
_ORIGIN = ".stands-in-for"
_PUBLIC, _PRIVATE, _PRIVATE_FOR_JOBS = 0o755, 0o700, 0o710


def public(wanted: Path, fallback: Path = FALLBACK) -> Path:
    """Return a folder for programs and libraries, without secrets: `wanted`, or a substitute if jobs cannot enter it.

    Raises:
        SandboxError: no such folder can be created.
    """
    return _reachable(wanted, _PUBLIC, fallback)


def private(wanted: Path, fallback: Path = FALLBACK) -> Path:
    """Return a folder for code and tests: like `public`, but closed to all users except the daemon's and the jobs'.

    Raises:
        SandboxError: no such folder can be created.
    """
    folder = _reachable(wanted, _PRIVATE, fallback)
    if os.geteuid() == 0:
        os.chown(folder, 0, launcher.JOB_UID)
        folder.chmod(_PRIVATE_FOR_JOBS)
    return folder


def where(wanted: Path, fallback: Path = FALLBACK) -> Path:
    """Return the path of the folder that `public` or `private` would return. Creates nothing."""
    return wanted if enterable(wanted.parent) else _stand_in(wanted, fallback)


def choose_shown_folder(wanted: Path, fallback: Path = FALLBACK) -> Path:
    """Return a folder whose path is the same inside the sandbox.

    It is `wanted`, or a substitute if the sandbox has another folder of its own at that path.
    """
    covered = any(wanted.resolve().is_relative_to(each) for each in _COVERED)
    return _stand_in(wanted, fallback) if covered else wanted


def enterable(folder: Path) -> bool:
    """Check whether the jobs' user can enter every folder of a path."""
    if os.geteuid() != 0:
        return os.access(folder, os.X_OK)
    path = folder.resolve()
    return all(_passes(part.stat()) for part in (path, *path.parents))


def _passes(status: os.stat_result) -> bool:
    is_of_group = status.st_gid == launcher.JOB_UID and status.st_mode & stat.S_IXGRP
    return bool(status.st_mode & stat.S_IXOTH or is_of_group)


def _reachable(wanted: Path, mode: int, fallback: Path) -> Path:
    try:
        wanted.mkdir(mode=mode, parents=True, exist_ok=True)
    except OSError as error:
        raise SandboxError(f"{wanted} cannot be made: {error.strerror}") from error
    if enterable(wanted.parent):
        return _own(wanted, mode)
    above = _own(fallback / f"nightshift-{os.geteuid()}", _PUBLIC)
    _sweep(above)
    folder = _stand_in(wanted, fallback)
    folder.with_suffix(_ORIGIN).write_text(str(wanted.resolve()))
    return _own(folder, mode)


def _stand_in(wanted: Path, fallback: Path) -> Path:
    return fallback / f"nightshift-{os.geteuid()}" / f"{wanted.name}-{_digest(wanted)}"


def _sweep(above: Path) -> None:
    """Remove the substitutes of folders that no longer exist."""
    for note in above.glob(f"*{_ORIGIN}"):
        try:
            origin = note.read_text()
        except FileNotFoundError:  # another process sweeps as well, and was faster
            continue
        if not Path(origin).exists():
            shutil.rmtree(note.with_suffix(""), ignore_errors=True)
            note.unlink(missing_ok=True)


def _own(folder: Path, mode: int) -> Path:
    try:
        folder.mkdir(mode=mode, exist_ok=True)
        status = folder.lstat()
    except OSError as error:
        raise SandboxError(f"{folder} cannot be made: {error.strerror}") from error
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
        raise SandboxError(f"{folder} belongs to another user; remove it")
    folder.chmod(mode)
    return folder


def _digest(path: Path) -> str:
    return hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:12]
