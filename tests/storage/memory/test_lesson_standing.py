"""The estimator of a lesson's benefit detects simulated effects, within the error rates that the tests assert."""

from __future__ import annotations

import random

from hypothesis import example, given
from hypothesis import strategies as st

from nightshift.core.shares import Share
from nightshift.storage.memory.lesson_standing import Standing, chance_of_help, standing

CONTROL = 0.1
"""Share of attempts to which a trusted lesson is not shown."""
BASE = 0.5
USES = 300


def life(effect: float, dice: random.Random) -> tuple[Standing, int]:
    """Simulate a lesson that changes the success rate by `effect`, over `USES` uses.

    Return the final standing of the lesson, and the number of uses after which it was reached.
    """
    shown, withheld = Share(), Share()
    everyone = Share(50, 100)
    at = Standing.TRUSTED
    for use in range(1, USES + 1):
        without = dice.random() < (0.5 if at is Standing.SUSPECT else CONTROL)
        solved = int(dice.random() < (BASE if without else BASE + effect))
        if without:
            withheld = Share(withheld.part + solved, withheld.whole + 1)
        else:
            shown = Share(shown.part + solved, shown.whole + 1)
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


def test_nothing_is_decided_about_what_was_hardly_used() -> None:
    assert standing(Share(0, 5), Share(), Share(90, 100)) is Standing.TRUSTED
    assert standing(Share(0, 7), Share(), Share(90, 100)) is Standing.SUSPECT


@given(st.integers(0, 60), st.integers(0, 60), st.integers(0, 60), st.integers(0, 60))
@example(32, 0, 0, 28)
def test_more_success_with_a_lesson_never_lowers_its_chance(a: int, b: int, c: int, d: int) -> None:
    shown, withheld = Share(a, a + b), Share(c, c + d)
    chance = chance_of_help(shown, withheld, Share(1, 2))
    assert 0.0 <= chance <= 1.0
    assert chance_of_help(Share(a + 1, a + b + 1), withheld, Share(1, 2)) >= chance - 1e-9
