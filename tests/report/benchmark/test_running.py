"""The order of work in a benchmark run, which can be stopped anywhere and then continues."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nightshift.core.tasks.benchmark_results import BrokenOff, Result
from nightshift.report.benchmark.running import Budget, Turn, in_order, waiting, work
from nightshift.storage.db.benchmark_store import BenchmarkStore, Mode, Run, RunState
from tests.support.benchmarks import NEWEST, REPO, arm, items, results


class Killed(Exception):
    """Raised to simulate the death of the process."""


class Bench:
    """A benchmark with three arms and six items in a new store."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with BenchmarkStore(path) as store:
            for item in items(6):
                store.add_item(item)
            for arm in self.arms:
                store.add_arm(arm)
        self.tried = list[tuple[str, str]]()
        self.left: float | None = None
        self.why_not = ""

    arms = (arm("a"), arm("b"), arm("c"))

    def run(self, dies: Callable[[int], str] = lambda _number: "") -> Run:
        with BenchmarkStore(self.path) as store:
            run = store.begin_run(REPO, Mode.SHOWN, ["a", "b", "c"], in_order(store.items()), NEWEST)

            async def attempt(turn: Turn, limit_usd: float | None) -> Result | BrokenOff:
                arm, item = turn
                how = dies(len(self.tried))
                self.tried.append((arm.name, item.key))
                if how == "before":
                    raise Killed
                if self.left is not None:
                    assert limit_usd == self.left
                    self.left -= 0.1
                return BrokenOff(reason=how) if how == "by hand" else results(arm, [item], {0})[0]

            def tell(_result: Result) -> None:
                if dies(len(self.tried) - 1) == "after":
                    raise Killed

            async def at_once() -> str:
                return self.why_not

            return asyncio.run(
                work(store, run, attempt, budget=Budget(lambda: self.left), may_begin=at_once, clock=lambda: NEWEST,
                     tell=tell)
            )  # fmt: skip


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path / "benchmark.sqlite")


def test_all_arms_try_an_item_before_the_next_one_and_take_turns_to_be_first(bench: Bench) -> None:
    assert bench.run().state is RunState.DONE
    threes = [bench.tried[at : at + 3] for at in range(0, 18, 3)]
    assert all(len({item for _, item in three}) == 1 for three in threes)
    assert [three[0][0] for three in threes] == ["a", "b", "c", "a", "b", "c"]


@settings(max_examples=40, deadline=None)
@given(fates=st.lists(st.sampled_from(["", "", "before", "after", "by hand"]), max_size=30))
def test_wherever_it_is_killed_no_item_is_lost_or_doubled(
    tmp_path_factory: pytest.TempPathFactory, fates: list[str]
) -> None:
    bench = Bench(tmp_path_factory.mktemp("run") / "benchmark.sqlite")
    for _ in range(40):
        try:
            if bench.run(lambda number: fates[number] if number < len(fates) else "").state is RunState.DONE:
                break
        except Killed:
            continue
    with BenchmarkStore(bench.path, readonly=True) as store:
        (run,) = store.runs()
        counts = Counter((result.arm, result.item) for result in store.results(run.repo, run.mode))
        assert set(counts.values()) == {1}
        assert len(counts) == 18
        assert waiting(store, run) == []


def test_it_stops_before_the_budget_is_overdrawn_and_an_empty_one_is_not_endless(bench: Bench) -> None:
    bench.left = 0.25
    ended = bench.run()
    assert (ended.state, ended.reason, len(bench.tried)) == (RunState.STOPPED, "the budget is spent", 3)
    bench.left = 0.0
    assert bench.run().state is RunState.STOPPED
    assert len(bench.tried) == 3


def test_a_run_that_is_stopped_from_elsewhere_begins_no_further_attempt(bench: Bench) -> None:
    def stop(number: int) -> str:
        if number == 4:
            with BenchmarkStore(bench.path) as other:
                other.end_run(other.runs()[0].key, RunState.STOPPED, "stopped on the page", NEWEST)
        return ""

    ended = bench.run(stop)
    assert (ended.state, ended.reason, len(bench.tried)) == (RunState.STOPPED, "stopped on the page", 5)
