"""Shares of a whole, with confidence intervals of shares and of differences between two groups.

These formulas are defined here because the weekly report and the memory's evaluation of lessons both use them.
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

CONFIDENCE = 0.95
LEAST = 5
"""Minimum size of a group, because the mean of fewer values is not reliable."""
MANY = 150
"""Group size from which a resampled mean is practically normal, and is drawn from a normal distribution."""
_RESAMPLES = 1000


@dataclass(frozen=True, slots=True)
class Share:
    """A part and the whole, both as counts."""

    part: int = 0
    whole: int = 0

    @property
    def value(self) -> float | None:
        """The share, from 0 to 1; None if the whole is 0."""
        return self.part / self.whole if self.whole else None

    @property
    def guess(self) -> float:
        """The share, from 0 to 1; 0.5 if the whole is 0."""
        return self.part / self.whole if self.whole else 0.5


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its confidence interval."""

    estimate: float
    low: float
    high: float


def wilson(share: Share, confidence: float = CONFIDENCE) -> Interval:
    """Return the score interval of a rate, after E. B. Wilson, “Probable inference”, JASA 22 (1927), 209-212.

    Unlike the normal approximation, it is valid for few cases and for rates near 0 and 1. For 0/0 it is [0, 1].
    """
    if not share.whole:
        return Interval(share.guess, 0.0, 1.0)
    n, p, z = share.whole, share.guess, _z(confidence)
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return Interval(p, max(0.0, middle - half), min(1.0, middle + half))


def difference(first: Share, other: Share, confidence: float = CONFIDENCE) -> Interval:
    """Return the difference of two rates, `first` minus `other`, by Newcombe's hybrid of their Wilson intervals.

    R. G. Newcombe, “Interval estimation for the difference between independent proportions”, Statistics in Medicine 17
    (1998), 873-890, method 10. 0/0 counts as 0.5 with the interval [0, 1].
    """
    a, b = wilson(first, confidence), wilson(other, confidence)
    middle = a.estimate - b.estimate
    low = middle - math.hypot(a.estimate - a.low, b.high - b.estimate)
    high = middle + math.hypot(a.high - a.estimate, b.estimate - b.low)
    return Interval(middle, max(-1.0, low), min(1.0, high))


def mean_difference(first: Sequence[float], other: Sequence[float]) -> Interval | None:
    """Return how much higher the mean of `first` is, with a bootstrap interval; None if a group has fewer than `LEAST`.

    Percentile bootstrap: B. Efron, “Bootstrap methods: another look at the jackknife”, Annals of Statistics 7 (1979),
    1-26. The resampling has a fixed seed, so the same values give the same interval; `MANY` limits its cost.
    """
    if min(len(first), len(other)) < LEAST:
        return None
    dice = random.Random(0)  # noqa: S311  no secret
    a, b = _means(first, dice), _means(other, dice)
    differences = sorted(a() - b() for _ in range(_RESAMPLES))
    cut = int((1 - CONFIDENCE) / 2 * _RESAMPLES)
    return Interval(statistics.fmean(first) - statistics.fmean(other), differences[cut], differences[-cut - 1])


def _means(values: Sequence[float], dice: random.Random) -> Callable[[], float]:
    """Return a function that draws means of resampled values."""
    if len(values) < MANY:
        return lambda: statistics.fmean(dice.choices(values, k=len(values)))
    mean = statistics.fmean(values)
    # This is `statistics.stdev` without its exact fractions, which take ten times as long.
    error = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1) / len(values))
    return lambda: dice.gauss(mean, error)


def _z(confidence: float) -> float:
    return statistics.NormalDist().inv_cdf(0.5 + confidence / 2)
