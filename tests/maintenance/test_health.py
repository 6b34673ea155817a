"""The conditions under which a daemon counts as healthy; the watchdog uses the same conditions."""

from __future__ import annotations

import asyncio
import socket
from dataclasses import dataclass
from pathlib import Path

from nightshift.maintenance.health import Vitals
from nightshift.maintenance.service_manager import ServiceManagerLink, Watchdog
from nightshift.storage.db.database import Database


@dataclass
class Clock:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Pool:
    lease_s: float = 60.0
    renewed_at: float = 1000.0
    late: tuple[str, ...] = ()

    def overdue(self, now: float) -> tuple[str, ...]:
        assert now >= 1000
        return self.late


def test_each_sign_of_life_that_is_missing_is_a_fault_of_its_own(tmp_path: Path) -> None:
    clock, pool, lives = Clock(), Pool(), [True]
    with Database(tmp_path / "db.sqlite") as database:
        vitals = Vitals(database, monotonic=clock)
        assert vitals.faults() == ()
        vitals.watch(pool, lambda: lives[0])
        assert vitals.faults() == ()
        pool.late = ("worker-2",)
        assert vitals.faults() == ("worker-2 is far beyond the limits of its task",)
        pool.late, lives[0] = (), False
        assert vitals.faults() == ("the workers have ended",)
        vitals.stop_watching()
        assert vitals.faults() == (), "workers that ended as they were asked to"
        vitals.watch(pool, lambda: lives[0])
        lives[0], clock.now = True, 1061.0
        assert vitals.faults() == (
            "the workers' loop has not run for 1 min 1 s",
            "the leases have not been renewed for 1 min 1 s",
        )
    assert "the writer of the database has ended" in vitals.faults()


async def test_the_watchdog_is_fed_while_all_is_well_and_then_no_more(tmp_path: Path) -> None:
    faults: list[str] = []
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as heard:
        heard.bind(str(tmp_path / "notify"))
        heard.setblocking(False)
        link = ServiceManagerLink(str(tmp_path / "notify"))
        watchdog = Watchdog(link, 0.03, faults=lambda: faults, describe=lambda: "running")
        running = asyncio.create_task(watchdog.run())
        loop = asyncio.get_running_loop()
        messages = [(await loop.sock_recv(heard, 100)).decode() for _ in range(4)]
        assert messages == ["WATCHDOG=1", "STATUS=running", "WATCHDOG=1", "WATCHDOG=1"]
        faults.append("the workers have ended")
        while (await loop.sock_recv(heard, 100)).decode() == "WATCHDOG=1":
            pass
        running.cancel()
        watchdog.look()
        watchdog.look()
        faults.clear()
        watchdog.look()
        messages = [(await loop.sock_recv(heard, 100)).decode() for _ in range(2)]
        assert messages == ["WATCHDOG=1", "STATUS=running"], "a status is told when it changes"
