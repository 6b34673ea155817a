"""A worker of the pool, and what it has in hand."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TypeVar

from core.errors import Interruption
from core.status import WorkerStatus
from core.tasks import Task
from execution.attempt import Attempt, Result

_T = TypeVar("_T")

GRACE_S = 300.0
"""An attempt ends at its wall time; what it then still does (a reply is stored) is long done after this."""


@dataclass(slots=True)
class Running:
    """A task in the hands of a worker; `why` is set before its coroutine is cancelled."""

    attempt: Attempt
    job: asyncio.Task[Result]
    why: Interruption | None = None

    def interrupt(self, why: Interruption) -> None:
        """Stop the attempt; the first reason holds."""
        if self.why is None:
            self.why = why
            self.job.cancel()

    def is_overdue(self, now: float) -> bool:
        """Tell whether it should have ended long ago; `now` is monotonic."""
        return self.attempt.late_s(now) > GRACE_S


@dataclass(slots=True)
class Worker:
    """One worker; a leaving one puts its task down and claims no other."""

    status: WorkerStatus
    woken: asyncio.Event = field(default_factory=asyncio.Event)
    running: Running | None = None
    leaving: bool = False
    claiming: bool = False

    async def claim(self, claimed: Future[Task | None]) -> Task | None:
        """Wait for a claim. Until it is told, a task may be this worker's and nobody here renews its lease."""
        self.claiming = True
        try:
            return await asyncio.wrap_future(claimed)
        finally:
            self.claiming = False


async def done(future: Future[_T]) -> _T:
    """Wait for a write."""
    return await asyncio.wrap_future(future)


async def wait(event: asyncio.Event, seconds: float) -> None:
    """Wait for an event, but no longer than so many seconds."""
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return
