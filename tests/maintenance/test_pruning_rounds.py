"""Rounds of pruning on a real database: by age, by size, with a doubtful clock, and beside a busy writer."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from nightshift.core.clock import to_text
from nightshift.core.dialogue import Completion, Message, ModelRequest
from nightshift.core.events import Event, Kind, Level
from nightshift.core.tasks.attempt_state import AttemptState, Step
from nightshift.core.tasks.states import Ending, Outcome, Phase
from nightshift.core.tasks.task import Task, TaskSpec
from nightshift.maintenance.pruning import Keep, Pruner
from nightshift.storage.db import pruning
from nightshift.storage.db.recovery import check_rows
from nightshift.storage.db.sqlite import Connection
from nightshift.storage.memory.elsewhere import TABLES
from nightshift.storage.memory.embedders.base import scale
from nightshift.storage.memory.vector_index import VectorIndex
from tests.support.store import Store, open_store

DAY_S = 86_400.0
NOISE = 90_000


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "agent.sqlite") as opened:
        yield opened


def pruner(store: Store, quiet: bool = True, **keep: float) -> Pruner:
    return Pruner(
        store.db,
        store.events,
        store.state,
        keep=lambda: Keep(**keep),  # type: ignore[arg-type]  # by name
        clock=store.clock,
        quiet=lambda: quiet,
    )


def noise(number: int) -> str:
    """Return a text that hardly compresses."""
    return random.Random(number).randbytes(NOISE // 2).hex()


def finish(store: Store, text: str = "x", ending: Ending | None = Ending.COMMITTED) -> Task:
    """Make a task with one step and one call, and end the task unless `ending` is None."""
    submission = store.queue.submit(TaskSpec(description="x")).result()
    task = store.queue.claim("w", only=submission.task_id).result()
    assert task is not None
    request = ModelRequest(
        phase=Phase.CODING,
        messages=(Message(role="user", text=text),),
        task_id=task.id,
        attempt=1,
        step_no=0,
        call_no=0,
        iteration=0,
    )
    answer = Completion(text=text, backend="x", model="m", tokens_in=1, tokens_out=1, cost_usd=None, latency_s=1)
    store.steps.save_reply(request, answer).result()
    step = Step(phase=Phase.CODING, outcome=Outcome.OK, state=AttemptState(phase=Phase.CODING, base="b", step_no=1))
    store.steps.save_step(task.id, 1, task.fence, step, started_at=store.clock(), duration_s=1).result()
    if ending:
        store.queue.finish(task.id, task.fence, ending).result()
    return task


def read_stored(store: Store) -> None:
    """Wait until the events emitted so far are stored."""
    store.db.write(lambda _: None).result()


def list_events(store: Store) -> Event:
    read_stored(store)
    return [event for event in store.events.last(50) if event.kind is Kind.PRUNED][-1]


async def test_a_round_prunes_by_age_and_tells_figures(store: Store) -> None:
    old = finish(store)
    store.clock.advance(31 * DAY_S)
    young, still_open = finish(store), finish(store, ending=None)
    await pruner(store).run()
    assert store.steps.timeline(old.id) == []
    assert store.steps.timeline(young.id)
    assert store.steps.timeline(still_open.id)
    event = list_events(store)
    assert (event.level, event.data["tasks"], event.data["rows"]) == (Level.INFO, 1, 2)
    assert event.message.startswith("pruned the steps and replies of 1 tasks, 0 events and 0 texts")
    assert store.queue.get(old.id).ending is Ending.COMMITTED
    assert store.steps.iterations(old.id)


async def test_events_go_later_than_work_and_never_those_of_a_report_to_come(store: Store) -> None:
    finish(store)
    since = store.clock() + timedelta(hours=1)
    rounds = Pruner(
        store.db,
        store.events,
        store.state,
        keep=lambda: Keep(events_days=20, work_days=10),
        clock=store.clock,
        quiet=lambda: True,
        report_since=lambda: since,
    )
    await rounds.run()
    first = store.events.after(0, limit=1)[0]
    for _ in range(3):
        store.clock.advance(9 * DAY_S)
        store.events.emit(Event(kind=Kind.STATE_SAVED))
        read_stored(store)
        await rounds.run()
    assert store.events.after(0, limit=1)[0].id > first.id
    kinds = [event.kind for event in store.events.after(0, limit=50)]
    assert kinds.count(Kind.STATE_SAVED) == 3  # 18, 9 and 0 days old; without `report_since` the oldest would be pruned
    record = pruning.events_pruned(store.db.reader())
    assert record is not None
    assert (record.setting, record.before) == ("keep_events_days", since)


async def test_nothing_goes_by_age_while_the_clock_is_in_doubt(store: Store) -> None:
    task = finish(store)
    rounds = pruner(store)
    await rounds.run()
    store.clock.advance(3650 * DAY_S)
    await rounds.run()
    await pruner(store).run()  # a restart does not end the doubt
    assert store.steps.timeline(task.id)
    store.clock.advance(-3650 * DAY_S)
    await rounds.run()
    assert store.steps.timeline(task.id)
    store.clock.advance(31 * DAY_S)  # a month passes; the clock is doubted for a day, then trusted
    await rounds.run()
    assert store.steps.timeline(task.id)
    for _ in range(2):
        store.clock.advance(0.6 * DAY_S)
        await rounds.run()
    assert not store.steps.timeline(task.id)


async def test_a_database_that_is_too_large_loses_the_oldest_work_first(store: Store) -> None:
    tasks = []
    for number in range(40):
        tasks.append(finish(store, noise(number)))
        store.clock.advance(0.2 * DAY_S)
    before = pruning.size(store.db.reader()).used
    await pruner(store, database_mb=2).run()
    after = pruning.size(store.db.reader())
    assert before > 2 << 20 >= after.used
    assert after.free == 0
    left = [task.id for task in tasks if store.steps.timeline(task.id)]
    assert 5 < len(left) < 38
    assert left == [task.id for task in tasks][-len(left) :]
    event = list_events(store)
    assert event.level is Level.WARNING
    assert event.message.endswith("it had passed database_max_mb (2)")
    note = pruning.work_pruned(store.db.reader(), tasks[0].id)
    assert note is not None
    assert note.setting == "database_max_mb"


async def test_what_is_open_or_young_is_kept_however_large_and_that_is_told_once(store: Store) -> None:
    tasks = [finish(store, noise(number), None if number % 2 else Ending.COMMITTED) for number in range(20)]
    store.clock.advance(0.5 * DAY_S)
    rounds = pruner(store, database_mb=1)
    await rounds.run()
    await rounds.run()
    assert all(store.steps.timeline(task.id) for task in tasks)
    read_stored(store)
    (event,) = [event for event in store.events.last(500) if event.kind is Kind.PRUNED]
    assert event.level is Level.WARNING
    assert "and still does" in event.message


def learn(store: Store, count: int, *, used: bool) -> None:
    """Store lessons of both kinds, each with a vector."""
    index, vector = VectorIndex(store.db, "hashed"), [scale([1, 1, 1, 1])] * count
    at, uses = to_text(store.clock()), int(used)

    def job(conn: Connection) -> None:
        for table, columns in (("failures", "signature, error"), ("patterns", "problem, solution")):
            insert = f"INSERT INTO {table} ({columns}, created_at, times_used, last_used_at) VALUES ('s', 'e', ?, ?, ?)"
            conn.executemany(insert, [(at, uses, at if used else None)] * count)

    store.db.write(job).result()
    for kind, table in TABLES.items():
        ids = store.db.reader().execute(f"SELECT id FROM {table} ORDER BY id DESC LIMIT ?", (count,))
        index.add(kind, [row[0] for row in ids], vector)


def recall(store: Store) -> None:
    insert = (
        "INSERT INTO recalls (task_id, attempt, kind, item, arm, score, at) VALUES (1, 1, 'failure', 1, 'shown', 1, ?)"
    )
    store.db.write(lambda conn: conn.execute(insert, (to_text(store.clock()),)).rowcount).result()


@pytest.mark.parametrize(
    ("table", "fill", "keep", "left"),
    [
        ("failures", lambda store: learn(store, 5, used=False), {"lessons_days": 100}, 0),
        ("failures", lambda store: learn(store, 5, used=True), {"lessons_days": 100}, 5),
        ("failures", lambda store: learn(store, 450, used=True), {"lessons": 7}, 7),
        ("memory_vectors", lambda store: learn(store, 9, used=True), {"lessons": 7}, 14),
        ("model_stats", lambda store: [finish(store) for _ in range(5)], {"calls_days": 100}, 1),
        ("model_stats", lambda store: [finish(store, ending=None) for _ in range(5)], {"calls_days": 100}, 5),
        ("recalls", recall, {"calls_days": 100}, 0),
        ("iterations", finish, {"calls_days": 100}, 0),
    ],
)
async def test_what_grew_for_ever_is_bounded_by_a_setting(
    store: Store, table: str, fill: Callable[[Store], object], keep: dict[str, float], left: int
) -> None:
    fill(store)
    spent = store.state.sum_spent()
    await pruner(store, True, **{"lessons_days": 10_000, **keep}).run()
    store.clock.advance(200 * DAY_S)
    clock = pruner(store, True, **{"lessons_days": 10_000, **keep})
    await clock.run()  # after such a leap the clock is doubted for a day
    store.clock.advance(2 * DAY_S)
    await clock.run()
    assert store.db.reader().execute(f"SELECT count(*) FROM {table}").fetchone()[0] == left
    assert store.state.sum_spent() == spent, "what was spent stays known"
    assert list(check_rows(store.db.reader())) == []
