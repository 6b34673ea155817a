"""A wrong system clock is reported, and no task waits for years because of it.

The tests set all clocks of a simulated machine.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nightshift.core.events import Event, Kind, Level
from nightshift.core.tasks.states import Status
from nightshift.core.tasks.task import Task, TaskSpec
from nightshift.maintenance.clock_watch import JUMP, LONG_JUMP, STEADY_S, ClockWatch
from nightshift.queue import checkpoints
from nightshift.queue.manager import QueueManager
from nightshift.storage.db.database import Database
from nightshift.storage.db.event_log import EventLog
from tests.support import tiers
from tests.support.clocks import HandClocks
from tests.support.ready_database import ready

HOUR, DAY, YEAR = 3600.0, 86400.0, 365 * 86400.0
NOTE_S = 300.0
RUNNER = asyncio.Runner()


@dataclass(frozen=True)
class Store:
    """The database of a daemon, with the event log and the queue on top."""

    db: Database
    events: EventLog
    queue: QueueManager


@dataclass
class Machine:
    """A machine with a home. `up` starts a daemon's services and a new clock watch."""

    path: Path
    clocks: HandClocks = field(default_factory=HandClocks)

    @contextmanager
    def up(self) -> Iterator[tuple[Store, ClockWatch]]:
        clocks = self.clocks
        with Database(ready(self.path / "a.sqlite")) as db:
            events = EventLog(db, clocks)
            store = Store(db, events, QueueManager(db, events, clock=clocks))
            watch = ClockWatch(db, store.queue, events, clocks.all())
            RUNNER.run(watch.begin())
            yield store, watch


@pytest.fixture(scope="module", autouse=True)
def runner() -> Iterator[None]:
    with RUNNER:
        yield


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def list_events(store: Store) -> list[Event]:
    return [event for event in store.events.after(0, limit=999) if event.kind is Kind.CLOCK_JUMPED]


def claim(store: Store, **fields: object) -> Task:
    store.queue.submit(TaskSpec(description="x", **fields)).result()  # type: ignore[arg-type]
    task = store.queue.claim("w").result()
    assert task is not None
    return task


def park(store: Store, clocks: HandClocks, rest_s: float, **fields: object) -> int:
    task = claim(store, **fields)
    store.queue.park(task.id, task.fence, "rests", clocks() + timedelta(seconds=rest_s)).result()
    return task.id


def look(watch: ClockWatch) -> None:
    RUNNER.run(watch.look())


def test_a_clock_that_is_set_is_told_with_from_and_to(machine: Machine) -> None:
    with machine.up() as (store, watch):
        machine.clocks.set_by_s(-2 * HOUR)
        look(watch)
        look(watch)
        [event] = list_events(store)
    assert (event.level, event.data["from"], event.data["to"]) == (
        Level.WARNING, "2026-11-02T08:00:00.000000Z", "2026-11-02T06:00:00.000000Z",
    )  # fmt: skip
    assert event.message.startswith("the clock was set back by 2:00:00: from 2026-11-02T08")


@pytest.mark.parametrize("by_s", [8 * HOUR, -8 * HOUR])
def test_a_task_that_runs_is_not_taken_for_abandoned(machine: Machine, by_s: float) -> None:
    with machine.up() as (store, watch):
        task = claim(store)
        machine.clocks.set_by_s(by_s)
        look(watch)
        assert store.queue.sweep().result() == []
        lease = store.queue.get(task.id).lease_until
        assert lease == machine.clocks() + timedelta(seconds=60)
        machine.clocks.pass_s(61)
        assert [lost.id for lost in store.queue.sweep().result()] == [task.id]


def test_the_leases_of_its_own_tasks_are_renewed_with_the_sweep_itself(machine: Machine) -> None:
    with machine.up() as (store, _):
        task, lost = claim(store), claim(store)
        machine.clocks.sleep_s(8 * HOUR)
        assert [each.id for each in store.queue.sweep([(task.id, task.fence)]).result()] == [lost.id]


def test_a_time_that_the_owner_set_stands(machine: Machine) -> None:
    wanted = machine.clocks() + timedelta(days=3)
    with machine.up() as (store, watch):
        spec = TaskSpec(description="later", not_before=wanted)
        waits = store.queue.submit(spec).result().task_id
        machine.clocks.pass_s(3 * DAY)
        store.queue.tick().result()
        rests = park(store, machine.clocks, HOUR)
        machine.clocks.set_by_s(-3 * DAY)
        look(watch)
        assert rests == waits
        assert store.queue.get(rests).not_before == wanted, "it rests until the owner's time, for that is to come again"
        other = store.queue.submit(spec).result().task_id
        machine.clocks.set_by_s(-YEAR)
        look(watch)
        assert store.queue.get(other).not_before == wanted


