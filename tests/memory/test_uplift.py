"""Whether lessons help: the estimator finds what was planted, at the error rates that stand here."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.uplift import Standing, Tally, chance_of_help, mean_difference, rate_difference, standing, wilson

CONTROL = 0.1
"""The share of attempts that see no lesson at all."""
BASE = 0.5
USES = 300


def life(effect: float, dice: random.Random) -> tuple[Standing, int]:
    """A lesson that changes the chance of success by `effect`, over 300 cases: how it ends, and after how many."""
    shown, withheld = Tally(), Tally()
    everyone = Tally(50, 100)
    at = Standing.TRUSTED
    for use in range(1, USES + 1):
        without = dice.random() < (0.5 if at is Standing.SUSPECT else CONTROL)
        solved = int(dice.random() < (BASE if without else BASE + effect))
        if without:
            withheld = Tally(withheld.solved + solved, withheld.count + 1)
        else:
            shown = Tally(shown.solved + solved, shown.count + 1)
        at = standing(shown, withheld, everyone)
        if at is Standing.RETIRED:
            return at, use
    return at, USES


def share_retired(effect: float, lives: int = 150) -> float:
    dice = random.Random(5)
    return sum(life(effect, dice)[0] is Standing.RETIRED for _ in range(lives)) / lives


def test_a_helpful_lesson_is_seldom_retired() -> None:
    assert share_retired(0.25) <= 0.02


def test_a_harmful_lesson_is_retired_nearly_always() -> None:
    assert share_retired(-0.25) >= 0.98


def test_a_harmful_lesson_does_not_last_long() -> None:
    dice = random.Random(6)
    lasted = sorted(life(-0.3, dice)[1] for _ in range(101))
    assert lasted[50] <= 60


def test_a_lesson_without_effect_is_retired_in_time_often_enough_to_keep_memory_small() -> None:
    assert share_retired(0.0) >= 0.3


def test_nothing_is_decided_about_what_was_hardly_used() -> None:
    assert standing(Tally(0, 5), Tally(), Tally(90, 100)) is Standing.TRUSTED
    assert standing(Tally(0, 7), Tally(), Tally(90, 100)) is Standing.SUSPECT


def test_a_lesson_that_comes_up_in_hard_cases_only_is_compared_with_these() -> None:
    assert standing(Tally(6, 30), Tally(1, 10), Tally(90, 100)) is not Standing.RETIRED


@given(st.integers(0, 60), st.integers(0, 60), st.integers(0, 60), st.integers(0, 60))
def test_more_success_with_a_lesson_never_lowers_its_chance(a: int, b: int, c: int, d: int) -> None:
    shown, withheld = Tally(a, a + b), Tally(c, c + d)
    chance = chance_of_help(shown, withheld, Tally(1, 2))
    assert 0.0 <= chance <= 1.0
    assert chance_of_help(Tally(a + 1, a + b + 1), withheld, Tally(1, 2)) >= chance - 1e-9


@pytest.mark.parametrize(
    ("a", "b", "low", "high"),
    # The examples of table II of Newcombe's paper, method 10.
    [
        (Tally(56, 70), Tally(48, 80), 0.0524, 0.3339),
        (Tally(9, 10), Tally(3, 10), 0.1705, 0.8090),
        (Tally(6, 7), Tally(2, 7), 0.0582, 0.8062),
        (Tally(5, 56), Tally(0, 29), -0.0381, 0.1926),
        (Tally(10, 10), Tally(0, 20), 0.6791, 1.0),
    ],
)
def test_the_interval_of_a_difference_is_that_of_the_paper(a: Tally, b: Tally, low: float, high: float) -> None:
    found = rate_difference(a, b)
    assert found.low == pytest.approx(low, abs=1e-4)
    assert found.high == pytest.approx(high, abs=1e-4)


def test_of_nothing_everything_is_possible() -> None:
    assert wilson(Tally()) == (0.0, 1.0)
    assert rate_difference(Tally(), Tally()).low < -0.6


def test_means_are_compared_with_an_interval_that_stays_the_same() -> None:
    found = mean_difference([1.0, 2.0, 1.0, 2.0, 1.0, 1.0], [3.0, 4.0, 3.0, 5.0, 3.0])
    assert found is not None
    assert found.high < -1 < 0
    assert found == mean_difference([1.0, 2.0, 1.0, 2.0, 1.0, 1.0], [3.0, 4.0, 3.0, 5.0, 3.0])
    assert mean_difference([1.0], [2.0] * 9) is None
