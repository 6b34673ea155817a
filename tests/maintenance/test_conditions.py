"""Pauses that begin and end automatically: quiet hours, the battery, and unread commits."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nightshift.core.tasks.queueing import PauseSource
from nightshift.core.tasks.states import Ending
from nightshift.core.tasks.task import TaskSpec
from nightshift.maintenance.conditions import (
    Condition,
    Reason,
    at_quiet_hours,
    battery_of_this_machine,
    in_debt,
    on_battery,
)
from nightshift.queue.pauses import renew_review_debt
from nightshift.storage.db.commit_ledger import CommitLedger
from nightshift.storage.db.state_store import Commit
from tests.support.store import Store, open_store

BERLIN = ZoneInfo("Europe/Berlin")


@dataclass
class FakePower:
    power_plugged: bool | None


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "a.sqlite") as opened:
        yield opened


def condition(store: Store, source: PauseSource, reason: Reason) -> Condition:
    return Condition(queue=store.queue, source=source, reason=reason)


async def test_a_hold_comes_and_goes_with_its_cause(store: Store) -> None:
    causes = ["", "night", "night", "noon", "", ""]
    left = iter(causes)
    look = condition(store, PauseSource.QUIET, lambda: next(left)).look
    for why in causes:
        await look()
        assert [hold.reason for hold in store.queue.pause_state().reasons] == [why] * bool(why)


async def test_without_a_change_nothing_is_written(store: Store) -> None:
    held = condition(store, PauseSource.QUIET, lambda: "night")
    await held.look()
    before = store.events.newest_id()
    version = store.db.data_version()
    await held.look()
    assert (store.events.newest_id(), store.db.data_version()) == (before, version)


async def test_the_owners_own_pause_stays(store: Store) -> None:
    store.queue.pause("lunch").result()
    await condition(store, PauseSource.QUIET, lambda: "").look()
    assert store.queue.pause_state().reason == "lunch"


def test_quiet_hours_are_those_of_the_machines_own_clock() -> None:
    times = iter([datetime(2026, 11, 2, 20, 59, tzinfo=UTC), datetime(2026, 11, 2, 21, 0, tzinfo=UTC)])
    reason = at_quiet_hours(lambda: ["22:00-07:00"], lambda: next(times), lambda at: at.astimezone(BERLIN))
    assert reason() == ""
    assert reason() == "quiet hours (22:00-07:00)"


@pytest.mark.parametrize(
    ("wanted", "battery", "held"),
    [
        (True, FakePower(power_plugged=False), True),
        (False, FakePower(power_plugged=False), False),
        (True, FakePower(power_plugged=True), False),
        (True, FakePower(power_plugged=None), False),
        (True, None, False),
    ],
)
def test_the_battery_holds_tasks_back_only_where_it_is_drawn_from(
    wanted: bool, battery: FakePower | None, held: bool
) -> None:
    assert bool(on_battery(lambda: wanted, lambda: battery)()) is held


def test_this_machine_can_be_asked_for_its_battery() -> None:
    battery = battery_of_this_machine()
    assert battery is None or battery.power_plugged in {True, False, None}


# Pauses because too many commits are unread.


def commit(number: int, task_id: int = 1) -> Commit:
    return Commit(
        task_id=task_id,
        attempt=1,
        repo="r",
        branch=f"b{number}",
        commit=f"{number:040x}",
        base="",
        subject="s",
        label="l",
    )


def with_debt(store: Store, limit: int) -> Condition:
    store.state.with_each_commit(lambda conn: renew_review_debt(store.queue.transaction(conn), limit))
    return condition(store, PauseSource.REVIEW, in_debt(store.state, lambda: limit))


async def test_tasks_wait_from_the_commit_on_that_makes_the_debt(store: Store) -> None:
    look = with_debt(store, 3).look
    ledger = CommitLedger(store.db, store.events, clock=store.clock)
    store.queue.submit(TaskSpec(description="x")).result()
    for number in range(2):
        store.state.record_commit(commit(number)).result()
    assert not store.queue.pause_state().paused
    store.state.record_commit(commit(2)).result()
    [hold] = store.queue.pause_state().reasons
    assert (hold.source, hold.reason) == (PauseSource.REVIEW, "3 commits wait to be read (REVIEW_DEBT=3)")
    assert store.queue.claim("w").result() is None
    store.state.record_commit(commit(3)).result()
    assert store.queue.pause_state().reason.startswith("4 commits")
    ledger.review(entries=[1]).result()
    await look()
    assert store.queue.pause_state().reason.startswith("3 commits")
    ledger.review(entries=[2]).result()
    await look()
    assert store.queue.claim("w").result() is not None


async def test_entering_a_commit_again_is_no_further_debt(store: Store) -> None:
    with_debt(store, 2)
    for _ in range(3):
        store.state.record_commit(commit(1)).result()
    assert not store.queue.pause_state().paused


async def test_without_a_limit_nothing_waits(store: Store) -> None:
    limit: int | None = 1
    look = condition(store, PauseSource.REVIEW, in_debt(store.state, lambda: limit)).look
    store.state.record_commit(commit(1)).result()
    await look()
    assert store.queue.pause_state().paused
    limit = None
    await look()
    assert not store.queue.pause_state().paused


@settings(deadline=None, max_examples=15)
@given(limit=st.integers(1, 8), workers=st.integers(1, 5))
def test_workers_go_beyond_the_limit_by_what_runs_already_and_no_further(
    tmp_path_factory: pytest.TempPathFactory, limit: int, workers: int
) -> None:
    with open_store(tmp_path_factory.mktemp("debt") / "a.sqlite") as store:
        with_debt(store, limit)
        store.queue.submit_many([TaskSpec(description=str(n)) for n in range(20)]).result()

        def work(name: str) -> None:
            while task := store.queue.claim(name).result():
                store.state.record_commit(commit(task.id, task.id)).result()
                store.queue.finish(task.id, task.fence, Ending.COMMITTED).result()

        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(work, map(str, range(workers))))
        assert limit <= store.state.unread_count() <= limit + workers - 1
