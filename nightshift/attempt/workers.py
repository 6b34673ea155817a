"""A worker of the pool, and the task that it runs."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from dataclasses import dataclass, field, replace

from nightshift.attempt.attempt import Attempt, AttemptResult
from nightshift.core.errors import Interruption, WorkerRestarted
from nightshift.core.status import Restart, WorkerStatus
from nightshift.core.tasks.task import Task

GRACE_S = 300.0
"""Seconds past its time limit after which an attempt is overdue. An attempt's last work, such as storing a reply, ends
long before that.
"""


@dataclass(slots=True)
class Running:
    """A worker's running task.

    `why` is set before `job` is cancelled. `put_down` is set when the queue has stored the task's ending.
    """

    attempt: Attempt
    job: asyncio.Task[AttemptResult]
    why: Interruption | None = None
    put_down: asyncio.Event = field(default_factory=asyncio.Event)

    def interrupt(self, why: Interruption) -> None:
        """Stop the attempt; the first reason counts."""
        if self.why is None:
            self.why = why
            self.job.cancel()

    def is_overdue(self, now: float) -> bool:
        """Check whether the attempt passed its time limit by more than `GRACE_S`; `now` is monotonic."""
        return self.attempt.late_s(now) > GRACE_S


@dataclass(slots=True)
class Worker:
    """One worker. If it is leaving, it finishes its task and claims no other.

    `again` is the id of the task that the worker claims next; None for any task.
    """

    status: WorkerStatus
    woken: asyncio.Event = field(default_factory=asyncio.Event)
    running: Running | None = None
    leaving: bool = False
    claiming: bool = False
    again: int | None = None

    @property
    def seen(self) -> WorkerStatus:
        """The worker's status, including the phase, the iteration and the latest message of its attempt."""
        if self.running is None:
            return self.status
        now = self.running.attempt
        return replace(self.status, phase=now.phase, iteration=now.iteration, last_line=now.last_line)

    async def claim(self, claimed: Future[Task | None]) -> Task | None:
        """Wait for the result of a claim.

        `claiming` is True meanwhile, because the worker may already own a task whose lease nobody renews yet.
        """
        self.claiming = True
        try:
            return await asyncio.wrap_future(claimed)
        finally:
            self.claiming = False

    async def restart(self) -> Restart:
        """Interrupt the worker's task after its last finished step, and claim it again.

        Returns when the task is back in the queue. An idle worker only looks for work again.
        """
        running = self.running
        self.woken.set()
        if running is None:
            return Restart(name=self.status.name, task_id=None)
        self.again = running.attempt.task.id
        running.interrupt(WorkerRestarted())
        await running.put_down.wait()
        return Restart(name=self.status.name, task_id=running.attempt.task.id)


async def wait(event: asyncio.Event, seconds: float) -> None:
    """Wait for an event, but no longer than `seconds`."""
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return
