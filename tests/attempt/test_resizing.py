"""The pool of workers grows and shrinks while the daemon runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from nightshift.attempt.pool import TaskExecutor
from tests.support.services import open_services


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110 - what is waited for is no event
            await asyncio.sleep(0.01)


async def test_workers_come_at_once_and_idle_ones_leave_at_once_under_names_of_their_own(tmp_path: Path) -> None:
    async with open_services(tmp_path) as opened:
        pool = TaskExecutor(opened.parts, workers=2, lease_s=60)
        pool.resize(3)

        def names() -> list[str]:
            return sorted(status.name for status in pool.statuses())

        assert names() == ["worker-1", "worker-2", "worker-3"], "also before it serves"
        running = asyncio.create_task(pool.run())
        try:
            await asyncio.sleep(0)
            pool.resize(1)
            await until(lambda: len(names()) == 1)
            pool.resize(4)
            assert len(set(names())) == 4
            pool.resize(2)
            pool.resize(4)
            assert len(names()) == 4, "who was about to leave stays"
            await asyncio.sleep(0.05)
            assert len(names()) == 4
        finally:
            await pool.stop(0)
            await running
        assert pool.overdue(1e12) == ()
