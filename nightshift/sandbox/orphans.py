"""Ends what the jobs of a dead daemon left behind on the machine.

bubblewrap's sandboxes, nested ones too, die with their daemon: the kernel sees to it (`--die-with-parent` for the outer
one, a parent-death signal in the nested ones), and their control groups are empty then. Containers have a label and are
removed by the engine's own sweep. Plain processes, the weakest sandbox, die with nobody: they are found here by the
folder of their job. Whoever calls this holds the lock of the home, so no job in its folder has a living daemon.
Temporary files have names by which it can be told later whose they are, and that he is dead.
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
"""The folder below the daemon's own in which jobs without an isolation have theirs."""
_OURS = re.compile(r"nightshift-[a-z]+-(\d+)-.+")


def sweep_jobs(scratch: Path) -> tuple[list[int], list[Path]]:
    """End the processes of jobs in the folder of one home, and remove their folders; which these were.

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
    """Kill until nobody is left: a process may be born while the others are killed."""
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
    """Processes whose home, as the job was given it, or whose place is below the folder."""
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
    """The beginning of a temporary file's name; `what` is one word in small letters."""
    return f"nightshift-{what}-{os.getpid()}-"


def sweep_temporary(folder: Path | None = None) -> list[Path]:
    """Remove what processes of this user left behind that are no more; what was removed.

    Args:
        folder: the one for temporary files, the system's if None.
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
