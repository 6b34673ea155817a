"""A worker of the pool, and what it has in hand."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import TypeVar

from nightshift.attempt.attempt import Attempt, AttemptResult
from nightshift.core.errors import Interruption, WorkerRestarted
from nightshift.core.status import Restart, WorkerStatus
from nightshift.core.tasks.task import Task

_T = TypeVar("_T")

GRACE_S = 300.0
"""An attempt ends at its wall time; what it then still does (a reply is stored) is long done after this."""


@dataclass(slots=True)
class Running:
    """A task in the hands of a worker; `why` is set before its coroutine is cancelled.

    `put_down` is set when the queue knows what became of it.
    """

    attempt: Attempt
    job: asyncio.Task[AttemptResult]
    why: Interruption | None = None
    put_down: asyncio.Event = field(default_factory=asyncio.Event)

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
    """One worker; a leaving one puts its task down and claims no other. `again` is the task that it takes up next."""

    status: WorkerStatus
    woken: asyncio.Event = field(default_factory=asyncio.Event)
    running: Running | None = None
    leaving: bool = False
    claiming: bool = False
    again: int | None = None

    @property
    def seen(self) -> WorkerStatus:
        """Its status, with what its attempt does now."""
        if self.running is None:
            return self.status
        now = self.running.attempt
        return replace(self.status, phase=now.phase, iteration=now.iteration, last_line=now.last_line)

    async def claim(self, claimed: Future[Task | None]) -> Task | None:
        """Wait for a claim. Until it is told, a task may be this worker's and nobody here renews its lease."""
        self.claiming = True
        try:
            return await asyncio.wrap_future(claimed)
        finally:
            self.claiming = False

    async def restart(self) -> Restart:
        """Begin anew: put down what runs, at its last finished step, and take it up again.

        Returns when the task was given back; a worker that is idle only looks for work again.
        """
        running = self.running
        self.woken.set()
        if running is None:
            return Restart(name=self.status.name, task_id=None)
        self.again = running.attempt.task.id
        running.interrupt(WorkerRestarted())
        await running.put_down.wait()
        return Restart(name=self.status.name, task_id=running.attempt.task.id)


async def wait_done(future: Future[_T]) -> _T:
    """Wait for a write."""
    return await asyncio.wrap_future(future)


async def wait(event: asyncio.Event, seconds: float) -> None:
    """Wait for an event, but no longer than so many seconds."""
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return
