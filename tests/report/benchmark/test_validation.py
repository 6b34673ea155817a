"""A commit becomes a benchmark item if its tests always fail before the commit and always pass after it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from nightshift.core.tasks.benchmark_results import Item
from nightshift.core.tasks.verdicts import Result, SuiteJob, Trial
from nightshift.git.manager import GitManager
from nightshift.report.benchmark.mining import Filter, mine
from nightshift.report.benchmark.validation import TIMES, Validation, validate_all
from nightshift.storage.db.benchmark_store import BenchmarkStore, Dropped
from nightshift.verdict.runner import SuiteRunner
from tests.report.benchmark.conftest import Shop
from tests.support.sandboxes import bubblewrap, runtime

NET = "def net(total):\n    return total / 1.25\n"
TESTS = (
    "from price import net\n\n\ndef test_zero():\n    assert net(0) == 0\n\n\n"
    "def test_net():\n    assert net(125) == 100\n"
)


class Bench:
    """Mines and validates the commits of a shop."""

    def __init__(self, folder: Path, manager: GitManager, store: BenchmarkStore) -> None:
        suite = SuiteRunner(bubblewrap(), runtime(), emit=lambda _event: None, staging_dir=folder / "staging")
        self.manager, self.store, self.folder = manager, store, folder
        self.validation = Validation(suite, manager, None, folder / "copies")

    async def validate(self, shop: Shop, most: int = 99) -> list[Item | Dropped]:
        outcomes = list[Item | Dropped]()
        mine(str(shop.path), self.manager.changing_commits(str(shop.path), 50), self.store)
        await validate_all(self.validation, self.store, str(shop.path), most, outcomes.append)
        return outcomes


@pytest.fixture
def bench(tmp_path: Path, manager: GitManager) -> Iterator[Bench]:
    with BenchmarkStore(tmp_path / "b.sqlite") as store:
        yield Bench(tmp_path, manager, store)


async def test_a_commit_whose_test_fails_before_it_is_an_item(bench: Bench, shop: Shop) -> None:
    commit = shop.commit("Take the tax off\n\nIt is 25 %.", {"price.py": NET, "test_price.py": TESTS})
    (item,) = await bench.validate(shop)
    assert isinstance(item, Item)
    assert (item.commit, item.fail_to_pass, item.pass_to_pass_count) == (commit, ("test_price.py::test_net",), 1)
    assert item.statement == "Take the tax off\n\nIt is 25 %."
    assert bench.store.items() == (item,)
    assert not list((bench.folder / "copies").iterdir())


@pytest.mark.parametrize(
    ("filter_", "files"),
    [
        (Filter.PASSING, {"price.py": "net = lambda total: total\n", "test_price.py": TESTS.replace("100", "125")}),
        (Filter.FAILING, {"price.py": NET, "test_price.py": f"{TESTS}\n\ndef test_wrong():\n    assert net(1) == 7\n"}),
    ],
)  # fmt: skip
async def test_a_candidate_is_dropped_with_its_reason(
    bench: Bench, shop: Shop, filter_: Filter, files: dict[str, str | bytes]
) -> None:
    shop.commit("Take the tax off", files)
    (dropped,) = await bench.validate(shop)
    assert isinstance(dropped, Dropped)
    assert Filter[dropped.filter] is filter_
    assert dropped.reason
    assert bench.store.candidates() == ()


class Unsteady(SuiteRunner):
    """A test runner in which the last run of a commit's tests fails."""

    calls = 0

    async def observe(self, job: SuiteJob) -> Trial:
        self.calls += 1
        trial = await super().observe(job)
        if self.calls < 2 * TIMES:
            return trial
        return replace(trial, results=tuple(replace(result, result=Result.FAILED) for result in trial.results))


async def test_a_test_that_passes_but_once_is_not_judged_by(bench: Bench, shop: Shop) -> None:
    suite = Unsteady(bubblewrap(), runtime(), emit=lambda _event: None, staging_dir=bench.folder / "unsteady")
    bench.validation = Validation(suite, bench.manager, None, bench.folder / "copies")
    shop.commit("Take the tax off", {"price.py": NET, "test_price.py": TESTS})
    (dropped,) = await bench.validate(shop)
    assert isinstance(dropped, Dropped)
    assert Filter[dropped.filter] is Filter.FLAKY
