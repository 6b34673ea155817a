"""Forecasts from a real queue: the tasks that wait for other tasks, and the measured durations and costs."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from nightshift.core.clock import to_text
from nightshift.core.tasks.forecast import WorkSettings
from nightshift.core.tasks.states import Ending
from nightshift.core.tasks.submission import parse_spec
from nightshift.core.tasks.task import Spent
from nightshift.queue.manager import QueueManager
from nightshift.storage.db.database import Database
from nightshift.storage.db.event_log import EventLog
from nightshift.storage.db.forecasts import ENOUGH, foreseen, measure_tasks, open_tasks
from nightshift.storage.db.sqlite import Connection

NOW = datetime(2026, 11, 22, 12, 30, tzinfo=UTC)


class Shop:
    """A queue whose clock does not move."""

    def __init__(self, folder: Path) -> None:
        self.database = Database(folder / "db.sqlite")
        self.queue = QueueManager(self.database, EventLog(self.database, lambda: NOW), clock=lambda: NOW)

    def submit(self, **more: object) -> int:
        return self.queue.submit(parse_spec({"description": "x", **more})).result().task_id

    def claim(self, task_id: int) -> int:
        task = self.queue.claim("w", only=task_id).result()
        assert task is not None
        return task.fence

    def end(self, work_s: float, cost_usd: float, *, unpriced: int = 0, ending: Ending = Ending.COMMITTED) -> int:
        task_id = self.submit()
        fence = self.claim(task_id)
        self.worked(task_id, work_s)
        spent = Spent(cost_usd=cost_usd, unpriced=unpriced)
        self.queue.finish(task_id, fence, ending, spent=spent).result()
        return task_id

    def coded(self, task_id: int, backend: str, model: str, calls: int = 1) -> None:
        def job(conn: Connection) -> None:
            conn.executemany(
                "INSERT INTO model_stats (at, task_id, attempt, phase, backend, model, tokens_in, tokens_out, "
                "latency_s) VALUES (?, ?, 1, 'CODING', ?, ?, 1, 1, 1.0)",
                [(to_text(NOW), task_id, backend, model)] * calls,
            )

        self.database.write(job).result()

    def worked(self, task_id: int, work_s: float) -> None:
        def job(conn: Connection) -> None:
            conn.execute(
                "INSERT INTO iterations (task_id, attempt, iteration, phases, tokens_in, tokens_out, cost_usd, "
                "duration_s, started_at, ended_at) VALUES (?, 1, 1, '[]', 0, 0, 0, ?, ?, ?)",
                (task_id, work_s, to_text(NOW), to_text(NOW)),
            )

        self.database.write(job).result()


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    new_shop = Shop(tmp_path)
    yield new_shop
    new_shop.database.close()


def test_open_tasks_are_told_apart_by_what_they_wait_for(shop: Shop) -> None:
    running, asking, parked = shop.submit(), shop.submit(), shop.submit()
    later = shop.submit(not_before=to_text(NOW + timedelta(hours=1)))
    behind_running, behind_asking = shop.submit(depends_on=[running]), shop.submit(depends_on=[asking])
    shop.submit(depends_on=[behind_asking])
    shop.submit()
    shop.claim(running)
    shop.worked(running, 20.0)
    shop.queue.wait_for_owner(asking, shop.claim(asking), "which port?").result()
    shop.queue.park(parked, shop.claim(parked), "no model answers", None).result()
    work = open_tasks(shop.database.reader(), NOW)
    assert (len(work.tasks), work.for_owner, work.for_model) == (5, 3, 1)
    assert [(task.is_running, task.work_s, task.due_in_s) for task in work.tasks] == [
        (True, 20.0, 0.0), (False, 0.0, 0.0), (False, 0.0, 0.0), (False, 0.0, 3600.0), (False, 0.0, 0.0)
    ]  # fmt: skip
    assert later
    assert behind_running


def test_measured_are_tasks_that_were_worked_on_to_their_end(shop: Shop) -> None:
    first = shop.end(60.0, 0.1)
    assert measure_tasks(shop.database.reader()) == ([], ""), "no model has written code"
    shop.coded(first, "openai", "m")
    shop.end(90.0, 0.2, unpriced=1, ending=Ending.GAVE_UP)
    shop.end(1.0, 0.0, ending=Ending.ERROR)
    tasks, model = measure_tasks(shop.database.reader())
    assert sorted((each.work_s, each.cost_usd) for each in tasks) == [(60.0, 0.1), (90.0, None)]
    assert model == ""


def test_the_tasks_of_the_model_that_works_now_are_measured_where_it_did_enough(shop: Shop) -> None:
    for _ in range(12):
        shop.coded(shop.end(600.0, 1.0), "openai", "dear")
    for _ in range(ENOUGH - 1):
        shop.coded(shop.end(60.0, 0.1), "ollama", "small", calls=2)
    tasks, model = measure_tasks(shop.database.reader())
    assert (len(tasks), model) == (12 + ENOUGH - 1, ""), "too few of its own"
    both = shop.end(60.0, 0.1)
    shop.coded(both, "openai", "dear")
    shop.coded(both, "ollama", "small", calls=2)
    shop.coded(shop.end(5.0, 0.0), "repair", "repair")
    tasks, model = measure_tasks(shop.database.reader())
    assert sorted(each.work_s for each in tasks) == [5.0, *[60.0] * ENOUGH], "what the engine spared it is among them"
    assert model == "ollama=small"
    shop.submit()
    assert foreseen(shop.database.reader(), WorkSettings(), NOW).model == model
