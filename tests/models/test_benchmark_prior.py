"""A benchmark counts like a number of real attempts, and affects which model begins a task.

The weight of a benchmark falls every day, and real results overrule a misleading benchmark.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from nightshift.core.routing import ModelResult
from nightshift.core.tasks.benchmarked import Benchmarked
from nightshift.models.budgets import Price
from nightshift.models.routing import MOST, Candidate, Prior, decide, prior_of, priors
from tests.support import tiers

NOW = datetime(2026, 11, 1, tzinfo=UTC)
WORSE, BETTER = "cloud=worse", "cloud=better"
PRICE = Price(input_per_million_usd=1.0, output_per_million_usd=5.0)
PAIR = (Candidate(label=WORSE, price=PRICE), Candidate(label=BETTER, price=PRICE))
"""Two models with equal prices, so only their success rates decide. The owner lists the worse model first."""
LOOKED_AT = 20
"""Number of later tasks that are examined. The better model must begin more than half of them."""

Rates = Mapping[str, float]


def benchmark(model: str, solved: int, items: int, days: float = 0.0) -> Benchmarked:
    return Benchmarked(
        model=model, arm="arm", solved=solved, items=items, at=NOW - timedelta(days=days),
        protocol="auto", tools=False, readers=False,
    )  # fmt: skip


def test_an_item_counts_as_three_tenths_of_an_attempt_and_as_nothing_after_ninety_days() -> None:
    fresh, older = (prior_of(benchmark(WORSE, 14, 20, days), NOW) for days in (0, 45))
    assert (fresh.count, fresh.solved) == pytest.approx((6.0, 4.2))
    assert (older.count, older.solved) == pytest.approx((3.0, 2.1))
    assert older.why == "solved 14 of 20 benchmark items here 45 days ago (counts as 3 attempts)"
    assert prior_of(benchmark(WORSE, 14, 20, 90), NOW) == Prior()
    assert prior_of(benchmark(WORSE, 500, 1000), NOW).count == MOST
    assert priors([benchmark(WORSE, 1, 10), benchmark(BETTER, 1, 10, 200)], NOW).keys() == {WORSE}


def test_the_reason_of_a_route_names_what_the_benchmark_says_beside_what_was_measured() -> None:
    model_priors = priors([benchmark(BETTER, 14, 20, 12)], NOW)
    route = decide(PAIR, {"library": {WORSE: _result(1, 4)}}, "library", seed="2", benchmark=model_priors)
    assert route.first == BETTER
    assert f"{BETTER} solved 14 of 20 benchmark items here 12 days ago (counts as 5.2 attempts)" in route.why
    assert f"{WORSE} solved 1 of 4, about" in route.why


# The tests below simulate owners. They measure for which share of owners the better model begins most of the later
# tasks.


def _result(solved: int, began: int) -> ModelResult:
    return ModelResult(
        began=began, solved=solved, tokens_in=12_000 * began, tokens_out=3_000 * began, seconds=60.0 * began
    )


def _move(seed: int, rates: Rates, tasks: int, model_priors: Mapping[str, Prior]) -> bool:
    """Simulate tasks with these success rates; return True if the better model begins most of the later tasks.

    The first `tasks` tasks do not count.
    """
    dice, past, begun = Random(seed), {name: [0, 0] for name in rates}, list[str]()
    for number in range(tasks + LOOKED_AT):
        results = {"library": {name: _result(solved, began) for name, (solved, began) in past.items()}}
        first = decide(PAIR, results, "library", seed=f"{seed}:{number}", benchmark=model_priors).first
        past[first][0] += dice.random() < rates[first]
        past[first][1] += 1
        begun.append(first)
    return begun[tasks:].count(BETTER) > LOOKED_AT / 2


def _mine(rates: Rates, items: int) -> Callable[[int], Mapping[str, Prior]]:
    """Return a function that draws, for each owner's seed, the benchmark results of models with these success rates."""

    def drawn(seed: int) -> Mapping[str, Prior]:
        dice = Random(-seed - 1)
        return priors(
            [benchmark(name, sum(dice.random() < rate for _ in range(items)), items) for name, rate in rates.items()],
            NOW,
        )

    return drawn


@pytest.mark.parametrize(
    ("worse", "better", "items", "tasks"),
    [
        (0.3, 0.7, 0, 5),
        (0.3, 0.7, 20, 0),
        (0.5, 0.7, 50, 0),
    ],
)
def test_routing_moves_to_the_better_model_within_so_many_tasks_in_nine_of_ten_runs(
    worse: float, better: float, items: int, tasks: int
) -> None:
    rates, runs = {WORSE: worse, BETTER: better}, tiers.examples(200)
    make_priors = _mine(rates, items) if items else lambda _seed: {}
    moved = sum(_move(seed, rates, tasks, make_priors(seed)) for seed in range(runs))
    assert moved >= (0.85 * runs if runs >= 200 else 0.7 * runs)  # few runs deviate more by chance
