"""Starts a job, limits its output and time, and waits for its end, but not for pipes that a grandchild holds open.

A job needs no thread: a pid descriptor (Linux 5.3) signals its end, and the event loop reads its output. Whatever
happens, even cancellation, the job is killed and has ended before control returns to the caller.
"""

from __future__ import annotations

import asyncio
import math
import os
import signal
import subprocess
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol, TypeVar, cast

from nightshift.core.errors import SandboxError, SandboxUnready
from nightshift.core.isolation import Ended

_T = TypeVar("_T")

KILL_S = 10.0
LEAST_LOOK_S = 0.05
CHUNK = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """Time limits of a job.

    Attributes:
        wall_s: limit by the clock.
        cpu_s: limit of processor time. Applies only if `used_s` returns the time used.
        cpus: maximum processor time, in seconds, that the job can use per second.
        used_s: returns the processor time used so far; None if it is not known.
    """

    wall_s: float
    cpu_s: float = math.inf
    cpus: float = 1.0
    used_s: Callable[[], float | None] = lambda: None

    def look_s(self) -> float:
        """Return for how many seconds the processor time that is left suffices in any case; 0 if none is left."""
        used = None if self.cpu_s == math.inf else self.used_s()
        if used is None:
            return math.inf
        return max(LEAST_LOOK_S, (self.cpu_s - used) / max(1.0, self.cpus)) if used < self.cpu_s else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """A process to start, and its limits.

    `kill` ends everything that belongs to the job. Its argument is the number of the process.
    """

    argv: Sequence[str]
    env: Mapping[str, str]
    output_bytes: int
    kill: Callable[[int], None]
    stdin: bytes = b""
    wall_s: float = 60.0
    pass_fds: tuple[int, ...] = ()
    cwd: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """The end of a job. `ended` is KILLED if a signal ended the job's main process, but never OUT_OF_MEMORY."""

    exit_code: int
    ended: Ended
    stdout: bytes
    stderr: bytes
    duration_s: float


class Handle(Protocol):
    """A started process. `exited` resolves to its exit code, which is negative if a signal ended it."""

    exited: asyncio.Future[int]

    def kill(self) -> None:
        """End the process and everything that belongs to it."""
        ...

    def let_go(self) -> None:
        """Kill the process like `kill`, for the case that nobody will wait for its end."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipes:
    """Our ends of a job's pipes."""

    stdin: IO[bytes]
    stdout: IO[bytes]
    stderr: IO[bytes]


async def run(launch: Launch) -> Finished:
    """Run a process to its end, to a limit, or until cancelled.

    Raises:
        SandboxError: the program could not be started, or did not end when it was killed.
    """
    return await spawn(launch).finish(launch.stdin, Patience(wall_s=launch.wall_s))


def spawn(launch: Launch) -> Running:
    """Start a process that waits for its input. Must be called on the event loop.

    Raises:
        SandboxError: the program could not be started.
    """
    process = _start(launch)
    pipes = Pipes(
        stdin=cast(IO[bytes], process.stdin),
        stdout=cast(IO[bytes], process.stdout),
        stderr=cast(IO[bytes], process.stderr),
    )
    return Running(_Process(process, launch.kill), pipes, launch.output_bytes)


async def finish_uninterrupted(work: Awaitable[_T]) -> _T:
    """Finish `work` even if this asyncio task is cancelled in the meantime. The cancellation is raised afterwards."""
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


