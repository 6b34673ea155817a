"""Drafts in the ledger are counted separately from landed commits, and disappear when a commit replaces them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from nightshift.core.built_in import BUILT_IN
from nightshift.core.tasks.task import TaskSpec
from nightshift.storage.db import repositories
from nightshift.storage.db.commit_ledger import CommitLedger
from nightshift.storage.db.commit_signs import Signs
from nightshift.storage.db.state_store import Commit
from tests.support.store import Store

AT = datetime(2026, 1, 1, tzinfo=UTC)
DRAFT = Commit(
    task_id=1, attempt=1, repo="/r", branch="agent/1-x", commit="aa11", base="b", subject="Draft: x", label="draft",
    model=BUILT_IN, at=AT, signs=Signs(tests=5, tests_passed=3, failing=("t::a", "t::b"), packages={"toolz": "1.0"}),
)  # fmt: skip
LANDED = Commit(
    task_id=2, attempt=1, repo="/r", branch="agent/2-y", commit="bb22", base="b", subject="y", label="verified",
    integrated=True, at=AT, signs=Signs(),
)  # fmt: skip


def fill(store: Store) -> CommitLedger:
    for name in ("x", "y"):
        store.queue.submit(TaskSpec(description=name)).result()
    for commit in (DRAFT, LANDED):
        store.state.record_commit(commit).result()
    return CommitLedger(store.db, store.events, clock=store.clock)


def test_a_draft_is_no_commit_that_landed_waits_or_is_to_be_read(store: Store) -> None:
    ledger = fill(store)
    assert (store.state.unread_count(), store.state.commit_count(), store.state.count_saved_replies().solved) == (
        1,
        1,
        0,
    )
    assert [each.commit for each in ledger.page(9, unread=True)] == ["bb22"]
    assert [each.commit for each in ledger.page(9, integrated=True)] == ["bb22"]
    assert ledger.page(9, integrated=False) == []
    assert repositories.ours(store.db.reader())["/r"].commits == 1
    assert [each.commit for each in ledger.review().result()] == ["bb22"]


def test_the_next_commit_on_the_branch_of_a_draft_takes_its_row(store: Store) -> None:
    fill(store)
    store.state.record_commit(replace(DRAFT, commit="aa22", attempt=2)).result()
    assert [each.commit for each in store.state.commits(9, task_id=1)] == ["aa22"]
    elsewhere = replace(LANDED, task_id=1, branch="agent/1-x-2", commit="aa33")
    store.state.record_commit(elsewhere).result()
    assert [each.commit for each in store.state.commits(9, task_id=1)] == ["aa33", "aa22"]
    store.state.record_commit(replace(elsewhere, branch="agent/1-x", commit="aa44")).result()
    assert [each.commit for each in store.state.commits(9, task_id=1)] == ["aa44", "aa33"]
    assert store.state.commits(9, task_id=2), "the rows of another task stay"
