"""Defines when the daemon is healthy, for `/healthz` and for the watchdog of the service manager.

A daemon that answers does not necessarily work. It is healthy if four conditions hold. The workers' event loop runs.
The workers renew their leases, which also shows that the database can be written. The database writer's thread lives.
No worker stays in a task for much longer than the task's limits allow. Each fault is a sentence that names a part of
the daemon and contains nothing about any task.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Protocol

from nightshift.core.text.formats import duration

LOOP_LATE_S = 10.0
"""Seconds without a beat (`Vitals.beat`) after which the loop counts as blocked. A beat is due every second."""
BEAT_S = 1.0

Seconds = Callable[[], float]


class Pool(Protocol):
    """The part of the worker pool that shows its health."""

    @property
    def lease_s(self) -> float:
        """Seconds that the lease of a task lasts; the lease is renewed after a third of them."""
        ...

    @property
    def renewed_at(self) -> float:
        """Monotonic time of the last renewal of the leases."""
        ...

    def overdue(self, now: float) -> tuple[str, ...]:
        """Return the names of workers that are far beyond the limits of their tasks."""
        ...


class Writer(Protocol):
    """The part of the database that shows its health."""

    @property
    def writes(self) -> bool:
        """True if the writer's thread lives and can run a job."""
        ...


class Vitals:
    """Signs of life of one daemon; may be read from any thread.

    Args:
        database: the database, whose writer must be alive.
        monotonic: returns seconds that never jump.
    """

    def __init__(self, database: Writer, *, monotonic: Seconds = time.monotonic) -> None:
        self._database, self._monotonic = database, monotonic
        self._beat_at, self._pool = monotonic(), None
        self._pool_lives: Callable[[], bool] = lambda: True
        self.lag_s = 0.0

    _pool: Pool | None

    def watch(self, pool: Pool, lives: Callable[[], bool]) -> None:
        """Watch the workers from now on; `lives` returns True while they run."""
        self._pool, self._pool_lives = pool, lives

    def stop_watching(self) -> None:
        """Stop watching the workers, because they have ended and returned their tasks at somebody's request."""
        self._pool = None

    async def beat(self) -> None:
        """Record a beat every second until cancelled; must run on the workers' loop.

        Each beat also stores its own delay in `lag_s`, in seconds.
        """
        while True:
            began = self._monotonic()
            await asyncio.sleep(BEAT_S)
            self._beat_at = self._monotonic()
            self.lag_s = max(0.0, self._beat_at - began - BEAT_S)

    def faults(self) -> tuple[str, ...]:
        """List the faults; empty while the daemon is healthy."""
        now, pool, problems = self._monotonic(), self._pool, list[str]()
        if (late_s := now - self._beat_at) > LOOP_LATE_S:
            problems.append(f"the workers' loop has not run for {duration(late_s)}")
        if not self._database.writes:
            problems.append("the writer of the database has ended")
        if pool is not None:
            if not self._pool_lives():
                problems.append("the workers have ended")
            if (stale_s := now - pool.renewed_at) > pool.lease_s:
                problems.append(f"the leases have not been renewed for {duration(stale_s)}")
            problems += [f"{name} is far beyond the limits of its task" for name in pool.overdue(now)]
        return tuple(problems)
