"""The weekly checkpoint, on clocks that the test sets, over restarts, and with the daemon killed at every step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from nightshift.app.store import StoreServices, open_store
from nightshift.config.load import load_settings
from nightshift.core.events import Kind
from nightshift.core.tasks.queueing import PauseSource
from nightshift.core.tasks.states import DaemonState, Ending
from nightshift.core.tasks.submission import parse_spec
from nightshift.core.tasks.task import Task
from nightshift.maintenance.checkpoint import Checkpoint
from nightshift.queue import checkpoints
from tests.support.clocks import HandClocks

WEEK = timedelta(days=7)
WEEK_S = WEEK.total_seconds()


class Killed(BaseException):
    """Raised where the daemon is supposed to die."""


@dataclass
class Site:
    """A home with its database. `checkpoint()` returns the checkpoint of a daemon that has just started."""

    home: Path
    clocks: HandClocks
    store: StoreServices
    spans: list[tuple[datetime, datetime]] = field(default_factory=list)
    days: float = 7.0
    steady: bool = True
    die: Callable[[], None] = lambda: None

    def checkpoint(self) -> Checkpoint:
        def report(since: datetime, until: datetime) -> Path:
            self.spans.append((since, until))
            self.die()
            return self.home / "reports" / "2026-W45.md"

        return Checkpoint(
            db=self.store.db, queue=self.store.queue, days=lambda: self.days,
            write_report=report, clock=self.clocks, steady=lambda: self.steady, monotonic=self.clocks.monotonic,
            settle_s=3600,
        )  # fmt: skip

    def state(self) -> DaemonState:
        return self.store.queue.pause_state().state

    def count_checkpoints(self) -> int:
        self.store.events.catch_up().result()
        return sum(event.kind is Kind.CHECKPOINT for event in self.store.events.last(200))

    def ask(self) -> bool:
        return self.store.db.write(lambda conn: checkpoints.ask(conn, self.clocks())).result()

    def running(self) -> Task:
        self.store.queue.submit(parse_spec({"description": "runs"})).result()
        task = self.store.queue.claim("worker-1").result()
        assert task
        return task


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    clocks = HandClocks()
    with ExitStack() as stack:
        yield Site(tmp_path, clocks, open_store(load_settings(home=tmp_path), stack, clocks))


async def test_it_holds_tasks_back_reports_and_waits_until_resumed(site: Site) -> None:
    begun, checkpoint = site.clocks(), site.checkpoint()
    await checkpoint.look()
    assert (site.state(), checkpoint.due_at()) == (DaemonState.RUNNING, begun + WEEK)
    site.clocks.pass_s(WEEK_S)
    await checkpoint.look()
    assert site.spans == [(begun, begun + WEEK)]
    assert (site.state(), site.count_checkpoints(), checkpoint.due_at()) == (DaemonState.CHECKPOINT, 1, None)
    assert site.store.queue.pause_state().reason == "checkpoint: 0 landed; 2026-W45.md is written"
    site.store.queue.submit(parse_spec({"description": "later"})).result()
    assert site.store.queue.claim("worker-1").result() is None
    site.clocks.pass_s(3 * WEEK_S)
    await checkpoint.look()
    assert len(site.spans) == 1
    site.store.queue.resume().result()
    assert checkpoint.due_at() == site.clocks() + WEEK
    assert site.store.queue.claim("worker-1").result() is not None


async def test_the_next_report_begins_where_the_last_one_ended(site: Site) -> None:
    begun, checkpoint = site.clocks(), site.checkpoint()
    await checkpoint.look()
    for wait_s in (0.0, WEEK_S):
        site.clocks.pass_s(WEEK_S)
        await checkpoint.look()
        site.clocks.pass_s(wait_s)
        site.store.queue.resume().result()
        await checkpoint.look()
    site.clocks.pass_s(WEEK_S)
    await checkpoint.look()
    assert site.spans == [(begun, begun + WEEK), (begun + WEEK, begun + 2 * WEEK), (begun + 2 * WEEK, begun + 4 * WEEK)]


async def test_the_report_waits_for_what_runs_and_covers_it(site: Site) -> None:
    task, checkpoint = site.running(), site.checkpoint()
    assert site.ask()
    await checkpoint.look()
    site.clocks.pass_s(600)
    await checkpoint.look()
    assert (site.spans, site.state(), checkpoint.due_at()) == ([], DaemonState.CHECKPOINT, None)
    site.store.queue.finish(task.id, task.fence, Ending.COMMITTED).result()
    await checkpoint.look()
    assert [until for _, until in site.spans] == [site.clocks()]


async def test_a_resume_meanwhile_lets_tasks_go_on_and_the_report_is_written_all_the_same(site: Site) -> None:
    task, checkpoint = site.running(), site.checkpoint()
    site.ask()
    await checkpoint.look()
    site.store.queue.resume().result()
    await checkpoint.look()
    assert (site.state(), site.spans) == (DaemonState.RUNNING, [])
    site.store.queue.finish(task.id, task.fence, Ending.COMMITTED).result()
    await checkpoint.look()
    await checkpoint.look()
    assert (site.state(), len(site.spans), site.count_checkpoints()) == (DaemonState.RUNNING, 1, 1)
    assert checkpoint.due_at() == site.clocks() + WEEK


async def test_a_clock_that_has_just_jumped_calls_none(site: Site) -> None:
    checkpoint = site.checkpoint()
    await checkpoint.look()
    site.steady = False
    site.clocks.pass_s(WEEK_S)
    await checkpoint.look()
    assert site.state() is DaemonState.RUNNING
    site.steady = True
    await checkpoint.look()
    assert site.state() is DaemonState.CHECKPOINT


async def test_killed_while_it_writes_the_report_it_is_written_again_for_the_same_span(site: Site) -> None:
    def die() -> None:
        raise Killed

    site.ask()
    site.die = die
    for _ in range(3):
        site.clocks.pass_s(60)
        with pytest.raises(Killed):
            await site.checkpoint().look()
    site.die = lambda: None
    assert (site.count_checkpoints(), site.state()) == (0, DaemonState.CHECKPOINT)
    site.clocks.pass_s(60)
    await site.checkpoint().look()
    assert len(set(site.spans)) == 1
    await site.checkpoint().look()
    assert (len(site.spans), site.count_checkpoints()) == (4, 1)


async def test_killed_after_each_write_it_goes_on_as_if_nothing_had_been(site: Site) -> None:
    """Kill the daemon after each of the three writes of a checkpoint in turn; the next daemon continues."""
    begun = site.clocks()
    await site.checkpoint().look()
    site.clocks.pass_s(WEEK_S)
    assert await site.checkpoint().begin_if_due()
    site.store.db.write(lambda conn: checkpoints.fix_end(conn, site.clocks())).result()
    site.clocks.pass_s(3600)
    assert await site.checkpoint().begin_if_due()
    await site.checkpoint().look()
    await site.checkpoint().look()
    assert site.spans == [(begun, begun + WEEK)]
    assert (site.count_checkpoints(), site.store.queue.pause_state().has(PauseSource.CHECKPOINT)) == (1, True)


async def test_a_report_that_cannot_be_written_is_tried_again(site: Site) -> None:
    def fail() -> None:
        raise OSError("no space left")

    site.ask()
    site.die = fail
    checkpoint = site.checkpoint()
    with pytest.raises(OSError, match="no space"):
        await checkpoint.look()
    assert "the report cannot be written and is tried again (no space left)" in site.store.queue.pause_state().reason
    site.die = lambda: None
    site.clocks.pass_s(60)
    await checkpoint.look()
    assert (site.count_checkpoints(), len(set(site.spans))) == (1, 1)
