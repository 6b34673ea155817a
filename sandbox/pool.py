"""Keeps sandboxes started ahead of need: each waits for its input, serves one job, and is gone.

A job's shape is all of it but its input. A shape that comes a second time gets a successor, begun in the background as
soon as one of its kind is taken, so that the next job of the shape finds its sandbox up and its interpreter warm.
Nothing is ever used twice.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import OrderedDict, deque
from collections.abc import Coroutine
from dataclasses import dataclass, replace
from typing import Any

from core.errors import SandboxError
from core.isolation import SandboxJob, SandboxResult
from sandbox.isolation import Begun, Isolation

_REMEMBERED = 32


@dataclass(frozen=True, slots=True)
class _Waiting:
    begun: Begun
    expiry: asyncio.TimerHandle


class Pool:
    """A sandbox that hands its jobs to sandboxes begun before.

    Args:
        isolation: makes them.
        size: how many may wait at most.
        idle_s: one that waited so long is ended; the next job of its shape starts one of its own.
    """

    def __init__(self, isolation: Isolation, *, size: int, idle_s: float = 600.0) -> None:
        self.name = isolation.name
        self._isolation, self._size, self._idle_s = isolation, size, idle_s
        self._waiting: deque[tuple[SandboxJob, _Waiting]] = deque()
        self._seen: OrderedDict[SandboxJob, None] = OrderedDict()
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self, job: SandboxJob) -> SandboxResult:
        """Run to the end, to the limit, or until cancelled; nothing of the job is left running.

        Raises:
            SandboxError: the isolation could not be set up; the job was not started.
        """
        shape = replace(job, stdin=b"")
        begun = self._take(shape)
        if self._known(shape):
            self._spawn(self._begin(shape))
        if begun is None:
            return await self._isolation.run(job)
        try:
            return await begun.finish(job.stdin)
        except SandboxError:  # it died while it waited; the job was not started
            return await self._isolation.run(job)

    async def aclose(self) -> None:
        """End all that wait."""
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

    def _known(self, shape: SandboxJob) -> bool:
        """Tell whether this shape came before, and remember it."""
        known = shape in self._seen
        self._seen[shape] = None
        self._seen.move_to_end(shape)
        while len(self._seen) > _REMEMBERED:
            self._seen.popitem(last=False)
        return known

    async def _begin(self, shape: SandboxJob) -> None:
        with contextlib.suppress(SandboxError):  # the next job of the shape will meet it and tell
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
