"""The age of the forecast in the daemon's status."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from nightshift.app.outlook import FRESH_S, LEAST_S, OutlookWatch
from nightshift.app.store import StoreServices, open_store
from nightshift.config.load import load_settings
from nightshift.core.tasks.states import Ending, Status
from nightshift.core.tasks.submission import parse_spec
from nightshift.core.tasks.task import Spent
from nightshift.storage.db.sqlite import Connection
from tests.support.clocks import HandClocks


def note_code(task_id: int, conn: Connection) -> None:
    """Record that a model wrote the code of a task."""
    conn.execute(
        "INSERT INTO model_stats (at, task_id, attempt, phase, backend, model, tokens_in, tokens_out, latency_s) "
        "VALUES ('2026-01-01T00:00:00+00:00', ?, 1, 'CODING', 'openai', 'm', 1, 1, 1.0)",
        (task_id,),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """A home in which each task takes ten minutes and costs a dollar; a day's budget is $4.50."""

    store: StoreServices
    clocks: HandClocks
    watch: OutlookWatch

    def submit(self, count: int) -> None:
        for number in range(count):
            self.store.queue.submit(parse_spec({"description": f"task {number}"})).result()

    def work(self, count: int) -> None:
        for _ in range(count):
            task = self.store.queue.claim("worker-1").result()
            assert task
            self.clocks.pass_s(600)
            self.store.queue.finish(task.id, task.fence, Ending.COMMITTED, spent=Spent(cost_usd=1.0)).result()
            self.store.db.write(partial(note_code, task.id)).result()


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    clocks = HandClocks()
    with ExitStack() as stack:
        settings = load_settings({"day_cost_usd": 4.5, "worker_count": 1}, home=tmp_path)
        store = open_store(settings, stack, clocks)
        yield Desk(store=store, clocks=clocks, watch=OutlookWatch(lambda: settings, store, clocks.all()))


def test_a_forecast_is_made_anew_after_some_seconds_or_when_tasks_come_and_go(desk: Desk) -> None:
    desk.submit(12)
    desk.work(3)
    assert desk.watch().line.startswith("9 tasks")
    desk.submit(1)
    assert desk.watch().line.startswith("9 tasks")
    desk.clocks.pass_s(LEAST_S)
    assert desk.watch({Status.QUEUED: 10}).line.startswith("10 tasks")
    desk.submit(1)
    desk.clocks.pass_s(FRESH_S)
    assert desk.watch().line.startswith("11 tasks")
