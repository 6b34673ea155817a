"""The forecast in the daemon's status: its age, and the daily warning about a budget that is too small."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from nightshift.app.outlook import FRESH_S, OutlookWatch
from nightshift.app.store import StoreServices, open_store
from nightshift.config.load import load_settings
from nightshift.core.events import Kind
from nightshift.core.tasks.states import Ending
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

    def count_warnings(self) -> int:
        self.store.events.catch_up().result()
        return sum(event.kind is Kind.BUDGET_SHORT for event in self.store.events.after(0, limit=1000))


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    clocks = HandClocks()
    with ExitStack() as stack:
        settings = load_settings({"day_cost_usd": 4.5, "worker_count": 1}, home=tmp_path)
        store = open_store(settings, stack, clocks)
        yield Desk(store=store, clocks=clocks, watch=OutlookWatch(lambda: settings, store, clocks.all()))


async def test_a_short_budget_is_told_once_a_day(desk: Desk) -> None:
    desk.submit(12)
    desk.work(3)
    for _ in range(3):
        await desk.watch.look()
        desk.clocks.pass_s(FRESH_S)
    assert desk.count_warnings() == 1
    desk.clocks.pass_s(86_400)
    await desk.watch.look()
    assert desk.count_warnings() == 2