class Running:
    """A started job with its pipes. It signals two events: the end of the job, and too much output."""

    def __init__(self, handle: Handle, pipes: Pipes, output_bytes: int) -> None:
        self._handle, self._pipes, self._loop = handle, pipes, asyncio.get_running_loop()
        self._flooded: asyncio.Future[None] = self._loop.create_future()
        self._input: Input | None = None
        self._began = 0.0
        self.stdout = Output(pipes.stdout, self._loop, output_bytes, self._flood)
        self.stderr = Output(pipes.stderr, self._loop, output_bytes, self._flood)

    @property
    def is_over(self) -> bool:
        """True if the job has already ended."""
        return self._handle.exited.done()

    async def wait_for_answer(self, stdin: bytes, patience: Patience) -> Finished | None:
        """Write the job's input, and wait until the job has written something and closed its output.

        Returns None if a time or output limit is reached, or the job ends, before that. The job may still be running,
        so `finish` or `end` must be called in any case.
        """
        self._begin(stdin)
        await self._wait({self._handle.exited, self._flooded, self.stdout.ended}, patience)
        closed = self.stdout.ended.done() and self.stdout.output and not self._flooded.done()
        return self._make_finished(0, Ended.EXITED) if closed and not self._handle.exited.done() else None

    async def finish(self, stdin: bytes, patience: Patience) -> Finished:
        """Write the job's input, and wait for the job's end. The time limits count from this call.

        Raises:
            SandboxError: the job did not end when it was killed.
        """
        self._begin(stdin)
        try:
            ended = await self._first(patience)
        finally:
            await finish_uninterrupted(self.end())
        # A program that writes too much and exits at once may have ended before its output is read.
        flooded = ended is not Ended.TIMEOUT and (self.stdout.is_full or self.stderr.is_full)
        return self._make_finished(self._handle.exited.result(), Ended.OUTPUT_LIMIT if flooded else ended)

    def _begin(self, stdin: bytes) -> None:
        if self._input is None:
            self._began = time.monotonic()
            self._input = Input(self._pipes.stdin, self._loop, stdin)

    def _make_finished(self, exit_code: int, ended: Ended) -> Finished:
        return Finished(
            exit_code=exit_code,
            ended=ended,
            stdout=bytes(self.stdout.output),
            stderr=bytes(self.stderr.output),
            duration_s=time.monotonic() - self._began,
        )

    async def _wait(self, awaited: set[asyncio.Future[Any]], patience: Patience) -> None:
        """Wait for the first of these futures, or until one of the job's time limits is reached."""
        done = set[asyncio.Future[Any]]()
        while not done:
            left_s = min(self._began + patience.wall_s - time.monotonic(), patience.look_s())
            if left_s <= 0:
                return
            done, _ = await asyncio.wait(awaited, timeout=left_s, return_when=asyncio.FIRST_COMPLETED)

    async def _first(self, patience: Patience) -> Ended:
        """Wait for the job's end, too much output, or a time limit; return which of them came first."""
        exited = self._handle.exited
        await self._wait({exited, self._flooded}, patience)
        if self._flooded.done():
            return Ended.OUTPUT_LIMIT
        if not exited.done():
            return Ended.TIMEOUT
        return Ended.KILLED if exited.result() < 0 else Ended.EXITED

    async def end(self) -> None:
        """Kill the job's remaining processes, wait for their end, and read what is left in the pipes.

        Raises:
            SandboxError: a process did not end.
        """
        self._handle.kill()
        try:
            await asyncio.wait({self._handle.exited}, timeout=KILL_S)
        finally:
            self._close()
        if not self._handle.exited.done():
            raise SandboxError(f"a job did not end within {KILL_S:g} s of SIGKILL")

    def let_go(self) -> None:
        """Kill the job's remaining processes without waiting. Harmless if the job has ended."""
        self._handle.let_go()
        self._close()

    def _close(self) -> None:
        for stream in (self.stdout, self.stderr):
            stream.close()
        if self._input:
            self._input.close()
        self._pipes.stdin.close()

    def _flood(self) -> None:
        if not self._flooded.done():
            self._flooded.set_result(None)


class _Process:
    """The handle of a child process; its end is detected by a pid descriptor."""

    def __init__(self, process: subprocess.Popen[bytes], kill: Callable[[int], None]) -> None:
        self._process, self._kill, self._loop = process, kill, asyncio.get_running_loop()
        self.exited: asyncio.Future[int] = self._loop.create_future()
        self._descriptor = os.pidfd_open(process.pid)
        self._loop.add_reader(self._descriptor, self._reap)

    def kill(self) -> None:
        self._kill(self._process.pid)
        if not self.exited.done():
            os.killpg(self._process.pid, signal.SIGKILL)  # bubblewrap's child waits for it during set-up

    def let_go(self) -> None:
        self.kill()

    def _reap(self) -> None:
        self._loop.remove_reader(self._descriptor)
        os.close(self._descriptor)
        self.exited.set_result(self._process.wait())


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
        raise SandboxUnready(f"{launch.argv[0]} could not be started: {error.strerror}") from error


class Output:
    """Collects the output of a pipe, up to a limit. The future `ended` is done when no writer is left."""

    def __init__(self, pipe: IO[bytes], loop: asyncio.AbstractEventLoop, most: int, full: Callable[[], None]) -> None:
        self.output = bytearray()
        self.ended: asyncio.Future[None] = loop.create_future()
        self._pipe, self._loop, self._most, self._full = pipe, loop, most, full
        os.set_blocking(pipe.fileno(), False)
        loop.add_reader(pipe.fileno(), self._read)

    @property
    def is_full(self) -> bool:
        """True if the limit was reached."""
        return len(self.output) >= self._most

    def close(self) -> None:
        """Read what is available, without waiting for more, and close the pipe."""
        while not self._pipe.closed and not self.is_full and self._read():
            pass
        self._close()

    def _read(self) -> bool:
        """Read what is available. Return False at the end of the output, or if nothing is available yet."""
        try:
            data = os.read(self._pipe.fileno(), CHUNK)
        except BlockingIOError:
            return False
        self.output += data[: self._most - len(self.output)]
        if self.is_full:
            self._full()
        if not data and not self.ended.done():
            self.ended.set_result(None)
        if not data or self.is_full:
            self._close()
        return bool(data)

    def _close(self) -> None:
        if not self._pipe.closed:
            self._loop.remove_reader(self._pipe.fileno())
            self._pipe.close()


class Input:
    """Writes bytes to a pipe as fast as they are read, then closes the pipe."""

    def __init__(self, pipe: IO[bytes], loop: asyncio.AbstractEventLoop, text: bytes) -> None:
        self._pipe, self._loop, self._left = pipe, loop, memoryview(text)
        os.set_blocking(pipe.fileno(), False)
        loop.add_writer(pipe.fileno(), self._write)

    def _write(self) -> None:
        try:
            self._left = self._left[os.write(self._pipe.fileno(), self._left) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            self._left = self._left[:0]
        if not self._left:
            self.close()

    def close(self) -> None:
        """Close the pipe, even if not all bytes were written."""
        if not self._pipe.closed:
            self._loop.remove_writer(self._pipe.fileno())
            self._pipe.close()
