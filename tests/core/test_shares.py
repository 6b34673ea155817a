"""Shares and their confidence intervals, compared with published tables and with mathematical properties."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nightshift.core.shares import Interval, Share, difference, wilson

SHARES = st.integers(1, 500).flatmap(lambda total: st.integers(0, total).map(lambda part: Share(part, total)))


def bounds(interval: Interval) -> tuple[float, float]:
    return interval.low, interval.high


@pytest.mark.parametrize(
    ("share", "other", "low", "high"),
    [
        (Share(56, 70), Share(48, 80), 0.0524, 0.3339),
        (Share(5, 56), Share(0, 29), -0.0381, 0.1926),
        (Share(10, 10), Share(0, 20), 0.6791, 1.0),
    ],
)
def test_the_interval_of_a_difference_is_that_of_newcombe_s_table(
    share: Share, other: Share, low: float, high: float
) -> None:
    """R. G. Newcombe, “Interval estimation for the difference …”, 1998, table II, method 10."""
    assert bounds(difference(share, other)) == pytest.approx((low, high), abs=5e-5)


@settings(deadline=None)
@given(SHARES)
def test_an_interval_holds_its_rate_and_lies_between_nothing_and_all(share: Share) -> None:
    interval = wilson(share)
    assert share.value == interval.estimate == share.guess
    assert 0 <= interval.low <= interval.estimate + 1e-12
    assert interval.estimate - 1e-12 <= interval.high <= 1
