"""Sandboxes inside one outer sandbox, forked from a process that has imported pytest: just as strong, and much cheaper.

Starting an interpreter and importing pytest costs more than running a small suite. A fork server pays that cost once.
Each job gets its own namespaces, file systems, control group, limits and system-call filter (`inside/nested.py`),
within the isolation that bubblewrap gives the fork server. Jobs share nothing except memory that was filled before the
first job came. The fork server never sees the content of a job; it gets only four descriptors and the limits.

    daemon ── order + descriptors ──> fork server ── fork ──> process 1 of the sandbox, which becomes the job
       └── “here” / group / “go” / “up” on the fourth descriptor ──┘   the fork server sends “end” on the same one

With the first message, the kernel tells the daemon the number of the process. The daemon puts the process into the
job's control group before it lets the process continue.
"""

from __future__ import annotations

import array
import asyncio
import contextlib
import json
import os
import resource
import signal
import socket
import struct
from collections import Counter, OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from nightshift.core.errors import SandboxError, SandboxUnready
from nightshift.core.isolation import WORK, Mount, SandboxJob
from nightshift.core.text.masking import printable
from nightshift.sandbox import cgroups, child, launcher
from nightshift.sandbox.bubblewrap import (
    COUNTERS,
    FILES,
    NAME,
    SHM_MB,
    STILL,
    BubblewrapSandbox,
    memory_files,
    namespaces,
)
from nightshift.sandbox.cgroups import Group
from nightshift.sandbox.child import Finished, Pipes, Running
from nightshift.sandbox.grouped import GroupedJob
from nightshift.sandbox.isolation import Begun, Isolation
from nightshift.sandbox.runtime import SUITES, Runtime

START_S = 60.0
TREES = "/trees"
"""Folder inside a fork server's sandbox that contains the layers of its jobs. `inside/nested.py` uses the same path."""
MOST_SERVERS = 6
"""Number of idle fork servers of other runtimes that are kept. There may be more while they are in use."""
_Key = tuple[tuple[str, ...], tuple[str, ...], tuple[Mount, ...], str, Path | None]
_CREDENTIALS = struct.Struct("iII")
_MESSAGE = 1 << 12


class NestedSandbox(Isolation):
    """Runs jobs in nested sandboxes, for its own runtime and for the runtimes that environments derive from it.

    There is a separate fork server for each runtime and each kind of trusted parent, so that no job sees another
    runtime's files. Layers are folders with the files of a tree. All layers are below one folder, and jobs with layers
    have a separate fork server that shows this folder. A job that needs other mounts gets its own outer sandbox. So
    does a job with layers if the kernel cannot put a private file system over them.

    Args:
        outer: creates the outer sandboxes, and runs every job that does not fit into a nested one.
        runtime: what the fork servers import and show by default.
    """

    name = NAME

    def __init__(self, outer: BubblewrapSandbox, runtime: Runtime) -> None:
        self._outer, self._runtime = outer, runtime
        self._servers = OrderedDict[_Key, asyncio.Task[ForkServer]]()
        self._wanted = Counter[_Key]()

    async def begin(self, job: SandboxJob) -> Begun:
        """Start a job without its standard input.

        Raises:
            SandboxError: the isolation could not be set up.
        """
        parent = self._runtime.choose_parent(job.argv, job.mounts)
        runtime, entry = parent or (self._runtime, SUITES)
        trees = {layer.host.parent for layer in job.layers}
        if len(trees) > 1 or not set(job.mounts) <= set(runtime.mounts_for(entry)):
            return await self._outer.begin(job)
        if set(runtime.mounts) <= set(self._runtime.mounts) and runtime.libraries == self._runtime.libraries:
            runtime = self._runtime
        key = (runtime.python, runtime.libraries, runtime.mounts, entry, next(iter(trees), None))
        self._wanted[key] += 1
        try:
            server = await self._alive(key, runtime)
            if trees and not server.overlays:
                return await self._outer.begin(job)
            argv = () if parent else job.argv
            return server.order(self._order(job, entry, argv), self._outer.group(job.limits), job)
        finally:
            self._wanted[key] -= 1

    async def aclose(self) -> None:
        """End the fork servers and everything that still runs below them."""
        for task in [self._servers.pop(key) for key in list(self._servers)]:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError, SandboxError):
                await (await task).close()

    async def _alive(self, key: _Key, runtime: Runtime) -> ForkServer:
        """Return the fork server for a kind of trusted parent. A fork server that died is replaced."""
        task, old = self._servers.get(key), None
        if task is None or (task.done() and (task.cancelled() or task.exception() or not task.result().is_alive)):
            *_, entry, trees = key
            old, task = task, asyncio.create_task(ForkServer.start(runtime, entry, trees, nice=self._outer.nice))
            self._servers[key] = task
        self._servers.move_to_end(key)
        # Other calls can run while this one awaits, so everything that is to be closed is removed from the table first.
        ended = [each for each in (old, *self._forget_resting()) if each and not each.cancelled()]
        await child.finish_uninterrupted(
            asyncio.gather(*(each.result().close() for each in ended if not each.exception()))
        )
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled():
                raise SandboxError("the sandbox was closed") from None
            raise

    def _forget_resting(self) -> list[asyncio.Task[ForkServer]]:
        """Remove the least recently used idle fork servers of other runtimes while there are too many of them."""
        theirs = [key for key in self._servers if key[:3] != self._usual]
        resting = [
            key
            for key in theirs[: max(0, len(theirs) - MOST_SERVERS)]
            if not self._wanted[key] and (task := self._servers[key]).done()
            and (task.cancelled() or task.exception() or not task.result().jobs)
        ]  # fmt: skip
        return [self._servers.pop(key) for key in resting]

    @property
    def _usual(self) -> tuple[object, ...]:
        return (self._runtime.python, self._runtime.libraries, self._runtime.mounts)

    def _order(self, job: SandboxJob, entry: str, argv: Sequence[str]) -> dict[str, object]:
        bounded, limits = self._outer.hierarchy is not None, job.limits
        values = list(launcher.settable(limits, address_space=not bounded).values())
        return {
            "parent": entry,
            "argv": argv,
            "rlimits": values if bounded else [*values, (resource.RLIMIT_NPROC, limits.pids)],
            "tmpfs": {WORK: limits.work_mb, "/tmp": limits.tmp_mb, "/dev/shm": SHM_MB},  # noqa: S108 (the job's own)
            "layers": [layer.host.name for layer in job.layers],
            "counters": {path: STILL.get(path, "") for path in COUNTERS},
            "filter": self._outer.filter.hex(),
        }


