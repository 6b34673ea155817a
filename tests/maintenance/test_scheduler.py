"""Jobs run at their own intervals, concurrently, and fail independently. No real time passes in these tests."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from itertools import count

import pytest

from nightshift.core.events import Event, Kind, Level
from nightshift.maintenance.scheduler import PeriodicJob, Scheduler
from tests.support.clocks import HandClocks


class End(Exception):
    """Raised when the simulated time is over."""


async def keep(
    jobs: list[PeriodicJob],
    for_s: float,
    before_each: Callable[[float], Awaitable[None]] | None = None,
    *,
    settle: bool = True,
) -> list[Event]:
    """Run the scheduled jobs for a number of simulated seconds, and return the events."""
    clocks, events = HandClocks(), list[Event]()
    end = clocks.monotonic() + for_s

    async def sleep(seconds: float) -> None:
        if settle:
            await scheduler.wait_for_jobs()
        else:
            await asyncio.sleep(0.001)  # lets the short job run; waiting for the long job would never end
        clocks.pass_s(seconds)
        if clocks.monotonic() > end:
            raise End
        if before_each:
            await before_each(clocks.monotonic())

    scheduler = Scheduler(jobs, events.append, monotonic=clocks.monotonic, sleep=sleep)
    with pytest.raises(End):
        await scheduler.run()
    return events


async def test_each_chore_comes_at_its_own_pace() -> None:
    done = Counter[str]()

    def job(name: str, every_s: float, first_s: float = 0.0) -> PeriodicJob:
        async def run() -> None:
            done[name] += 1

        return PeriodicJob(name=name, every_s=every_s, run=run, first_s=first_s)

    week_s = 7 * 86400.0
    await keep([job("hourly", 3600), job("daily", 86400), job("late", 86400, first_s=3600)], week_s)
    assert done == {"hourly": 7 * 24 + 1, "daily": 8, "late": 7}


async def test_a_chore_that_fails_is_named_and_ends_nothing() -> None:
    done = Counter[str]()

    async def broken() -> None:
        done["broken"] += 1
        raise ValueError("no such thing")

    async def fine() -> None:
        done["fine"] += 1

    events = await keep(
        [PeriodicJob(name="packing", every_s=60, run=broken), PeriodicJob(name="fine", every_s=60, run=fine)], 600
    )
    assert done == {"broken": 11, "fine": 11}
    assert [(event.kind, event.level, event.message) for event in events] == [
        (Kind.WORKER_ERROR, Level.ERROR, "packing: ValueError: no such thing")
    ]
    assert events[0].data["chore"] == "packing"


async def test_a_chore_that_fails_in_ever_new_words_does_not_flood_the_log() -> None:
    words = count()

    async def shaky() -> None:
        raise OSError(f"draft {next(words)} cannot be written")

    events = await keep([PeriodicJob(name="shaky", every_s=2, run=shaky)], 3600)
    assert len(events) == 7


async def test_a_long_chore_keeps_no_other_waiting_and_is_not_begun_twice() -> None:
    begun, release = Counter[str](), asyncio.Event()

    async def long() -> None:
        begun["long"] += 1
        await release.wait()

    async def short() -> None:
        begun["short"] += 1

    jobs = [PeriodicJob(name="long", every_s=60, run=long), PeriodicJob(name="short", every_s=60, run=short)]
    await keep(jobs, 600, settle=False)
    assert begun == {"long": 1, "short": 11}
