"""Figures from stored results: finds the repository for a path, and reports its results."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nightshift.core.errors import BenchmarkError, StoreMissing
from nightshift.report.benchmark.report import BenchmarkReport, fold
from nightshift.storage.db.benchmark_store import BenchmarkStore, Mode


@contextmanager
def results_of(path: Path, repo: str) -> Iterator[tuple[BenchmarkStore, str]]:
    """Open the benchmark's database, and find the path under which a repository is stored in it.

    Args:
        path: the path of the database.
        repo: a checkout, or a folder in one.

    Raises:
        BenchmarkError: the repository is not in the database.
        StoreError: the database cannot be read.
    """
    try:
        store = BenchmarkStore(path, readonly=True)
    except StoreMissing:
        raise _unknown(repo) from None
    with store:
        yield store, find_repo(store, repo)


def find_repo(store: BenchmarkStore, repo: str) -> str:
    """Return the path under which the repository of a folder is stored.

    Raises:
        BenchmarkError: the repository is not in the database.
    """
    wanted = Path(repo).expanduser().resolve()
    roots = {item.repo for item in store.items()} | {run.repo for run in store.runs()}
    nearest_root = max((root for root in roots if wanted.is_relative_to(Path(root).resolve())), key=len, default=None)
    if nearest_root is None:
        raise _unknown(repo)
    return nearest_root


def newest_mode(store: BenchmarkStore, repo: str) -> Mode:
    """Return the mode of the repository's newest run."""
    runs = store.runs(repo)  # the oldest first
    return runs[-1].mode if runs else Mode.SHOWN


def report_of(store: BenchmarkStore, repo: str, mode: Mode | None = None) -> BenchmarkReport:
    """Return the report of a repository in a mode, by default in the mode of its newest run."""
    wanted = mode or newest_mode(store, repo)
    items, results = store.items(repo), store.results(repo, wanted)
    return fold(repo, items, store.arms(), results, mode=wanted)


def _unknown(repo: str) -> BenchmarkError:
    return BenchmarkError(f"{repo}: no items of this repository are known; `nightshift bench mine {repo}` finds some")
