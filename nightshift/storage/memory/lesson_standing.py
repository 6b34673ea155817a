"""Decides whether lessons help, by comparing attempts that saw them with attempts from which they were withheld.

Some attempts see no lessons. These attempts are drawn at random before anything is known about them, so they differ
from the other attempts only by the lessons. A single lesson is seldom withheld that way. Therefore a lesson that seems
not to help (a suspect lesson) is shown in only half of its cases, until there is enough data to decide. The lesson
retires when the probability that it helps is too low. The probability is Bayesian, with Beta priors. The prior of a
single lesson is the solve rate of all attempts from which any lesson was withheld. It has the weight of only a few
observations, because the cases in which this lesson comes up may be harder than others.

Error rates are measured by simulation (`tests/storage/memory/test_lesson_standing.py`), because the rule is applied
again after each use.
"""

from __future__ import annotations

import math
from enum import StrEnum
from itertools import accumulate

from nightshift.core.shares import Share, difference

PRIOR_WEIGHT = 6.0
"""Weight of the prior solve rate, in observations.

The rate is that of all attempts from which any lesson was withheld.
"""
SUSPECT_AFTER, SUSPECT_BELOW = 6, 0.3
"""A lesson becomes suspect, and is shown in only half of its cases, if it was shown at least this often and the
probability that it helps is below this value.
"""
RETIRE_AFTER, RETIRE_BELOW = 10, 0.02
"""A lesson retires if it was withheld at least this often and the probability that it helps is below this value."""
IDLE_AFTER, IDLE_GAIN = 100, 0.05
"""A lesson also retires if the highest gain that is still likely is below `IDLE_GAIN`.

This needs at least `IDLE_AFTER` cases in total, and at least `RETIRE_AFTER` cases in which the lesson was withheld.
"""
_GRID = 400


class Standing(StrEnum):
    """The standing of a lesson, which decides whether it is shown: always, in half of its cases, or never."""

    TRUSTED = "trusted"
    SUSPECT = "suspect"
    RETIRED = "retired"


def standing(shown: Share, withheld: Share, all_withheld: Share) -> Standing:
    """Decide the standing of a lesson.

    Args:
        shown: the attempts that saw the lesson, and how many of them were solved.
        withheld: the attempts from which the lesson was withheld.
        all_withheld: the attempts from which any lesson was withheld.
    """
    chance = chance_of_help(shown, withheld, all_withheld)
    if withheld.whole >= RETIRE_AFTER and chance < RETIRE_BELOW:
        return Standing.RETIRED
    if withheld.whole >= RETIRE_AFTER and shown.whole + withheld.whole >= IDLE_AFTER:
        best = difference(shown, withheld, confidence=0.8).high
        return Standing.RETIRED if best < IDLE_GAIN else Standing.TRUSTED
    if shown.whole >= SUSPECT_AFTER and chance < SUSPECT_BELOW:
        return Standing.SUSPECT
    return Standing.TRUSTED


def chance_of_help(shown: Share, withheld: Share, all_withheld: Share) -> float:
    """Return the probability that attempts with the lesson are solved more often than those without it."""
    prior = all_withheld.guess
    with_it = (1.0 + shown.part, 1.0 + shown.whole - shown.part)
    without = (
        1.0 + PRIOR_WEIGHT * prior + withheld.part,
        1.0 + PRIOR_WEIGHT * (1.0 - prior) + withheld.whole - withheld.part,
    )
    density_with, density_without = _weigh(*with_it), _weigh(*without)
    both = sum(weight * below for weight, below in zip(density_with, accumulate(density_without), strict=True))
    return min(1.0, both / (sum(density_with) * sum(density_without)))  # a rounding error can exceed 1


def _weigh(a: float, b: float) -> list[float]:
    """Return the density of a Beta distribution on the grid."""
    scale = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    grid = ((at + 0.5) / _GRID for at in range(_GRID))
    return [math.exp((a - 1) * math.log(x) + (b - 1) * math.log1p(-x) + scale) for x in grid]
