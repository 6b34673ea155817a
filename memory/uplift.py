"""Whether lessons help: what became of attempts that saw them, beside those from which they were withheld.

Which attempts see nothing is drawn by lot before anything is known about them, so the two groups differ by the lessons
alone. A single lesson is seldom withheld that way; one under suspicion is therefore shown in half of its cases only,
until there is enough to decide. It retires when it is improbable that it helps. The chance is a Bayesian one, with
Beta priors; what is known of all withheld attempts is the prior of one lesson's, worth a few observations, because the
cases in which this lesson comes up may be harder than others.

Error rates are measured by simulation (`tests/memory/test_uplift.py`), since the rule looks again after each use.
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

CONFIDENCE = 0.95
PRIOR_WEIGHT = 6.0
"""How many observations of its own what is known of all withheld attempts is worth for one lesson."""
SUSPECT_AFTER, SUSPECT_BELOW = 6, 0.3
"""A lesson shown so often whose chance to help is below this is shown in half of its cases from then on."""
RETIRE_AFTER, RETIRE_BELOW = 10, 0.02
"""A lesson withheld so often whose chance to help is below this retires."""
IDLE_AFTER, IDLE_GAIN = 100, 0.05
"""A lesson withheld and shown so often together that even its likely best gains less than this retires as well."""
_GRID = 400
_RESAMPLES = 1000


class Standing(StrEnum):
    """What follows for a lesson."""

    TRUSTED = "trusted"
    SUSPECT = "suspect"
    RETIRED = "retired"


@dataclass(frozen=True, slots=True)
class Tally:
    """So many of `count` attempts were solved."""

    solved: int = 0
    count: int = 0

    @property
    def rate(self) -> float:
        """The share that was solved; a half where nothing is known."""
        return self.solved / self.count if self.count else 0.5


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its confidence interval (`CONFIDENCE`)."""

    estimate: float
    low: float
    high: float


def standing(shown: Tally, withheld: Tally, all_withheld: Tally) -> Standing:
    """What to do with a lesson.

    Args:
        shown: the attempts that saw it.
        withheld: those that would have seen it.
        all_withheld: those from which any lesson was withheld.
    """
    chance = chance_of_help(shown, withheld, all_withheld)
    if withheld.count >= RETIRE_AFTER and chance < RETIRE_BELOW:
        return Standing.RETIRED
    if withheld.count >= RETIRE_AFTER and shown.count + withheld.count >= IDLE_AFTER:
        best = rate_difference(shown, withheld, confidence=0.8).high
        return Standing.RETIRED if best < IDLE_GAIN else Standing.TRUSTED
    if shown.count >= SUSPECT_AFTER and chance < SUSPECT_BELOW:
        return Standing.SUSPECT
    return Standing.TRUSTED


def chance_of_help(shown: Tally, withheld: Tally, all_withheld: Tally) -> float:
    """The probability that attempts with the lesson are solved more often than those without it."""
    import numpy as np  # noqa: PLC0415  not needed by a daemon that learned nothing yet

    prior = all_withheld.rate
    with_it = (1.0 + shown.solved, 1.0 + shown.count - shown.solved)
    without = (
        1.0 + PRIOR_WEIGHT * prior + withheld.solved,
        1.0 + PRIOR_WEIGHT * (1.0 - prior) + withheld.count - withheld.solved,
    )
    x = (np.arange(_GRID) + 0.5) / _GRID
    density_with, density_without = (
        np.exp((a - 1) * np.log(x) + (b - 1) * np.log1p(-x) - math.lgamma(a) - math.lgamma(b) + math.lgamma(a + b))
        for a, b in (with_it, without)
    )
    below = np.cumsum(density_without) / density_without.sum()
    return float((density_with * below).sum() / density_with.sum())


def rate_difference(shown: Tally, withheld: Tally, *, confidence: float = CONFIDENCE) -> Interval:
    """How much more often attempts with lessons were solved, as a difference of shares.

    The interval is Newcombe's hybrid of two Wilson intervals (R. Newcombe, “Interval estimation for the difference
    between independent proportions”, Statistics in Medicine 17, 1998, method 10).
    """
    estimate = shown.rate - withheld.rate
    (low_a, high_a), (low_b, high_b) = wilson(shown, confidence), wilson(withheld, confidence)
    low = estimate - math.hypot(shown.rate - low_a, high_b - withheld.rate)
    high = estimate + math.hypot(high_a - shown.rate, withheld.rate - low_b)
    return Interval(estimate, max(-1.0, low), min(1.0, high))


def wilson(tally: Tally, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """The Wilson score interval of a share (E. Wilson, 1927); everything is possible where nothing is known."""
    if not tally.count:
        return 0.0, 1.0
    z = statistics.NormalDist().inv_cdf(0.5 + confidence / 2)
    n, p = tally.count, tally.rate
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return max(0.0, middle - half), min(1.0, middle + half)


def mean_difference(shown: Sequence[float], withheld: Sequence[float]) -> Interval | None:
    """By how much the mean is higher with lessons, with a bootstrap interval; None where a group is too small.

    The resampling has a fixed seed: the same attempts give the same interval.
    """
    if min(len(shown), len(withheld)) < 5:
        return None
    dice = random.Random(0)  # noqa: S311  no secret
    differences = sorted(
        statistics.fmean(dice.choices(shown, k=len(shown))) - statistics.fmean(dice.choices(withheld, k=len(withheld)))
        for _ in range(_RESAMPLES)
    )
    cut = int((1 - CONFIDENCE) / 2 * _RESAMPLES)
    estimate = statistics.fmean(shown) - statistics.fmean(withheld)
    return Interval(estimate, differences[cut], differences[-cut - 1])