@dataclass(slots=True)
class ForkServer:
    """An outer sandbox with the process that is forked for each job.

    Attributes:
        running: the outer sandbox.
        orders: the socket for orders to fork.
        answers: False after the fork server failed or was closed.
        overlays: True if the kernel can put a job's own file system over layers.
        jobs: number of its jobs that have not ended.
    """

    running: Running
    orders: socket.socket
    answers: bool = True
    overlays: bool = False
    jobs: int = 0

    @property
    def is_alive(self) -> bool:
        """True if the fork server can take orders."""
        return self.answers and not self.running.is_over

    @classmethod
    async def start(cls, runtime: Runtime, entry: str, trees: Path | None = None, *, nice: int = 0) -> ForkServer:
        """Start a fork server and wait until it can take orders.

        Raises:
            SandboxError: the fork server did not start.
        """
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            with theirs:
                server = cls(_spawn(runtime, entry, trees, theirs.fileno(), nice), ours)
        except SandboxError:
            ours.close()
            raise
        try:
            await server.ready()
        except BaseException:
            await server.close()
            raise
        return server

    async def ready(self) -> None:
        """Wait until the fork server can take orders.

        Raises:
            SandboxError: the fork server did not start.
        """
        self.orders.setblocking(False)
        try:
            async with asyncio.timeout(START_S):
                answer = await asyncio.get_running_loop().sock_recv(self.orders, _MESSAGE)
        except (OSError, TimeoutError):
            answer = b""
        self.overlays = answer == b"ready overlays"
        if not answer.startswith(b"ready"):
            output = printable(bytes(self.running.stderr.output)).strip()[-500:] or "it gave no reason"
            raise SandboxUnready(f"the process that forks sandboxes did not start: {output}")

    def order(self, order: dict[str, object], group: Group | None, job: SandboxJob) -> Begun:
        """Tell the fork server to fork a nested sandbox, and return the started job."""
        control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        control.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)  # before the first message can arrive
        stdin, stdout, stderr = os.pipe(), os.pipe(), os.pipe()
        given = (stdin[0], stdout[1], stderr[1], theirs.fileno())
        pipes = Pipes(stdin=_file(stdin[1], "wb"), stdout=_file(stdout[0], "rb"), stderr=_file(stderr[0], "rb"))
        try:
            _send(self.orders, json.dumps(order).encode(), given)
        except OSError:
            self.answers = False  # this job ends unstarted; the next one gets a new server
            theirs.close()
        finally:
            for descriptor in given[:3]:
                os.close(descriptor)
            theirs.close()
        nested = _Nested(control, group)
        self.jobs += 1
        nested.exited.add_done_callback(self._end)
        running = Running(nested, pipes, job.limits.output_bytes)
        return GroupedJob(
            running=running, group=group, limits=job.limits, answers=job.answers, proved=nested.check_start
        )

    def _end(self, _exited: asyncio.Future[int]) -> None:
        self.jobs -= 1

    async def close(self) -> None:
        """End the fork server."""
        self.answers = False
        self.orders.close()
        await child.finish_uninterrupted(self.running.end())


