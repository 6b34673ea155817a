"""Ends processes of jobs that a dead daemon left running on the machine.

The kernel ends bubblewrap's sandboxes together with their daemon: the outer ones by `--die-with-parent`, the nested
ones by a parent-death signal. Only their empty control groups are left. Containers have a label, by which
`docker_engine` removes them. Plain processes (the weakest sandbox) do not die with the daemon; this module finds them
by the folder of their job. The caller must hold the lock of the home folder, which proves that no living daemon has
jobs in it. Temporary files have names that contain the number of the process that created them, so files of dead
processes can be recognised.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from nightshift.sandbox import job_folders

ROUNDS, PAUSE_S = 20, 0.05
JOBS = "process-jobs"
"""Folder below the daemon's own folder, for the folders of jobs that run without an isolation."""
_OURS = re.compile(r"nightshift-[a-z]+-(\d+)-.+")


def sweep_jobs(scratch: Path) -> tuple[list[int], list[Path]]:
    """End the processes of jobs below one daemon's folder, and remove the jobs' folders.

    Returns the ended processes and the removed folders.

    Args:
        scratch: the daemon's own folder.
    """
    folder = job_folders.where(scratch / JOBS)
    if not folder.is_dir():
        return [], []
    ended = _end(folder.resolve())
    left = [path for path in folder.glob("job-*") if path.is_dir()]
    for path in left:
        shutil.rmtree(path, ignore_errors=True)
    return ended, left


def _end(folder: Path) -> list[int]:
    """Kill processes until none is left, because new ones may be created while others are being killed."""
    ended = set[int]()
    for _ in range(ROUNDS):
        pids = list(_of_jobs(folder))
        if not pids:
            break
        for pid in pids:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        ended.update(pids)
        time.sleep(PAUSE_S)
    return sorted(ended)


def _of_jobs(folder: Path) -> Iterator[int]:
    """Yield the processes whose HOME (as set for jobs) or working directory is below the folder."""
    home = f"HOME={folder}/job-".encode()
    for path in Path("/proc").iterdir():
        if path.name.isdigit() and int(path.name) != os.getpid():
            with contextlib.suppress(OSError):
                variables = (path / "environ").read_bytes().split(b"\0")
                if any(each.startswith(home) for each in variables) or _is_below(path / "cwd", folder):
                    yield int(path.name)


def _is_below(link: Path, folder: Path) -> bool:
    return str(link.readlink()).startswith(f"{folder}/job-")


def prefix(what: str) -> str:
    """Return the prefix for the name of a temporary file. `what` is one lower-case word."""
    return f"nightshift-{what}-{os.getpid()}-"


def sweep_temporary(folder: Path | None = None) -> list[Path]:
    """Remove temporary files that dead processes of this user left; return their paths.

    Args:
        folder: the folder of temporary files; None for the system's.
    """
    gone = []
    for path in (folder or Path(tempfile.gettempdir())).glob("nightshift-*"):
        owner = _OURS.fullmatch(path.name)
        with contextlib.suppress(OSError):
            if owner and not Path("/proc", owner[1]).exists() and path.lstat().st_uid == os.geteuid():
                _remove(path)
                gone.append(path)
    return gone


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()
