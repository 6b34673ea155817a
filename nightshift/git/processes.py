"""Git processes. Each is awaited until a deadline, and all running processes can be ended at once.

A process is first asked to end, and killed only if it does not. Git then removes its locks, while a killed git leaves
them in the repository.
"""

from __future__ import annotations

import contextlib
import os
import select
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import IO

from nightshift.core.errors import GitStopped

# Seconds that a process has to end after SIGTERM, and again after SIGKILL.
END_S = 1.0
# Seconds without output after which we check whether the process has ended. The end of the output alone does not show
# this, because child processes may keep the pipes open.
QUIET_S = 0.1
_CHUNK = 1 << 16


class Processes:
    """The git processes of one manager; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running = set[subprocess.Popen[bytes]]()
        self._is_stopped = False

    def start(
        self, command: Sequence[str], *, cwd: Path, env: Mapping[str, str], stderr: int
    ) -> subprocess.Popen[bytes]:
        """Start a process in a new session, without a terminal for prompts; its child processes end with it.

        Raises:
            GitStopped: `stop` was called.
            OSError: The process could not be started.
        """
        self.refuse_when_stopped()
        pipe = subprocess.PIPE
        process = subprocess.Popen(
            command, cwd=cwd, env=env, stdin=pipe, stdout=pipe, stderr=stderr, bufsize=0, start_new_session=True
        )
        with self._lock:
            self._running.add(process)
        if self._is_stopped:
            self.end(process)
            raise GitStopped
        return process

    def end(self, process: subprocess.Popen[bytes]) -> None:
        """End a process and everything that it started, if it is still running, and close its pipes."""
        _end([process])
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe:
                with contextlib.suppress(OSError):
                    pipe.close()
        with self._lock:
            self._running.discard(process)

    def stop(self) -> None:
        """End all processes and start no more; callers that wait for a process get GitStopped."""
        self._is_stopped = True
        with self._lock:
            running = tuple(self._running)
        _end(running)  # The threads that read the pipes close them

    def refuse_when_stopped(self) -> None:
        """Raise GitStopped if `stop` was called, because the output of an ended process is no valid answer."""
        if self._is_stopped:
            raise GitStopped


def _end(processes: Collection[subprocess.Popen[bytes]]) -> None:
    running = [process for process in processes if process.poll() is None]
    for number in (signal.SIGTERM, signal.SIGKILL):
        for process in running:
            with contextlib.suppress(ProcessLookupError):  # The whole group: git may end before its children
                os.killpg(process.pid, number)
        deadline = time.monotonic() + END_S
        for process in running:
            with contextlib.suppress(subprocess.TimeoutExpired):  # Even a killed process stays while a disk hangs
                process.wait(max(0.0, deadline - time.monotonic()))


class Output:
    """Output of a process, which is read until a deadline.

    Attributes:
        deadline: Time of the monotonic clock in seconds; a read that would wait longer raises TimeoutError.
    """

    def __init__(self, pipe: IO[bytes]) -> None:
        self._pipe, self._ahead, self.deadline = pipe, bytearray(), 0.0

    def readline(self) -> bytes:
        """Return the next line with its line end; the last line may have no line end."""
        seen = 0
        while (end := self._ahead.find(b"\n", seen)) < 0:
            seen = len(self._ahead)
            if not self._read_ahead():
                return self._take(seen)
        return self._take(end + 1)

    def read(self, size: int) -> bytes:
        """Return the next `size` bytes; fewer at the end of the output."""
        while len(self._ahead) < size and self._read_ahead():
            pass
        return self._take(size)

    def _take(self, size: int) -> bytes:
        data = bytes(self._ahead[:size])
        del self._ahead[:size]
        return data

    def _read_ahead(self) -> bool:
        _wait_for(self._pipe, select.POLLIN, self.deadline)
        data = os.read(self._pipe.fileno(), _CHUNK)
        self._ahead += data
        return bool(data)


def write(pipe: IO[bytes], data: bytes, deadline: float) -> None:
    """Write all of the data into a pipe before a deadline (monotonic seconds).

    Raises:
        TimeoutError: The reader did not read the data in time.
        OSError: There is no reader.
    """
    left = memoryview(data)
    while left:
        _wait_for(pipe, select.POLLOUT, deadline)
        left = left[os.write(pipe.fileno(), left[: select.PIPE_BUF]) :]  # A write of this size never blocks


def _wait_for(pipe: IO[bytes], event: int, deadline: float) -> None:
    poll = select.poll()
    poll.register(pipe, event)
    if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
        raise TimeoutError


def communicate(process: subprocess.Popen[bytes], given: bytes, timeout_s: float) -> tuple[bytes, bytes]:
    """Give a process its input, and read its output and its errors until it ends.

    The call returns when the process ends, and does not wait until its pipes are closed. A shared connection or a
    credential cache that the process started keeps the pipes open for hours.

    Raises:
        TimeoutError: The process has not ended in time.
    """
    stdin, stdout, stderr = process.stdin, process.stdout, process.stderr
    assert stdin
    assert stdout
    assert stderr
    deadline, left, out, error = time.monotonic() + timeout_s, memoryview(given), bytearray(), bytearray()
    with selectors.PollSelector() as pipes:
        pipes.register(stdin, selectors.EVENT_WRITE)
        pipes.register(stdout, selectors.EVENT_READ, out)
        pipes.register(stderr, selectors.EVENT_READ, error)
        while pipes.get_map():
            remaining_s = deadline - time.monotonic()
            has_ended = process.poll() is not None  # Checked before the read, so that the last output is not lost
            ready = pipes.select(max(0.0, min(QUIET_S, remaining_s)))
            for key, _ in ready:
                if key.fileobj is stdin:
                    left = _write_some(key.fd, left)
                    is_open = bool(left)
                else:
                    is_open = _read_some(key.fd, key.data)
                if not is_open:
                    pipes.unregister(key.fileobj)
                    if key.fileobj is stdin:
                        stdin.close()
            if (not ready or remaining_s <= 0) and has_ended:
                break
            if remaining_s <= 0:
                raise TimeoutError
    try:
        process.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        raise TimeoutError from None
    return bytes(out), bytes(error)


def _write_some(descriptor: int, left: memoryview) -> memoryview:
    """Write as much as fits without waiting and return the rest; the rest is also empty if there is no reader."""
    try:
        return left[os.write(descriptor, left[: select.PIPE_BUF]) :]
    except BrokenPipeError:
        return left[len(left) :]


def _read_some(descriptor: int, data: bytearray) -> bool:
    some = os.read(descriptor, _CHUNK)
    data += some
    return bool(some)
