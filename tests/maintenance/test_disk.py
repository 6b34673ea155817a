"""Low disk space stops work until space is freed; on real file systems."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from nightshift.core.events import Event, Kind, Level
from nightshift.core.tasks.queueing import PauseSource
from nightshift.maintenance.disk import DiskGuard
from tests.support.store import Store, open_store

NEVER_FREE_MB = 1e9


class Bench:
    """A disk guard over one folder. It counts how often it cleans up."""

    def __init__(self, store: Store, folder: Path) -> None:
        self.store, self.reserve_mb, self.cleanup_count = store, 0.0, 0
        self.guard = DiskGuard(
            {"the database": folder},
            reserve_mb=lambda: self.reserve_mb,
            free_space=self._free_space,
            queue=store.queue,
            emit=store.events.emit,
        )

    async def _free_space(self) -> None:
        self.cleanup_count += 1

    @property
    def holds(self) -> str:
        reasons = [hold.reason for hold in self.store.queue.pause_state().reasons if hold.source is PauseSource.DISK]
        return reasons[0] if reasons else ""

    def list_events(self) -> list[Event]:
        self.store.db.write(lambda _: None).result()
        return [event for event in self.store.events.last(50) if event.kind is Kind.DISK_LOW]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "a.sqlite") as opened:
        yield opened


@pytest.fixture
def bench(store: Store, tmp_path: Path) -> Bench:
    return Bench(store, tmp_path)


async def test_without_room_no_task_is_begun_and_it_is_told_once(bench: Bench, tmp_path: Path) -> None:
    bench.reserve_mb = NEVER_FREE_MB
    for _ in range(3):
        await bench.guard.look()
    assert f"MB are free for the database ({tmp_path}), less than disk_reserve_mb (1000000000)" in bench.holds
    (event,) = bench.list_events()
    assert event.level is Level.ERROR
    assert event.data["place"] == "the database"
    assert event.data["free_mb"] == pytest.approx(shutil.disk_usage(tmp_path).free / 2**20, rel=0.5)
    assert bench.cleanup_count == 1
    assert bench.store.queue.pause_state().paused


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a real file system of 64 MB."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(folder)], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        assert os.geteuid(), f"root may mount: {mounted.stderr}"
        pytest.skip("only root may mount; the other tests ask for more than any disk has")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


async def test_work_goes_on_when_there_is_clearly_more_room_than_the_reserve(store: Store, small_disk: Path) -> None:
    bench = Bench(store, small_disk)
    bench.reserve_mb = 20
    fill = small_disk / "fill"
    for size_mb, holds in ((40, False), (50, True), (42, True), (36, False), (43, False), (46, True)):
        fill.write_bytes(bytes(size_mb << 20))
        await bench.guard.look()
        assert bool(bench.holds) == holds, f"{size_mb} of 64 MB are full"
    assert len(bench.list_events()) == 2
