"""Tests whether one arm solves more items than another, and with what certainty.

Two arms work on the same items, so they are compared item by item. Items that both solve or both fail say nothing. Each
other item is solved by only one of the arms. If the arms were equally good, the toss of a fair coin would decide by
which one (Q. McNemar, Psychometrika 12 (1947), 153-157). The p-value is the mid-p of that exact binomial test. The
plain exact test is so conservative that it misses real differences; the mid-p misses fewer and still keeps the
significance level in practice (M. Fagerland, S. Lydersen, P. Laake, BMC Medical Research Methodology 13:91, 2013). For
comparisons of several arms, p-values are adjusted (S. Holm, Scandinavian Journal of Statistics 6 (1979), 65-70).
`tests/report/benchmark/test_statistics.py` verifies the rates of the intervals by simulation.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nightshift.core.shares import Interval, Share, wilson


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """The results of two arms on the same items, as counts."""

    both: int = 0
    only_first: int = 0
    only_second: int = 0
    neither: int = 0

    @property
    def count(self) -> int:
        """Number of items that both arms have worked on."""
        return self.both + self.only_first + self.only_second + self.neither

    @property
    def first(self) -> Share:
        """The share that the first arm solved."""
        return Share(self.both + self.only_first, self.count)

    @property
    def second(self) -> Share:
        """The share that the second arm solved."""
        return Share(self.both + self.only_second, self.count)

    @property
    def p_value(self) -> float:
        """The two-sided mid-p value of McNemar's exact test; 1 if no item distinguishes the arms."""
        return mid_p(self.only_first, self.only_second)

    @property
    def difference(self) -> Interval:
        """The first arm's solved share minus the second's, -1 to 1, with the 95 % interval for paired data.

        R. G. Newcombe, “Improved confidence intervals for the difference between binomial proportions based on paired
        data”, Statistics in Medicine 17 (1998), 2635-2650, method 10.
        """
        if not self.count:
            return Interval(0.0, -1.0, 1.0)
        a, b = wilson(self.first), wilson(self.second)
        middle, alike = a.estimate - b.estimate, self._correlation()

        def reach(gap: float, other: float) -> float:
            return math.sqrt(max(0.0, gap * gap - 2 * alike * gap * other + other * other))

        low = middle - reach(a.estimate - a.low, b.high - b.estimate)
        high = middle + reach(a.high - a.estimate, b.estimate - b.low)
        return Interval(middle, max(-1.0, low), min(1.0, high))

    def _correlation(self) -> float:
        """Return the phi coefficient of the two arms, with Newcombe's correction if it is positive."""
        (first, n), other = (self.first.part, self.count), self.second.part
        margins = math.sqrt(first * (n - first) * other * (n - other))
        if not margins:
            return 0.0
        cross = self.both * self.neither - self.only_first * self.only_second
        return (max(0.0, cross - n / 2) if cross > 0 else cross) / margins


def pair_up(first: Mapping[str, bool], second: Mapping[str, bool]) -> Pairs:
    """Count the results of two arms item by item; items that one of them has not worked on do not count."""
    seen = [(first[item], second[item]) for item in first.keys() & second.keys()]
    return Pairs(
        both=seen.count((True, True)),
        only_first=seen.count((True, False)),
        only_second=seen.count((False, True)),
        neither=seen.count((False, False)),
    )


def mid_p(heads: int, tails: int) -> float:
    """Return the two-sided mid-p value of these numbers of heads and tails, for a fair coin."""
    n, least = heads + tails, min(heads, tails)
    if heads == tails:
        return 1.0
    below = math.fsum(_binomial(n, count, 0.5) for count in range(least + 1))
    return min(1.0, 2 * below - _binomial(n, least, 0.5))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the p-values adjusted for multiple comparisons, in the same order."""
    adjusted, worst = [1.0] * len(p_values), 0.0
    for rank, at in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        worst = max(worst, min(1.0, (len(p_values) - rank) * p_values[at]))
        adjusted[at] = worst
    return adjusted


def _binomial(n: int, k: int, p: float) -> float:
    if p in {0.0, 1.0}:
        return float(k == round(n * p))
    ways = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    return math.exp(ways + k * math.log(p) + (n - k) * math.log1p(-p))
