"""The commit ledger: unread commits, reverted commits, and actions of the owner that were interrupted."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from nightshift.core.events import Event, Kind
from nightshift.storage.db.commit_ledger import CommitLedger, Pending
from nightshift.storage.db.state_store import Commit
from tests.support.store import Store

FIRST = Commit(
    task_id=1, attempt=1, repo="/r", branch="agent/1-x", commit="aa11", base="b", subject="s", label="verified",
    integrated=True, target="refs/heads/main", at=datetime(2026, 1, 1, tzinfo=UTC),
)  # fmt: skip
SECOND = replace(FIRST, task_id=2, branch="agent/2-y", commit="aa22", integrated=False, target="")
THIRD = replace(FIRST, task_id=2, commit="bb33")


def fill(store: Store) -> CommitLedger:
    for commit in (FIRST, SECOND, THIRD):
        store.state.record_commit(commit).result()
    return CommitLedger(store.db, store.events, clock=store.clock)


def review_events(store: Store) -> list[Event]:
    return [event for event in store.events.last(50) if event.kind is Kind.REVIEWED]


def test_commits_are_listed_newest_first_and_page_by_page(store: Store) -> None:
    ledger = fill(store)
    first, *_ = page = ledger.page(2)
    assert page == [THIRD, SECOND]
    assert ledger.page(9, after=page[-1].id) == [FIRST]
    assert ledger.page(9, task_id=2) == [THIRD, SECOND]
    assert ledger.page(9, integrated=True) == [THIRD, FIRST]
    assert ledger.entry(first.id) == THIRD
    assert ledger.entry(99) is None


def test_reading_is_noted_once_with_one_event(store: Store) -> None:
    ledger = fill(store)
    assert store.state.unread_count() == 3
    assert ledger.review(task_id=2).result() == [SECOND, THIRD]
    assert ledger.review(task_id=2).result() == []
    assert [commit.commit for commit in ledger.page(9, unread=True)] == ["aa11"]
    assert ledger.page(1)[0].reviewed_at == store.clock()
    (event,) = review_events(store)
    assert (event.task_id, event.data["commits"]) == (2, ["aa22", "bb33"])


def test_a_revert_is_entered_with_its_event_and_needs_no_reading(store: Store) -> None:
    ledger = fill(store)
    entry = ledger.page(9, integrated=True)[-1]
    done = Pending(entry=entry.id, by="cc44", reapply=False)
    ledger.begin(done).result()
    assert ledger.pending() == done
    ledger.settle(done, Event(kind=Kind.REVERTED, task_id=1)).result()
    assert ledger.pending() is None
    after = ledger.entry(entry.id)
    assert after
    assert (after.reverted_by, after.reviewed_at) == ("cc44", store.clock())
    assert store.state.unread_count() == 2
    assert ledger.page(9, integrated=True) == [THIRD]
    assert store.events.last(1)[0].kind is Kind.REVERTED
    ledger.settle(replace(done, by="dd55", reapply=True), Event(kind=Kind.REVERTED, task_id=1)).result()
    assert [commit.commit for commit in ledger.page(9, integrated=True)] == ["bb33", "aa11"]
