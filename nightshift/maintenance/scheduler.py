"""Runs small periodic jobs, each at its own interval.

Each job runs in its own asyncio task, so a job that takes minutes (packing, a backup) does not delay the others. A job
is not started again while it still runs. Intervals are in monotonic time, so neither a wrong clock nor its correction
causes a flood of jobs, or years without a job. Clock and sleep are injected, so tests can simulate weeks in a moment.
"""

from __future__ import annotations

import asyncio
import time
import traceback
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace

from nightshift.core.events import Emitter, Kind, Level
from nightshift.core.ports import Sink

AGAIN_S = 600.0
"""Minimum seconds between two reports of a job that fails with changing messages; a job may run every few seconds."""

Sleep = Callable[[float], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PeriodicJob:
    """A small job that the scheduler runs at an interval.

    Attributes:
        name: the name in error messages, such as `backup`.
        every_s: seconds of monotonic time from one start to the next.
        run: the function to run; an exception ends only this run.
        first_s: seconds until the first run.
    """

    name: str
    every_s: float
    run: Callable[[], Awaitable[None]]
    first_s: float = 0.0


class Scheduler:
    """Runs jobs when they are due.

    Args:
        jobs: the jobs; their names are unique.
        sink: gets an event when a job fails. A repeated failure gets another event only after a success in between or,
            with another message, after `AGAIN_S`.
        monotonic: returns seconds that never jump.
        sleep: waits some seconds. A simulation moves its clocks here, after `wait_for_jobs`.
    """

    def __init__(
        self,
        jobs: Iterable[PeriodicJob],
        sink: Sink,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._events, self._monotonic, self._sleep = Emitter(sink), monotonic, sleep
        self._jobs: list[PeriodicJob] = []
        self._due: dict[str, float] = {}
        self._running: dict[str, asyncio.Task[None]] = {}
        self._faults: dict[str, tuple[str, float]] = {}
        self.add(jobs)

    def add(self, jobs: Iterable[PeriodicJob]) -> None:
        """Add jobs, before or while the scheduler runs; each is due `first_s` from now."""
        now = self._monotonic()
        for job in jobs:
            self._jobs.append(job)
            self._due[job.name] = now + job.first_s

    def pace(self, name: str, every_s: float) -> None:
        """Change the interval of a job; the new interval counts from the job's last start."""
        at = next(number for number, job in enumerate(self._jobs) if job.name == name)
        self._due[name] += every_s - self._jobs[at].every_s
        self._jobs[at] = replace(self._jobs[at], every_s=every_s)

    async def run(self) -> None:
        """Run jobs until cancelled; on cancellation, cancel the running jobs and wait for them."""
        try:
            while True:
                await self._sleep(self._begin_due())
        finally:
            for task in self._running.values():
                task.cancel()
            await self.wait_for_jobs()

    async def wait_for_jobs(self) -> None:
        """Wait until no job runs any more."""
        if self._running:
            await asyncio.wait(self._running.values())

    def _begin_due(self) -> float:
        """Begin the due jobs; return the seconds until the next job is due."""
        now = self._monotonic()
        for job in self._jobs:
            if self._due[job.name] <= now:
                self._due[job.name] = now + job.every_s
                self._begin(job)
        return max(0.0, min(self._due.values(), default=now + 1.0) - now)

    def _begin(self, job: PeriodicJob) -> None:
        if job.name not in self._running:
            task = asyncio.create_task(self.do(job.name, job.run), name=job.name)
            self._running[job.name] = task
            task.add_done_callback(lambda _: self._running.pop(job.name))

    async def do(self, name: str, run: Callable[[], Awaitable[None]]) -> None:
        """Run a function once; an exception is reported under the name."""
        try:
            await run()
        except Exception as error:  # noqa: BLE001 - whatever a job throws ends its turn, not the daemon
            self._report(name, error)
        else:
            self._faults.pop(name, None)

    def _report(self, name: str, error: Exception) -> None:
        text, now = f"{name}: {type(error).__name__}: {error}", self._monotonic()
        before, at = self._faults.get(name, ("", now - AGAIN_S))
        if text != before and now - at >= AGAIN_S:
            self._faults[name] = text, now
            trace = "".join(traceback.format_exception(error))
            self._events.emit(Kind.WORKER_ERROR, text, level=Level.ERROR, chore=name, trace=trace)
