"""The scheduler of periodic jobs: small jobs that run again and again, each at its own pace.

Each job is a task of its own, so one that takes minutes (packing, a backup) keeps none of the others waiting; it is
not begun again while it still runs. Pace is monotonic time: neither a wrong clock nor its correction brings a flood of
jobs, or years without one. Clock and sleep are injected, so tests live through weeks in a moment.
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
"""A job that fails with ever new messages is reported so often at most; each may run every few seconds."""

Sleep = Callable[[float], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PeriodicJob:
    """A small job that runs again and again.

    Attributes:
        name: as an error names it, such as `backup`.
        every_s: from one beginning to the next, in seconds of monotonic time.
        run: does it once; what it raises ends this turn and no other.
        first_s: how long after the start it is done for the first time.
    """

    name: str
    every_s: float
    run: Callable[[], Awaitable[None]]
    first_s: float = 0.0


class Scheduler:
    """Runs jobs when they are due.

    Args:
        jobs: what is to be done; names are unique.
        sink: takes an event for each job that fails; for the same failure again only after it went well in between.
        monotonic: seconds that never jump.
        sleep: waits some of them. A simulation moves its clocks here, after `wait_for_jobs`.
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
        """Run that job more often or less, from its last start on."""
        at = next(number for number, job in enumerate(self._jobs) if job.name == name)
        self._due[name] += every_s - self._jobs[at].every_s
        self._jobs[at] = replace(self._jobs[at], every_s=every_s)

    async def run(self) -> None:
        """Run jobs until cancelled; then what runs is cancelled too, and waited for."""
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
        """Begin what is due; returns after how many seconds to look again."""
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
        """Run something once; what it raises is reported under the name."""
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
