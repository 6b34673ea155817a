"""Pauses that begin and end automatically: quiet hours, the battery, and unread commits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from nightshift.core.tasks.queueing import PauseSource
from nightshift.core.tasks.task import TaskSpec
from nightshift.maintenance.conditions import Condition, Reason, at_quiet_hours, in_debt, on_battery
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
    [(True, FakePower(power_plugged=False), True), (False, FakePower(power_plugged=False), False), (True, None, False)],
)
def test_the_battery_holds_tasks_back_only_where_it_is_drawn_from(
    wanted: bool, battery: FakePower | None, held: bool
) -> None:
    assert bool(on_battery(lambda: wanted, lambda: battery)()) is held


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
