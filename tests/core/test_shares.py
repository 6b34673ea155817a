"""Shares and their intervals, against the tables of the papers and against their laws."""

from __future__ import annotations

import random
import statistics

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nightshift.core.shares import LEAST, MANY, Interval, Share, difference, mean_difference, wilson

SHARES = st.integers(1, 500).flatmap(lambda whole: st.integers(0, whole).map(lambda part: Share(part, whole)))


def bounds(found: Interval) -> tuple[float, float]:
    return found.low, found.high


@pytest.mark.parametrize(
    ("part", "whole", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_the_interval_of_a_rate_is_that_of_newcombe_s_table(part: int, whole: int, low: float, high: float) -> None:
    """R. G. Newcombe, “Two-sided confidence intervals for the single proportion”, 1998, table I, method 3."""
    assert bounds(wilson(Share(part, whole))) == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize(
    ("one", "other", "low", "high"),
    [
        (Share(56, 70), Share(48, 80), 0.0524, 0.3339),
        (Share(9, 10), Share(3, 10), 0.1705, 0.8090),
        (Share(6, 7), Share(2, 7), 0.0582, 0.8062),
        (Share(5, 56), Share(0, 29), -0.0381, 0.1926),
        (Share(10, 10), Share(0, 20), 0.6791, 1.0),
    ],
)
def test_the_interval_of_a_difference_is_that_of_newcombe_s_table(
    one: Share, other: Share, low: float, high: float
) -> None:
    """R. G. Newcombe, “Interval estimation for the difference …”, 1998, table II, method 10."""
    assert bounds(difference(one, other)) == pytest.approx((low, high), abs=5e-5)


@settings(deadline=None)
@given(SHARES)
def test_an_interval_holds_its_rate_and_lies_between_nothing_and_all(share: Share) -> None:
    found = wilson(share)
    assert share.value == found.estimate == share.guess
    assert 0 <= found.low <= found.estimate + 1e-12
    assert found.estimate - 1e-12 <= found.high <= 1


@settings(deadline=None)
@given(SHARES, SHARES)
def test_a_difference_turned_round_has_the_interval_turned_round(one: Share, other: Share) -> None:
    found = difference(one, other)
    assert bounds(difference(other, one)) == pytest.approx((-found.high, -found.low))


def test_of_nothing_everything_is_possible() -> None:
    assert (Share().value, Share().guess) == (None, 0.5)
    assert wilson(Share()) == Interval(0.5, 0.0, 1.0)
    assert difference(Share(), Share()).low < -0.6


def test_means_are_compared_with_an_interval_that_stays_the_same() -> None:
    low, high = [1.0, 2.0, 1.0, 2.0, 1.0, 1.0], [3.0, 4.0, 3.0, 5.0, 3.0]
    found = mean_difference(low, high)
    assert found is not None
    assert found.low < found.estimate < found.high < -1
    assert found == mean_difference(low, high)
    assert mean_difference([1.0] * (LEAST - 1), high) is None


def test_many_values_give_the_interval_of_the_normal_distribution() -> None:
    dice = random.Random(3)
    one, other = ([dice.expovariate(1 / mean) for _ in range(4 * MANY)] for mean in (30, 20))
    error = (statistics.variance(one) / len(one) + statistics.variance(other) / len(other)) ** 0.5
    found = mean_difference(one, other)
    assert found is not None
    assert bounds(found) == pytest.approx((found.estimate - 1.96 * error, found.estimate + 1.96 * error), rel=0.1)


def test_an_interval_of_means_holds_the_truth_about_as_often_as_it_says() -> None:
    dice = random.Random(4)
    held = 0
    for _ in range(60):
        one, other = ([dice.gauss(mean, 2) for _ in range(25)] for mean in (5, 4))
        found = mean_difference(one, other)
        assert found is not None
        held += found.low <= 1 <= found.high
    assert held >= 51
