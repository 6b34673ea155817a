"""The statistics that the report rests on."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")
Z_95 = 1.959963984540054
"""The 97.5 % point of the normal distribution."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """A distribution in three figures; zeros where there was nothing (`count` tells)."""

    count: int = 0
    median: float = 0.0
    p95: float = 0.0
    most: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A part of a whole."""

    part: int
    whole: int

    @property
    def value(self) -> float | None:
        """The share, 0 to 1; None of nothing."""
        return self.part / self.whole if self.whole else None


def spread(values: Iterable[float]) -> Spread:
    """Median, 95th percentile (nearest rank: the smallest value that 95 % do not exceed) and largest value."""
    ordered = sorted(values)
    if not ordered:
        return Spread()
    rank = math.ceil(0.95 * len(ordered))
    return Spread(
        count=len(ordered), median=statistics.median(ordered), p95=ordered[rank - 1], most=ordered[-1]
    )  # fmt: skip


def wilson(share: Share) -> tuple[float, float]:
    """The 95 % confidence interval of a rate, after E. B. Wilson, “Probable inference”, JASA 22 (1927), 209-212.

    It holds for few cases and for rates near 0 and 1, where the usual interval does not; of nothing it is 0 to 1.
    """
    if not share.whole:
        return 0.0, 1.0
    n, p, z2 = share.whole, share.part / share.whole, Z_95 * Z_95
    middle = (p + z2 / (2 * n)) / (1 + z2 / n)
    half = Z_95 / (1 + z2 / n) * math.sqrt(p * (1 - p) / n + z2 / (4 * n * n))
    return max(0.0, middle - half), min(1.0, middle + half)


def difference(a: Share, b: Share) -> tuple[float, float]:
    """The 95 % confidence interval of the difference of two rates, a - b, from their Wilson intervals.

    R. G. Newcombe, “Interval estimation for the difference between independent proportions”, Statistics in Medicine 17
    (1998), 873-890, method 10. Neither may be of nothing.
    """
    rate_a, rate_b = a.part / a.whole, b.part / b.whole
    (low_a, high_a), (low_b, high_b) = wilson(a), wilson(b)
    middle = rate_a - rate_b
    low = middle - math.hypot(rate_a - low_a, high_b - rate_b)
    return low, middle + math.hypot(high_a - rate_a, rate_b - low_b)


def counted(items: Iterable[T]) -> dict[T, int]:
    """How often each came, the most frequent first; ties in the order of their names."""
    return dict(sorted(Counter(items).items(), key=lambda pair: (-pair[1], str(pair[0]))))
