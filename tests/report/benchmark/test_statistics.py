"""The comparison of arms: published values, and simulations with scripted arms of known ability."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightshift.core.shares import Share
from nightshift.report.benchmark.statistics import Pairs, holm, pair_up

RUNS, ITEMS = 1000, 50
COUNTS = st.builds(Pairs, **dict.fromkeys(("both", "only_first", "only_second", "neither"), st.integers(0, 60)))

Solved = Mapping[str, bool]


def alone(dice: Random, *abilities: float) -> list[Solved]:
    """Return, for each arm, which items it solves; the arms solve items independently of each other."""
    return [{str(item): dice.random() < ability for item in range(ITEMS)} for ability in abilities]


def by_difficulty(dice: Random, *abilities: float) -> list[Solved]:
    """Return, for each arm, which items it solves; an arm solves every item that is easy enough for it.

    Therefore the better arm solves every item that the worse arm solves.
    """
    difficulty = {str(item): dice.random() for item in range(ITEMS)}
    return [{item: hard < ability for item, hard in difficulty.items()} for ability in abilities]


def runs(draw: Callable[..., list[Solved]], *abilities: float) -> Iterator[list[Solved]]:
    """Yield `RUNS` simulated runs of arms with these abilities. Each call yields the same runs."""
    dice = Random(19)
    return (draw(dice, *abilities) for _ in range(RUNS))


@pytest.mark.parametrize(
    ("pairs", "p_value", "low", "high"),
    [  # Published studies: hyperresponsive airways before and after a transplant; complete responses to a therapy
        (Pairs(both=1, only_first=1, only_second=7, neither=12), 0.0391, -0.5069, -0.0256),
        (Pairs(both=59, only_first=6, only_second=16, neither=80), 0.0347, -0.1186, -0.0046),
    ],
)
def test_published_tables_give_their_p_value_and_interval(
    pairs: Pairs, p_value: float, low: float, high: float
) -> None:
    assert pairs.p_value == pytest.approx(p_value, abs=5e-5)
    assert (pairs.difference.low, pairs.difference.high) == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize("draw", [alone, by_difficulty])
@pytest.mark.parametrize(("better", "worse"), [(0.5, 0.3)])
def test_the_interval_of_a_difference_holds_the_truth_as_often_as_it_says(
    draw: Callable[..., list[Solved]], better: float, worse: float
) -> None:
    intervals = [pair_up(*arms).difference for arms in runs(draw, better, worse)]
    seen = sum(
        interval.low <= better - worse + 1e-9 and better - worse - 1e-9 <= interval.high for interval in intervals
    )
    assert seen / RUNS > 0.93


def test_adjusted_p_values_are_those_of_holm_s_procedure() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_items_that_one_arm_did_not_work_on_do_not_count() -> None:
    pairs = pair_up({"a": True, "b": False, "c": True}, {"a": True, "b": True, "d": False})
    assert pairs == Pairs(both=1, only_second=1)
    assert (pairs.first, pairs.second) == (Share(1, 2), Share(2, 2))


@given(COUNTS)
def test_arms_turned_round_give_the_difference_turned_round(pairs: Pairs) -> None:
    turned = Pairs(both=pairs.both, only_first=pairs.only_second, only_second=pairs.only_first, neither=pairs.neither)
    assert 0.0 <= pairs.p_value == turned.p_value <= 1.0
    difference, other = pairs.difference, turned.difference
    assert (difference.low, difference.high) == pytest.approx((-other.high, -other.low))
    assert -1 <= difference.low <= difference.estimate <= difference.high <= 1
