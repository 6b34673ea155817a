"""A forked child of the trusted parent. Its pipes are watched until it ends or reaches a limit."""

import contextlib
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Collection, Sequence
from typing import Any, NoReturn

from .segments import Segments
from .time_limits import TimeLimits

Work = Callable[[int, int, Any], int]

CHUNK = 1 << 16
EVENTS = 24 << 20  # bytes of a run's events: some fifty thousand tests


class Ends:
    """Keeps the beginning and the end of a stream, and counts the bytes in between, so that a flood uses no memory."""

    def __init__(self, most: int) -> None:
        self._most, self._total = most, 0
        self._head, self._tail = bytearray(), bytearray()

    def __len__(self) -> int:
        return self._total

    def extend(self, data: bytes) -> None:
        """Add the next part of the stream."""
        self._total += len(data)
        room = self._most - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > 2 * self._most:
            del self._tail[: -self._most]

    @property
    def ends(self) -> tuple[bytes, bytes]:
        """The beginning and the end of the stream. The end is empty if the beginning contains the whole stream."""
        return bytes(self._head), bytes(self._tail[-self._most :])

    @property
    def left_out(self) -> int:
        """Number of bytes between the beginning and the end."""
        return self._total - sum(map(len, self.ends))


def read_all(descriptor: int) -> bytes:
    """Read everything up to the end of a descriptor."""
    parts = []
    while part := os.read(descriptor, CHUNK):
        parts.append(part)
    return b"".join(parts)


class Child:
    """A forked process with three pipes: for its instructions, its events and its output."""

    def __init__(self, work: Work, argument: Any) -> None:
        instructions, self.telling = os.pipe()
        self.events, reporting = os.pipe()
        self.output, printing = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            for descriptor in (self.telling, self.events, self.output):
                os.close(descriptor)
            _become(work, instructions, reporting, printing, argument)
        for descriptor in (instructions, reporting, printing):
            os.close(descriptor)
        self.ended, self.status = os.pidfd_open(self.pid), 0

    def send(self, text: bytes) -> None:
        """Send the child its instructions. The child may have died already, which is ignored."""
        with contextlib.suppress(BrokenPipeError):
            while text:
                text = text[os.write(self.telling, text) :]
        os.close(self.telling)

    @property
    def descriptors(self) -> tuple[int, ...]:
        """The parent's descriptors that belong to the child."""
        return self.telling, self.events, self.output, self.ended

    def discard(self) -> None:
        """Kill a child that is not needed, or clean up after a child that something else has killed."""
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        for descriptor in self.descriptors:
            with contextlib.suppress(OSError):
                os.close(descriptor)

    def watch(self, job: dict[str, Any], spare: Sequence[int] = (), output: Ends | None = None) -> dict[str, Any]:
        """Collect the child's reports until it ends or reaches a limit, then end all processes of the sandbox.

        The processes of the run's services are not ended.

        Args:
            job: the fields of `TimeLimits`, `token` (the text that separates the parts of the output), and
                `output_bytes` (the limit for each part).
            spare: process numbers of children that are not ended.
            output: receives the output, which is then not divided into parts.
        """
        limits, services = TimeLimits(job), job.get("running")
        printed = Segments(job["token"].encode()) if output is None else output
        reported = bytearray()
        taken: dict[int, bytearray | Ends | Segments] = {self.events: reported, self.output: printed}
        most = {self.events: EVENTS, self.output: job["output_bytes"]}
        poll = select.poll()
        for descriptor in (*taken, self.ended):
            os.set_blocking(descriptor, False)
            poll.register(descriptor, select.POLLIN)
        for descriptor in services.watched() if services else ():
            poll.register(descriptor, select.POLLIN)
        why = limit = ""
        while not why:
            ready = [descriptor for descriptor, _ in poll.poll(min(1.0, limits.wait_s) * 1000)]
            limit = limits.reached()
            why = "exited" if self.ended in ready else "timeout" if limit else ""
            for descriptor, data in taken.items():
                if not drain(descriptor, data, most[descriptor], poll):
                    why, limit = "flood", "output" if data is printed else "report"
            if services:
                services.take(ready, poll)
            self._reap(os.WNOHANG, spare)
        if services:
            services.look()
        exit_code = self._end(why, spare, services.processes if services else ())
        cpu_s = limits.used_s()
        for descriptor, data in taken.items():
            drain(descriptor, data, most[descriptor], poll)
            os.close(descriptor)
        return {
            "ended": why,
            "exit": exit_code,
            "events": reported.decode("utf-8", "replace"),
            "output": printed.take_outputs() if isinstance(printed, Segments) else {},
            "duration_s": time.monotonic() - limits.began,
            "cpu_s": cpu_s,
            "limit": limit if why in {"timeout", "flood"} else "",
        }

    def _reap(self, flags: int, spare: Sequence[int]) -> None:
        """Wait for ended processes. As process 1, also wait for orphans, which would otherwise count as processes."""
        everything = os.getpid() == 1 and not spare
        try:
            while True:
                pid, status = os.waitpid(-1 if everything else self.pid, flags)
                if pid == self.pid:
                    self.status = status
                if pid == 0 or (pid == self.pid and not everything):
                    return
        except ChildProcessError:
            return

    def _end(self, why: str, spare: Sequence[int], services: Collection[int]) -> int | None:
        some = [*spare, *services]
        with contextlib.suppress(ProcessLookupError):
            if os.getpid() == 1 and not some:
                os.kill(-1, signal.SIGKILL)
            else:
                os.killpg(self.pid, signal.SIGKILL)
        self._reap(0, some)
        if os.getpid() == 1 and some:
            sweep({1, *spare}, services)
        os.close(self.ended)
        return os.waitstatus_to_exitcode(self.status) if why == "exited" else None


