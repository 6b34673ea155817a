"""The statistics of the report, against values worked out elsewhere and against their laws."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weekly.stats import Share, Spread, counted, difference, spread, wilson

SHARES = st.integers(1, 500).flatmap(
    lambda whole: st.integers(0, whole).map(lambda part: Share(part=part, whole=whole))
)


@pytest.mark.parametrize(
    ("part", "whole", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_the_interval_of_a_rate_is_that_of_newcombe_s_table(part: int, whole: int, low: float, high: float) -> None:
    """R. G. Newcombe, “Two-sided confidence intervals for the single proportion”, 1998, table I, method 3."""
    assert wilson(Share(part=part, whole=whole)) == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize(
    ("one", "other", "low", "high"),
    [((56, 70), (48, 80), 0.0524, 0.3339), ((9, 10), (3, 10), 0.1705, 0.8090), ((10, 10), (0, 20), 0.6791, 1.0)],
)
def test_the_interval_of_a_difference_is_that_of_newcombe_s_table(
    one: tuple[int, int], other: tuple[int, int], low: float, high: float
) -> None:
    """R. G. Newcombe, “Interval estimation for the difference …”, 1998, table II, method 10."""
    a, b = (Share(part=part, whole=whole) for part, whole in (one, other))
    assert difference(a, b) == pytest.approx((low, high), abs=5e-5)


@settings(deadline=None)
@given(SHARES)
def test_an_interval_holds_its_rate_and_lies_between_nothing_and_all(share: Share) -> None:
    low, high = wilson(share)
    assert share.value is not None
    assert 0 <= low <= share.value + 1e-12
    assert share.value - 1e-12 <= high <= 1


@settings(deadline=None)
@given(SHARES, SHARES)
def test_a_difference_turned_round_has_the_interval_turned_round(a: Share, b: Share) -> None:
    low, high = difference(a, b)
    assert difference(b, a) == pytest.approx((-high, -low))


def test_nothing_has_no_rate_and_any_interval() -> None:
    assert Share(part=0, whole=0).value is None
    assert wilson(Share(part=0, whole=0)) == (0.0, 1.0)
    assert spread([]) == Spread()


@settings(deadline=None)
@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=60))
def test_at_least_95_percent_lie_at_or_below_the_95th_percentile(values: list[float]) -> None:
    found = spread(values)
    assert sum(value <= found.p95 for value in values) >= 0.95 * len(values)
    assert sum(value < found.p95 for value in values) < 0.95 * len(values)
    assert (found.count, found.most) == (len(values), max(values))


@settings(deadline=None)
@given(st.lists(st.sampled_from("abcd")))
def test_counts_do_not_depend_on_the_order_in_which_things_came(items: list[str]) -> None:
    assert list(counted(items).items()) == list(counted(sorted(items)).items())
