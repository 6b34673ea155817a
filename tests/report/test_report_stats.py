"""The report's statistics, checked against their properties."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from nightshift.report.stats import Spread, count_each, spread


def test_of_nothing_there_is_no_spread() -> None:
    assert spread([]) == Spread()


@settings(deadline=None)
@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=60))
def test_at_least_95_percent_lie_at_or_below_the_95th_percentile(values: list[float]) -> None:
    distribution = spread(values)
    assert sum(value <= distribution.p95 for value in values) >= 0.95 * len(values)
    assert sum(value < distribution.p95 for value in values) < 0.95 * len(values)
    assert (distribution.count, distribution.most) == (len(values), max(values))


@settings(deadline=None)
@given(st.lists(st.sampled_from("abcd")))
def test_counts_do_not_depend_on_the_order_in_which_things_came(items: list[str]) -> None:
    assert list(count_each(items).items()) == list(count_each(sorted(items)).items())
