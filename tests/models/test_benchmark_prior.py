"""A benchmark counts like a number of real attempts, and affects which model begins a task.

The weight of a benchmark falls every day, and real results overrule a misleading benchmark.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from nightshift.core.routing import ModelResult
from nightshift.core.tasks.benchmarked import Benchmarked
from nightshift.models.budgets import Price
from nightshift.models.routing import MOST, Candidate, Prior, decide, prior_of, priors

NOW = datetime(2026, 11, 1, tzinfo=UTC)
WORSE, BETTER = "cloud=worse", "cloud=better"
PRICE = Price(input_per_million_usd=1.0, output_per_million_usd=5.0)
PAIR = (Candidate(label=WORSE, price=PRICE), Candidate(label=BETTER, price=PRICE))
"""Two models with equal prices, so only their success rates decide. The owner lists the worse model first."""


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
