"""Starts one job and sees it to its end: output capped, deadline kept, nothing waited for that a grandchild holds open.

No thread belongs to a job: its end is seen through a pid descriptor (Linux 5.3), its output through the event loop.
Whatever happens, including cancellation, the job is killed and its end awaited before control goes back.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TypeVar, cast

from core.errors import SandboxError
from core.isolation import Ended
from sandbox.pipes import Input, Output

_T = TypeVar("_T")

KILL_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """What is started and how it is bounded. `kill` ends what belongs to the job, given its process's number."""

    argv: Sequence[str]
    env: Mapping[str, str]
    stdin: bytes
    wall_s: float
    output_bytes: int
    kill: Callable[[int], None]
    pass_fds: tuple[int, ...] = ()
    cwd: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """How a job ended; `ended` is EXITED, TIMEOUT or OUTPUT_LIMIT."""

    exit_code: int
    ended: Ended
    stdout: bytes
    stderr: bytes
    duration_s: float


async def run(launch: Launch) -> Finished:
    """Run to the end, to a limit, or until cancelled.

    Raises:
        SandboxError: the program could not be started, or did not end when it was killed.
    """
    started = time.monotonic()
    job = _Job(launch)
    try:
        ended = await job.first(launch.wall_s)
    finally:
        await uninterrupted(job.end())
    return Finished(
        exit_code=job.process.returncode,
        # A program that floods and exits at once may be gone before its flood is read.
        ended=Ended.OUTPUT_LIMIT if ended is Ended.EXITED and job.flooded else ended,
        stdout=bytes(job.stdout.kept),
        stderr=bytes(job.stderr.kept),
        duration_s=time.monotonic() - started,
    )


async def uninterrupted(work: Awaitable[_T]) -> _T:
    """Finish `work` even when this task is cancelled meanwhile; the cancellation is raised afterwards."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            cancelled = error
    result = task.result()
    if cancelled:
        raise cancelled
    return result


class _Job:
    """A started process with its pipes and the two things worth waiting for: its end, and a flood."""

    def __init__(self, launch: Launch) -> None:
        self._launch, self._loop = launch, asyncio.get_running_loop()
        self._exited: asyncio.Future[None] = self._loop.create_future()
        self._over: asyncio.Future[Ended] = self._loop.create_future()
        self.process = _start(launch)
        self._descriptor = os.pidfd_open(self.process.pid)
        self._loop.add_reader(self._descriptor, self._reap)
        most = launch.output_bytes
        self.stdout = Output(cast(IO[bytes], self.process.stdout), self._loop, most, self._flood)
        self.stderr = Output(cast(IO[bytes], self.process.stderr), self._loop, most, self._flood)
        self._stdin = Input(cast(IO[bytes], self.process.stdin), self._loop, launch.stdin)

    @property
    def flooded(self) -> bool:
        return self.stdout.is_full or self.stderr.is_full

    async def first(self, wall_s: float) -> Ended:
        """What came first: the end, a flood, or the deadline."""
        done, _ = await asyncio.wait({self._over}, timeout=wall_s)
        return self._over.result() if done else Ended.TIMEOUT

    async def end(self) -> None:
        """Kill what is left, wait for the end, and take what the pipes still hold without waiting for more."""
        self._launch.kill(self.process.pid)
        if not self._exited.done():
            self.process.kill()
            await asyncio.wait({self._exited}, timeout=KILL_S)
        for stream in (self.stdout, self.stderr):
            stream.close()
        self._stdin.close()
        if not self._exited.done():
            raise SandboxError(f"process {self.process.pid} did not end within {KILL_S:g} s of SIGKILL")

    def _reap(self) -> None:
        self._loop.remove_reader(self._descriptor)
        os.close(self._descriptor)
        self.process.wait()
        self._exited.set_result(None)
        self._settle(Ended.EXITED)

    def _flood(self) -> None:
        self._settle(Ended.OUTPUT_LIMIT)

    def _settle(self, ended: Ended) -> None:
        if not self._over.done():
            self._over.set_result(ended)


def _start(launch: Launch) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            launch.argv,
            env=dict(launch.env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            pass_fds=launch.pass_fds,
            cwd=launch.cwd,
            start_new_session=True,
        )
    except OSError as error:
        raise SandboxError(f"{launch.argv[0]} could not be started: {error.strerror}") from error