class Program(Child):
    """A child that is another program from its start, so it has no copy of our memory. Its output is dropped.

    Args:
        argv: returns the child's command, given the descriptor from which it reads its instructions.
        given: another descriptor that the child inherits.
    """

    def __init__(self, argv: Callable[[int], list[str]], given: int) -> None:
        instructions, self.telling = os.pipe()
        for descriptor in (instructions, given):
            os.set_inheritable(descriptor, True)
        words = argv(instructions)
        null = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in range(3)]
        self.pid = os.posix_spawn(
            words[0], words, os.environ, file_actions=null, setsid=True, setsigdef=[signal.SIGINT]
        )
        os.close(instructions)

    @property
    def descriptors(self) -> tuple[int, ...]:
        """The parent's only descriptor that belongs to the child."""
        return (self.telling,)


def sweep(spare: Collection[int], with_children: Collection[int] = ()) -> None:
    """End every process of the sandbox, except those in `spare`, and those in `with_children` and their descendants.

    As process 1, this process becomes the parent of every orphan.
    """

    def strays() -> list[int]:
        pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208 (pathlib is slow to import)
        return [pid for pid in pids if pid not in spare and not (with_children and descends(pid, with_children))]

    while left := strays():
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):  # its parent is alive, so only the parent can wait for it
                os.waitpid(pid, 0)


def descends(pid: int, of: Collection[int]) -> bool:
    """Check whether a process is in `of`, or descends from a process in `of` through a chain of living parents."""
    while pid > 1 and pid not in of:
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123 (pathlib is slow to import)
                status = file.read()
        except (FileNotFoundError, ProcessLookupError):
            return False
        pid = int(status[status.rindex(b")") + 2 :].split()[1])
    return pid in of


def drain(descriptor: int, taken: bytearray | Ends | Segments, most: int, poll: select.poll) -> bool:
    """Read what is available from a descriptor; return False if the limit is exceeded."""
    while len(taken) < most:
        try:
            data = os.read(descriptor, CHUNK)
        except BlockingIOError:
            return True
        if not data:
            with contextlib.suppress(KeyError):
                poll.unregister(descriptor)
            return True
        taken.extend(data)
    return False


def _become(work: Work, instructions: int, reporting: int, printing: int, argument: Any) -> NoReturn:
    """Run the work in the forked child; never returns."""
    status = 70
    try:
        os.setsid()
        null = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((null, 0), (printing, 1), (printing, 2)):
            os.dup2(source, target)
        for descriptor in (null, printing):
            os.close(descriptor)
        status = work(instructions, reporting, argument)
    except BaseException:  # noqa: BLE001 (whatever it is, the child ends here)
        import traceback  # noqa: PLC0415 (only needed here)

        traceback.print_exc()
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(status if isinstance(status, int) else 70)
