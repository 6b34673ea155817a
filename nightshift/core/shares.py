"""Shares of a whole, with confidence intervals of shares and of differences between two groups.

These formulas are defined here because the weekly report and the memory's evaluation of lessons both use them.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass

CONFIDENCE = 0.95


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


def _z(confidence: float) -> float:
    return statistics.NormalDist().inv_cdf(0.5 + confidence / 2)
