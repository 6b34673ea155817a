"""The records of a benchmark are stored once and completely, even if the process is killed."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from nightshift.core.errors import BenchmarkError, StoreTooNew
from nightshift.core.tasks.benchmark_results import Arm, Item, Result
from nightshift.core.tasks.task import Spent
from nightshift.storage.db.benchmark_store import BenchmarkStore, Candidate, Mode, RunState, key_of
from nightshift.storage.db.benchmark_tables import STEPS

NOW = datetime(2026, 11, 26, 1, tzinfo=UTC)
REPO = "/home/me/shop"
CANDIDATE = Candidate(
    key=key_of(REPO, "c1"), repo=REPO, commit="c1", parent="c0", message="Export\n\nIt is dry-run.", lines=12, files=2,
    committed_at=NOW,
)  # fmt: skip
ITEM = Item(
    key=CANDIDATE.key, repo=REPO, commit="c1", parent="c0", subject="Export", statement="Let the export be dry-run.",
    lines=12, files=2, committed_at=NOW, fail_to_pass=("tests/test_export.py::test_dry",), pass_to_pass_count=7,
)  # fmt: skip
ARM = Arm(name="a", backend="openai", model="m", protocol="auto", tools=True, readers=False, memory=False)
RESULT = Result(
    item=ITEM.key, arm="a", solved=True, outcome="committed", cost_usd=0.25, tokens_in=100, tokens_out=20, seconds=3.5,
    iterations=2, format_errors=1, finished_at=NOW,
)  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> Iterator[BenchmarkStore]:
    with BenchmarkStore(tmp_path / "db" / "benchmark.sqlite") as opened:
        yield opened


def _with_arm(store: BenchmarkStore) -> BenchmarkStore:
    store.add_item(ITEM)
    store.add_arm(ARM)
    return store


def test_values_come_back_as_they_were_stored_also_to_who_only_looks(store: BenchmarkStore) -> None:
    _with_arm(store).add_result(RESULT)
    with BenchmarkStore(store.path, readonly=True) as looking:
        assert (looking.items(), looking.arms(), looking.results()) == ((ITEM,), (ARM,), (RESULT,))


def test_a_commit_is_a_candidate_then_an_item_and_never_both(store: BenchmarkStore) -> None:
    store.add_mined([CANDIDATE])
    assert store.candidates(REPO) == (CANDIDATE,)
    store.add_item(ITEM)
    store.add_item(replace(ITEM, statement="again"))
    assert store.candidates() == ()
    assert [item.statement for item in store.items(REPO)] == ["again"]


def test_the_result_of_an_item_under_an_arm_is_stored_once_in_each_mode(store: BenchmarkStore) -> None:
    _with_arm(store)
    assert store.add_result(RESULT)
    assert not store.add_result(replace(RESULT, solved=False))
    assert store.add_result(replace(RESULT, solved=False), Mode.WORDS)
    assert store.results(REPO, Mode.SHOWN) == (RESULT,)
    assert [stored_result.solved for stored_result in store.results(mode=Mode.WORDS)] == [False]
    assert len(store.results()) == 2
    assert store.results("/other") == ()


def test_an_arm_keeps_its_name(store: BenchmarkStore) -> None:
    store.add_arm(ARM)
    store.add_arm(ARM)
    with pytest.raises(BenchmarkError, match="memory False, not True; use another name"):
        store.add_arm(replace(ARM, memory=True))


def test_a_run_with_the_same_arms_and_items_goes_on(store: BenchmarkStore) -> None:
    first = store.begin_run(REPO, Mode.SHOWN, ["a", "b"], ["k1", "k2"], NOW)
    store.end_run(first.key, RunState.STOPPED, "its owner stopped it", NOW)
    assert store.run(first.key).reason == "its owner stopped it"
    again = store.begin_run(REPO, Mode.SHOWN, ["a", "b"], ["k1", "k2"], NOW + timedelta(hours=1))
    assert (again.key, again.state, again.reason, again.started_at) == (first.key, RunState.RUNNING, "", NOW)
    store.begin_run(REPO, Mode.WORDS, ["a", "b"], ["k1", "k2"], NOW)
    assert len(store.runs(REPO)) == 2
    with pytest.raises(BenchmarkError, match="no run"):
        store.end_run("nothing", RunState.DONE, "", NOW)


def test_what_was_spent_is_counted_once_by_run_and_from_a_day_on(store: BenchmarkStore) -> None:
    days = {"2026-11-25": Spent(cost_usd=1.0, tokens_in=10), "2026-11-26": Spent(cost_usd=0.25, tokens_out=2)}
    store.note_spent("run", "a", days)
    store.note_spent("run", "a", {**days, "2026-11-26": Spent(cost_usd=0.5, tokens_out=4)})
    store.note_spent("other", "a", {"2026-11-26": Spent(cost_usd=4.0)})
    assert store.spent() == (5.5, 14)
    assert store.spent(run="run") == (1.5, 14)
    assert store.spent(since=NOW.date()) == (4.5, 4)
    assert store.spent(run="nothing") == (0.0, 0)


def test_what_results_cost_is_spent_after_the_database_was_brought_up_to_date(tmp_path: Path) -> None:
    path = tmp_path / "old.sqlite"
    with closing(sqlite3.connect(path)) as conn, conn:
        for statement in STEPS[0]:
            conn.execute(statement)
        conn.execute("INSERT INTO arms VALUES ('a', 'openai', 'm', 'auto', 0, 0, 0)")
        conn.execute("INSERT INTO items VALUES ('k', 'r', 'c', 'p', 's', 's', 1, 1, '2026-11-26', '[]', 0)")
        conn.execute("INSERT INTO results VALUES ('k', 'a', 'shown', 1, 'x', 0.25, 100, 20, 1, 1, 0, '2026-11-26T01')")
        conn.execute("PRAGMA user_version=1")
    with BenchmarkStore(path) as opened:
        assert opened.spent(since=NOW.date()) == (0.25, 120)


def test_a_database_of_a_newer_version_is_left_alone(store: BenchmarkStore) -> None:
    store.close()
    with sqlite3.connect(store.path) as conn:
        conn.execute("PRAGMA user_version=99")
    conn.close()
    with pytest.raises(StoreTooNew):
        BenchmarkStore(store.path)


def test_a_run_of_several_rounds_of_an_earlier_version_is_left_out(store: BenchmarkStore) -> None:
    run = store.begin_run(REPO, Mode.SHOWN, ["a"], [ITEM.key], NOW)
    with closing(sqlite3.connect(store.path)) as conn, conn:
        conn.execute("UPDATE runs SET rounds = 2 WHERE key = ?", (run.key,))
    assert store.runs() == ()
