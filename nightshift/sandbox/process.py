"""The weakest sandbox: a separate process with limits, a clean environment and a temporary folder, but no isolation.

The job can read everything that its user can read, and can use the network. This sandbox exists for systems where no
isolation works, and is used only if the owner chose it by name. If the daemon is root, the job at least runs as another
user.

A process of the job that leaves its session is found at the end by a random variable in its environment. It is not
found if it has also cleared its environment.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from nightshift.core.errors import SandboxError
from nightshift.core.isolation import WORK, SandboxJob, SandboxResult
from nightshift.sandbox import child, launcher

NAME = "process"
_MARK = "NIGHTSHIFT_JOB"


@dataclass(frozen=True, slots=True)
class ProcessSandbox:
    """Runs jobs as plain processes.

    Args:
        scratch: an existing folder for temporary folders, which the jobs' user can enter.
        nice: by how many levels the priority of jobs is lowered (`sandbox.launcher`).
    """

    scratch: Path
    nice: int = 0
    name = NAME

    async def run(self, job: SandboxJob) -> SandboxResult:
        """Run a job to its end, to a limit, or until cancelled.

        Raises:
            SandboxError: the folder could not be filled, or the command could not be started.
        """
        folder = Path(tempfile.mkdtemp(prefix="job-", dir=self.scratch))
        try:
            await asyncio.to_thread(_fill, folder, job)
            finished = await child.run(_launch(folder, job, self.nice))
        except OSError as error:
            raise SandboxError(f"the job's folder could not be filled: {error}") from error
        finally:
            await child.finish_uninterrupted(asyncio.to_thread(_remove, folder))
        return SandboxResult(
            exit_code=finished.exit_code,
            ended=finished.ended,
            stdout=finished.stdout,
            stderr=finished.stderr,
            duration_s=finished.duration_s,
        )


def _fill(folder: Path, job: SandboxJob) -> None:
    """Create the work folder, and copy the layers and the mounts below `/work` into it."""
    work, temporary = folder / "work", folder / "tmp"
    work.mkdir()
    temporary.mkdir()
    for layer in job.layers:
        shutil.copytree(layer.host, work, dirs_exist_ok=True, copy_function=shutil.copy)
    for mount in job.mounts:
        if mount.inside.startswith(WORK + "/"):
            target = work / mount.inside.removeprefix(WORK + "/")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(mount.host, target)
    if os.geteuid() == 0:
        for path in (folder, work, temporary, *work.rglob("*")):
            os.chown(path, launcher.JOB_UID, launcher.JOB_UID, follow_symlinks=False)


def _remove(folder: Path) -> None:
    """Remove a job's folder even if it is nested too deeply for Python, or closed to its owner."""
    subprocess.run(["rm", "-rf", "--", str(folder)], stderr=subprocess.DEVNULL, check=False)
    if folder.exists():
        subprocess.run(["chmod", "-R", "u+rwX", "--", str(folder)], stderr=subprocess.DEVNULL, check=False)
        subprocess.run(["rm", "-rf", "--", str(folder)], stderr=subprocess.DEVNULL, check=False)


def _launch(folder: Path, job: SandboxJob, nice: int) -> child.Launch:
    mark = secrets.token_hex(16)
    mounts = {mount.inside: str(mount.host) for mount in job.mounts if not mount.inside.startswith(WORK + "/")}
    places = {**mounts, WORK: str(folder / "work")}
    temporary = str(folder / "tmp")
    bound = ["prlimit", f"--nproc={_processes() + job.limits.pids}", "--"]
    return child.Launch(
        argv=[
            *launcher.prefix(replace(job.limits, tmp_mb=0), (), address_space=True, nice=nice),
            *bound,
            *(_translate(word, places) for word in job.argv),
        ],
        env={
            **launcher.ENV,
            "HOME": temporary,
            "TMPDIR": temporary,
            "LANG": "C.UTF-8",
            "PYTHONDONTWRITEBYTECODE": "1",
            _MARK: mark,
        },
        stdin=job.stdin,
        wall_s=job.limits.wall_s,
        output_bytes=job.limits.output_bytes,
        kill=lambda pid: _kill(pid, f"{_MARK}={mark}".encode()),
        cwd=folder / "work",
    )


def _translate(word: str, places: dict[str, str]) -> str:
    """Return an argument of the command, with the real path in place of a path inside the sandbox."""
    for inside, outside in places.items():
        if word == inside or word.startswith(inside + "/"):
            return outside + word.removeprefix(inside)
    return word


def _processes() -> int:
    """Count all processes of the jobs' user, because the kernel's limit includes all of them."""
    uid = launcher.job_uid()
    count = 0
    for path in Path("/proc").iterdir():
        if path.name.isdigit():
            with contextlib.suppress(OSError):
                count += path.stat().st_uid == uid
    return count


def _kill(pid: int, mark: bytes) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    for other in _find_marked(mark):
        with contextlib.suppress(ProcessLookupError):
            os.kill(other, signal.SIGKILL)


def _find_marked(mark: bytes) -> Iterator[int]:
    for path in Path("/proc").iterdir():
        if path.name.isdigit() and int(path.name) != os.getpid():
            with contextlib.suppress(OSError):
                if mark in (path / "environ").read_bytes().split(b"\0"):
                    yield int(path.name)
