"""Statistics for the report, except shares and their intervals, which are in `core.shares`."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Four figures that describe a distribution; all are zero if there were no values."""

    count: int = 0
    median: float = 0.0
    p95: float = 0.0
    most: float = 0.0


def spread(values: Iterable[float]) -> Spread:
    """Return count, median, 95th percentile and maximum of the values.

    The percentile is by nearest rank: the smallest value that 95 % of the values do not exceed.
    """
    ordered = sorted(values)
    if not ordered:
        return Spread()
    rank = math.ceil(0.95 * len(ordered))
    return Spread(
        count=len(ordered), median=statistics.median(ordered), p95=ordered[rank - 1], most=ordered[-1]
    )  # fmt: skip


def count_each(items: Iterable[T]) -> dict[T, int]:
    """Count each item; the most frequent comes first, ties are sorted by name."""
    return dict(sorted(Counter(items).items(), key=lambda pair: (-pair[1], str(pair[0]))))
