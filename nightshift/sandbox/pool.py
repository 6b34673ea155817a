"""Keeps sandboxes started in advance. Each waits for its input, serves one job, and is removed.

The shape of a job is everything about the job except its input. When a shape comes a second time, another sandbox for
it is started in the background, so that the next job of this shape finds a started sandbox with a loaded interpreter.
No sandbox is used twice. `warm` puts a pool in front of the chosen sandbox if the sandbox passes a test and can keep
jobs waiting.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field, replace
from typing import Any

from nightshift.core.errors import SandboxError, SandboxUnready
from nightshift.core.isolation import SandboxJob, SandboxResult
from nightshift.core.ports import Sandbox
from nightshift.sandbox import selftest
from nightshift.sandbox.bubblewrap import BubblewrapSandbox
from nightshift.sandbox.docker import DockerSandbox
from nightshift.sandbox.exclusive import Exclusive
from nightshift.sandbox.isolation import Begun, Isolation
from nightshift.sandbox.nested import NestedSandbox
from nightshift.sandbox.runtime import Runtime

_REMEMBERED = 32
# How often a job is repeated if its sandbox did not start or was ended from outside, which is not the job's fault.
_REPEATS = 2


@dataclass(frozen=True, slots=True)
class _Waiting:
    begun: Begun
    expiry: asyncio.TimerHandle


class Pool:
    """Runs each job in a sandbox that was started ahead of time, if one is waiting.

    Args:
        isolation: starts the sandboxes.
        size: the maximum number of sandboxes that may wait.
        idle_s: seconds after which a waiting sandbox is ended.
    """

    def __init__(self, isolation: Isolation, *, size: int, idle_s: float = 600.0) -> None:
        self.name = isolation.name
        self._isolation, self._size, self._idle_s = isolation, size, idle_s
        self._waiting: deque[tuple[SandboxJob, _Waiting]] = deque()
        self._seen: OrderedDict[SandboxJob, None] = OrderedDict()
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self, job: SandboxJob) -> SandboxResult:
        """Run a job to its end, to a limit, or until cancelled. Nothing of the job is left running.

        Raises:
            SandboxError: the isolation could not be set up, or the job was repeatedly ended from outside.
        """
        shape = replace(job, stdin=b"")
        begun = self._take(shape)
        if self._remember(shape):
            self._spawn(self._begin(shape))
        if begun is not None:
            with contextlib.suppress(SandboxError):  # it died while waiting, or was ended from outside
                return await begun.finish(job.stdin)
        for _ in range(_REPEATS):
            with contextlib.suppress(SandboxUnready):
                return await self._isolation.run(job)
        return await self._isolation.run(job)

    async def aclose(self) -> None:
        """End all waiting sandboxes."""
        while self._tasks or self._waiting:
            while self._waiting:
                self._let_go(self._waiting.popleft()[1])
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def _take(self, shape: SandboxJob) -> Begun | None:
        for entry in self._waiting:
            if entry[0] == shape:
                self._waiting.remove(entry)
                entry[1].expiry.cancel()
                return entry[1].begun
        return None

    def _remember(self, shape: SandboxJob) -> bool:
        """Store the shape of a job; return True if the same shape came before."""
        is_known = shape in self._seen
        self._seen[shape] = None
        self._seen.move_to_end(shape)
        while len(self._seen) > _REMEMBERED:
            self._seen.popitem(last=False)
        return is_known

    async def _begin(self, shape: SandboxJob) -> None:
        with contextlib.suppress(SandboxError):  # the next job of this shape will report the error
            begun = await self._isolation.begin(shape)
            expiry = asyncio.get_running_loop().call_later(self._idle_s, self._expire, begun)
            self._waiting.append((shape, _Waiting(begun, expiry)))
        while len(self._waiting) > self._size:
            self._let_go(self._waiting.popleft()[1])

    def _expire(self, begun: Begun) -> None:
        for entry in self._waiting:
            if entry[1].begun is begun:
                self._waiting.remove(entry)
                self._let_go(entry[1])
                return

    def _let_go(self, waiting: _Waiting) -> None:
        waiting.expiry.cancel()
        self._spawn(waiting.begun.discard())

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


@dataclass(frozen=True, slots=True, kw_only=True)
class Warmed:
    """The sandbox in use. `remark` says briefly how sandboxes are started in advance, or why they are not."""

    sandbox: Sandbox
    remark: str
    closers: tuple[Callable[[], Awaitable[None]], ...] = field(default=(), repr=False)

    async def aclose(self) -> None:
        """End all sandboxes that wait for jobs."""
        for close in self.closers:
            await close()


async def warm(sandbox: Sandbox, runtime: Runtime, *, size: int) -> Warmed:
    """Put a pool in front of a sandbox. The pool starts enough sandboxes in advance for `size` concurrent verdicts.

    bubblewrap's sandboxes are nested in one outer sandbox if nested ones pass the self-test as well. Otherwise each one
    is started separately.
    """
    if isinstance(sandbox, BubblewrapSandbox):
        nested = NestedSandbox(sandbox, runtime)
        if why := await _fault(nested, runtime):
            await nested.aclose()
            return _pool(sandbox, size, f"not nested: {why}")
        pooled = _pool(nested, size, "nested, kept warm")
        return Warmed(sandbox=pooled.sandbox, remark=pooled.remark, closers=(*pooled.closers, nested.aclose))
    if isinstance(sandbox, DockerSandbox):
        return _pool(sandbox, size, "containers started ahead")
    return Warmed(sandbox=Exclusive(sandbox), remark="")


def _pool(isolation: Isolation, size: int, remark: str) -> Warmed:
    # A verdict may use three kinds of runs: tests, plain runs and calls. Commands of a model are a fourth kind. The
    # last place is for a search of the repair engine.
    pool = Pool(isolation, size=4 * size + 1)
    return Warmed(sandbox=Exclusive(pool), remark=remark, closers=(pool.aclose,))


async def _fault(nested: NestedSandbox, runtime: Runtime) -> str:
    """Return why nested sandboxes may not be used; empty if they pass the self-test."""
    try:
        async with asyncio.timeout(selftest.PROBE_S):
            self_test = await selftest.probe(nested, runtime)
    except (SandboxError, TimeoutError) as error:
        return str(error) or "the nested sandboxes did not start in time"
    return "; ".join(f"{finding.name}: {finding.detail}" for finding in self_test.findings if not finding.passed)