@pytest.mark.parametrize("by_s", [-YEAR, 2 * HOUR])
def test_the_next_checkpoint_follows_a_clock_that_is_set(machine: Machine, by_s: float) -> None:
    with machine.up() as (store, watch):
        store.db.write(lambda conn: checkpoints.count_from(conn, machine.clocks())).result()
        machine.clocks.pass_s(DAY)
        machine.clocks.set_by_s(by_s)
        assert not watch.steady(), "a checkpoint may look before the watch does"
        look(watch)
        record = checkpoints.read(store.db.reader())
        assert record.counts_from == machine.clocks() - timedelta(days=1)
        assert record.last == HandClocks()(), "the next report has what no report had"


def test_a_clock_is_believed_again_when_it_has_held_for_minutes(machine: Machine) -> None:
    with machine.up() as (_, watch):
        machine.clocks.sleep_s(LONG_JUMP.total_seconds() - 60)
        look(watch)
        assert watch.steady()
        machine.clocks.sleep_s(LONG_JUMP.total_seconds() + 60)
        look(watch)
        assert not watch.steady()
        machine.clocks.pass_s(STEADY_S - 1)
        assert not watch.steady()
        machine.clocks.pass_s(1)
        assert watch.steady()


def test_a_battery_clock_that_is_years_back_at_the_start_and_set_right_later(machine: Machine) -> None:
    with machine.up() as (store, watch):
        store.db.write(lambda conn: checkpoints.count_from(conn, machine.clocks())).result()
        rests = park(store, machine.clocks, 2 * HOUR)
        RUNNER.run(watch.note())
    machine.clocks.set_by_s(-20 * YEAR)
    with machine.up() as (store, watch):
        assert [event.data["set_s"] for event in list_events(store)] == [-20 * YEAR]
        assert store.queue.get(rests).not_before == machine.clocks() + timedelta(hours=2)
        assert not watch.steady()
    with machine.up() as (store, watch):
        assert len(list_events(store)) == 1, "what was made good is not made good again"
        machine.clocks.pass_s(HOUR)
        machine.clocks.set_by_s(20 * YEAR)
        look(watch)
        assert checkpoints.read(store.db.reader()).counts_from == machine.clocks() - timedelta(hours=1)


SECONDS = st.integers(1, 1500)
LIVES = st.lists(
    st.tuples(st.sampled_from(["pass", "sleep"]), SECONDS)
    | st.tuples(st.just("rest"), SECONDS)
    | st.tuples(st.sampled_from(["set", "away"]), st.integers(-(10**8), 10**8) | st.integers(-9, 9)),
    max_size=25,
)


@settings(max_examples=tiers.examples(40), deadline=None)
@given(life=LIVES)
@example(life=[("rest", 100), ("away", -(10**7)), ("pass", 1500)])
def test_no_task_rests_longer_than_its_time_while_a_daemon_runs(
    tmp_path_factory: pytest.TempPathFactory, life: list[tuple[str, int]]
) -> None:
    """Check that a task rests no longer than its delay, measured in the time that a daemon is up.

    Each start may add the time that passed since the clock was last recorded.
    """
    machine = Machine(tmp_path_factory.mktemp("clock"))
    clocks, up_s, latest = machine.clocks, 0.0, dict[int, float]()
    slack_s = JUMP.total_seconds() + 1
    steps = iter([*life, ("end", 0)])
    step, amount = next(steps)
    while step != "end":
        with machine.up() as (store, watch):
            while step not in {"away", "end"}:
                if step == "rest":
                    latest[park(store, clocks, amount)] = up_s + amount
                elif step == "set":
                    clocks.set_by_s(amount)
                else:
                    left = float(amount)
                    while left > 0:
                        part = min(left, NOTE_S)
                        clocks.pass_s(part) if step == "pass" else clocks.sleep_s(part)
                        up_s, left = up_s + part, left - part
                        look(watch)
                        RUNNER.run(watch.note())
                look(watch)
                store.queue.tick().result()
                late = [task_id for task_id, due in latest.items() if up_s >= due + slack_s]
                assert all(store.queue.get(task_id).status is Status.QUEUED for task_id in late)
                step, amount = next(steps)
        if step == "away":
            clocks.pass_s(abs(amount) % 5000)
            clocks.set_by_s(amount)
            slack_s += JUMP.total_seconds() + NOTE_S
            step, amount = next(steps)
