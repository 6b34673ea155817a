"""Commits are filtered by the history alone.

Each commit is dropped by the first filter that it fails, and is examined only once.
"""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from nightshift.core.tasks.revisions import ChangedFile, ChangingCommit
from nightshift.report.benchmark.mining import Filter, account, look_at, mine
from nightshift.storage.db.benchmark_store import BenchmarkStore, Candidate, Dropped

REPO = "/home/me/shop"
SOURCE = ChangedFile(path="shop/price.py", added=10, removed=2)
TEST = ChangedFile(path="tests/test_price.py", added=30, removed=0)
GOOD = ChangingCommit(
    id="c1", parents=("c0",), at=datetime(2026, 1, 2, tzinfo=UTC), message="Round half up\n\nAs in the shop.\n",
    files=(SOURCE, TEST, ChangedFile(path="docs/price.md", added=300, removed=0)),
)  # fmt: skip


def test_a_small_commit_with_sources_and_tests_is_a_candidate() -> None:
    assert look_at(REPO, GOOD) == Candidate(
        key=f"{REPO}@c1", repo=REPO, commit="c1", parent="c0", message=GOOD.message, lines=12, files=1,
        committed_at=GOOD.at,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("commit", "filter_"),
    [
        (replace(GOOD, parents=()), Filter.MERGE),
        (replace(GOOD, message="Do it\n\nTask: 7\nIterations: 2\nVerdict: verified\n"), Filter.OWN),
        (replace(GOOD, message=f'Revert "x"\n\nThis reverts commit {"a" * 40}.\n'), Filter.REVERTS),
        (replace(GOOD, files=(TEST,)), Filter.SOURCES),
        (replace(GOOD, files=(SOURCE,)), Filter.TESTS),
        (replace(GOOD, files=(SOURCE, replace(TEST, path="tests/helper.py"))), Filter.TESTS),
        (replace(GOOD, files=(SOURCE, TEST, replace(SOURCE, path="uv.lock"))), Filter.LOCKS),
        (replace(GOOD, files=(TEST, *(replace(SOURCE, path=f"{n}.py") for n in range(6)))), Filter.FILES),
        (replace(GOOD, files=(TEST, replace(SOURCE, added=150, removed=51))), Filter.LINES),
    ],
)
def test_a_commit_is_dropped_by_the_first_filter_that_it_fails(commit: ChangingCommit, filter_: Filter) -> None:
    outcome = look_at(REPO, commit)
    assert isinstance(outcome, Dropped)
    assert outcome.filter == filter_.name
    assert outcome.reason


def test_the_account_says_of_each_filter_what_was_there_before_and_after_it(tmp_path: Path) -> None:
    commits = [GOOD, replace(GOOD, id="c2", files=(TEST,)), replace(GOOD, id="c3", parents=())]
    with BenchmarkStore(tmp_path / "b.sqlite") as store:
        assert mine(REPO, commits, store) == 3
        assert mine(REPO, commits, store) == 0
        lines = {line.filter: (line.before, line.dropped, line.after) for line in account(store, REPO)}
        assert lines[Filter.MERGE] == (3, 1, 2)
        assert lines[Filter.SOURCES] == (2, 1, 1)
        assert lines[Filter.TESTS] == (1, 0, 1)
        assert [candidate.commit for candidate in store.candidates(REPO)] == ["c1"]
