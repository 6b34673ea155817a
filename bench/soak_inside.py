"""The daemon of the soak test: the real one, on clocks that the test moves. Started by bench/soak.py.

The process reads lines on standard input. `pass HOURS` lets that many hours pass, one by one; the next hour begins only
when everything that the daemon does in an hour is done. Then the process prints `passed` on standard output. At the end
of input the daemon stops.
"""

# ruff: noqa: E402  the path comes first: this folder's queue.py would hide the standard library's
from __future__ import annotations

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parent.parent)

import asyncio
import time
from datetime import datetime, timedelta

from nightshift.app.daemon import Daemon
from nightshift.config.load import load_settings
from nightshift.core.clock import Clocks, boottime, utc_now

HOUR_S = 3600.0


class Time:
    """Clocks that run normally and can be moved ahead."""

    def __init__(self) -> None:
        self._ahead_s = 0.0
        self._moved = asyncio.Event()

    def clocks(self) -> Clocks:
        """Return all clocks of the machine, moved ahead."""
        return Clocks(wall=self._wall, monotonic=self._monotonic, passed=lambda: boottime() + self._ahead_s)

    def _wall(self) -> datetime:
        return utc_now() + timedelta(seconds=self._ahead_s)

    def _monotonic(self) -> float:
        return time.monotonic() + self._ahead_s

    async def sleep(self, seconds: float) -> None:
        """Wait until a number of seconds has passed or was skipped."""
        until = self._monotonic() + seconds
        while (left_s := until - self._monotonic()) > 0:
            try:
                async with asyncio.timeout(left_s):
                    await self._moved.wait()
            except TimeoutError:
                return

    async def move(self, seconds: float) -> None:
        """Move all clocks ahead, and wait until the jobs that became due are done."""
        self._ahead_s += seconds
        self._moved.set()
        self._moved = asyncio.Event()
        await asyncio.sleep(0.01)
        while any(not task.get_name().startswith("Task-") for task in asyncio.all_tasks()):  # noqa: ASYNC110  chores have names
            await asyncio.sleep(0.005)


async def _obey(passing: Time, daemon: Daemon) -> None:
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        for _ in range(int(line.split()[1])):
            await passing.move(HOUR_S)
        print("passed", flush=True)
    daemon.stop()


async def _serve() -> None:
    passing = Time()
    daemon = Daemon(load_settings(), clocks=passing.clocks(), sleep=passing.sleep, show=lambda _: None)
    orders = asyncio.create_task(_obey(passing, daemon))
    await daemon.serve()
    orders.cancel()


if __name__ == "__main__":
    asyncio.run(_serve())
