"""The hourly state and the weekly checkpoint, on a clock that the test moves."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from assembly.store import Store, open_store
from config import load_settings
from core.events import Kind
from core.states import DaemonState
from core.status import DaemonStatus
from core.submission import parse_spec
from upkeep.housekeeper import Housekeeper, Schedule

WEEK = timedelta(days=7)


@dataclass
class Watch:
    now: datetime = field(default_factory=lambda: datetime(2026, 11, 2, tzinfo=UTC))

    def __call__(self) -> datetime:
        return self.now


@dataclass
class Site:
    home: Path
    watch: Watch
    store: Store
    spans: list[tuple[datetime, datetime]] = field(default_factory=list)

    def keeper(self) -> Housekeeper:
        def report(since: datetime, until: datetime) -> Path:
            self.spans.append((since, until))
            return self.home / "reports" / "week.md"

        plan = Schedule(
            state_interval_s=3600, checkpoint_days=7, state_file=self.home / "state.json",
            backups_dir=self.home / "backups", look_s=0.01, settle_s=0.2,
        )  # fmt: skip
        return Housekeeper(
            plan, queue=self.store.queue, state=self.store.state, events=self.store.events,
            status=lambda: DaemonStatus(state=DaemonState.RUNNING, uptime_s=1, version="1"),
            write_report=report, clock=self.watch,
        )  # fmt: skip

    def count(self, kind: Kind) -> int:
        self.store.events.catch_up().result()
        return sum(event.kind is kind for event in self.store.events.last(200))


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    watch = Watch()
    with ExitStack() as stack:
        yield Site(tmp_path, watch, open_store(load_settings(home=tmp_path), stack, watch))


async def run_for(keeper: Housekeeper, seconds: float = 0.3) -> None:
    task = asyncio.create_task(keeper.run())
    await asyncio.sleep(seconds)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_state_is_saved_at_the_start_and_every_hour_with_a_backup(site: Site) -> None:
    keeper = site.keeper()
    task = asyncio.create_task(keeper.run())
    for hours in range(3):
        await asyncio.sleep(0.2)
        assert site.count(Kind.STATE_SAVED) == hours + 1
        site.watch.now += timedelta(hours=1, seconds=1)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert (site.home / "state.json").exists()
    assert len(list((site.home / "backups").glob("*.sqlite"))) == 3


async def test_a_checkpoint_pauses_reports_and_waits_until_resumed(site: Site) -> None:
    begun = site.watch.now
    await run_for(site.keeper(), 0.1)
    site.watch.now += WEEK + timedelta(minutes=1)
    await run_for(site.keeper())
    assert site.spans == [(begun, site.watch.now)]
    pause = site.store.queue.pause_state()
    assert (pause.paused, pause.state) == (True, DaemonState.CHECKPOINT)
    site.store.queue.submit(parse_spec({"description": "later"})).result()
    assert site.store.queue.claim("worker-1").result() is None
    site.store.queue.resume().result()
    assert site.store.queue.claim("worker-1").result() is not None


async def test_a_restart_does_not_put_the_checkpoint_off(site: Site) -> None:
    await run_for(site.keeper(), 0.1)
    due = site.keeper().next_checkpoint_at()
    site.watch.now += timedelta(days=3)
    await run_for(site.keeper(), 0.1)
    assert site.keeper().next_checkpoint_at() == due
    assert site.spans == []


async def test_the_report_waits_for_what_runs_but_not_for_ever(site: Site) -> None:
    site.store.queue.submit(parse_spec({"description": "runs"})).result()
    task = site.store.queue.claim("worker-1").result()
    assert task
    checkpoint = asyncio.create_task(site.keeper().checkpoint())
    await asyncio.sleep(0.1)
    assert site.spans == []
    await checkpoint
    assert len(site.spans) == 1
