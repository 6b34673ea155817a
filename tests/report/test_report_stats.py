"""The report's statistics, checked against their properties."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from nightshift.report.stats import spread


@settings(deadline=None)
@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=60))
def test_at_least_95_percent_lie_at_or_below_the_95th_percentile(values: list[float]) -> None:
    distribution = spread(values)
    assert sum(value <= distribution.p95 for value in values) >= 0.95 * len(values)
    assert sum(value < distribution.p95 for value in values) < 0.95 * len(values)
    assert (distribution.count, distribution.most) == (len(values), max(values))