def _spawn(runtime: Runtime, entry: str, trees: Path | None, orders: int, nice: int) -> Running:
    """Start an outer sandbox with the fork server in it. `orders` is the descriptor of the fork server's socket.

    The forks inherit the priority of the fork server.
    """
    fixed = [f"--{name}={value}" for name, (_, value) in launcher.FIXED.items()]
    shown = [*runtime.mounts_for(entry), *([Mount(host=trees, inside=TREES)] if trees else [])]
    with memory_files(*(text.encode() for text in FILES.values())) as files:
        argv = [
            *(
                *launcher.priority(nice),
                "prlimit",
                *fixed,
                "--",
                *launcher.drop_root(),
                *namespaces(shown, files, work_mb=1, tmp_mb=1),
            ),
            *("--remount-ro", "/", "--", *runtime.fork_server(orders, entry)),
        ]
        return child.spawn(
            child.Launch(
                argv=argv,
                env=launcher.ENV,
                output_bytes=1 << 16,
                kill=lambda _pid: None,
                pass_fds=(*files, orders),
            )
        )


class _Nested:
    """The handle of a nested sandbox.

    It communicates with the sandbox's first process, and learns from the fork server how that process ended.
    """

    def __init__(self, control: socket.socket, group: Group | None) -> None:
        self._control, self._group, self._loop = control, group, asyncio.get_running_loop()
        self.exited: asyncio.Future[int] = self._loop.create_future()
        self.is_up, self.fault = False, ""
        self._descriptor: int | None = None
        self._killed = False
        self._entering: asyncio.Task[None] | None = None
        control.setblocking(False)
        self._loop.add_reader(control, self._hear)

    def check_start(self, finished: Finished) -> Finished:
        """Return how the job ended. Raise an error if the job was never started."""
        if not self.is_up:
            raise SandboxUnready(f"the nested sandbox did not start: {self.fault or finished.ended}")
        return finished

    def kill(self) -> None:
        self._killed = True
        if self._group:
            self._group.kill()
        if self._descriptor is not None and not self.exited.done():
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._descriptor, signal.SIGKILL)

    def let_go(self) -> None:
        self.kill()
        if not self.exited.done():
            self._over(-signal.SIGKILL)

    def _hear(self) -> None:
        try:
            text, extra, _, _ = self._control.recvmsg(_MESSAGE, socket.CMSG_SPACE(_CREDENTIALS.size))
        except BlockingIOError:
            return
        except ConnectionResetError:
            text, extra = b"", []
        word, _, rest = text.partition(b" ")
        if word == b"here":
            pid = _CREDENTIALS.unpack(extra[0][2][: _CREDENTIALS.size])[0]
            self._entering = self._loop.create_task(self._let_in(pid))
        elif word == b"up":
            self.is_up = True
        elif word == b"fault":
            self.fault = rest.decode("utf-8", "replace")
        elif word == b"end":
            self._over(int(rest))
        else:
            self._over(-signal.SIGKILL)

    async def _let_in(self, pid: int) -> None:
        """Put the process into the job's control group and let it continue.

        Joining the group happens in a thread, because the kernel may be slow.
        """
        try:
            self._descriptor = os.pidfd_open(pid)
            await asyncio.to_thread(self._enter, pid)
        except OSError as error:
            self.fault = f"the process could not enter its control group: {error}"
        if self.exited.done():
            return
        with contextlib.suppress(OSError):  # if the process died meanwhile, the end of its messages shows that
            if self._killed or self.fault:
                self._control.shutdown(socket.SHUT_WR)
                self.kill()  # it may have joined after the group was killed
            else:
                self._control.send(b"go")

    def _enter(self, pid: int) -> None:
        for file in self._group.join_files if self._group else ():
            cgroups.write(file, pid)

    def _over(self, code: int) -> None:
        self._loop.remove_reader(self._control)
        self._control.close()
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
        self.exited.set_result(code)


def _send(to: socket.socket, text: bytes, descriptors: Sequence[int]) -> None:
    to.sendmsg([text], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors).tobytes())])


def _file(descriptor: int, mode: str) -> IO[bytes]:
    return cast(IO[bytes], os.fdopen(descriptor, mode, buffering=0))
