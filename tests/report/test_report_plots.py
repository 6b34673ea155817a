"""The geometry of the plots."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from report.document import Part, Series, Stack, Style
from report.plots import HEIGHT, STACK_WIDTH, WIDTH, plot, segments

VALUES = st.lists(st.none() | st.floats(0, 1e9), min_size=1, max_size=12)


def series(values: list[float | None], *, bars: bool, top: float | None = None) -> Series:
    shown = ["not known" if value is None else f"{value:g}" for value in values]
    labels = [f"week {n}" for n in range(len(values))]
    return Series(name="n", values=values, shown=shown, labels=labels, bars=bars, top=top)


@settings(deadline=None)
@given(VALUES, st.booleans())
def test_every_known_value_has_its_mark_within_the_picture(values: list[float | None], bars: bool) -> None:
    found = plot(series(values, bars=bars))
    assert len(found.marks) == sum(value is not None for value in values)
    for mark in found.marks:
        assert 0 <= mark.x <= mark.x + mark.width <= WIDTH
        assert 0 <= mark.y <= mark.y + mark.height <= HEIGHT
    assert found.told.count("; ") == len(values) - 1


@settings(deadline=None)
@given(st.lists(st.floats(0, 1e6), min_size=2, max_size=9))
def test_larger_values_stand_higher(values: list[float]) -> None:
    marks = plot(series(list(values), bars=False)).marks
    pairs = sorted(zip(values, (mark.y for mark in marks), strict=True))
    assert [y for _, y in pairs] == sorted((y for _, y in pairs), reverse=True)


def test_a_line_is_broken_where_a_value_is_not_known() -> None:
    found = plot(series([1, 2, None, 3, 4, None, 5], bars=False))
    assert [len(line.split()) for line in found.lines] == [2, 2]
    assert [mark.now for mark in found.marks] == [False, False, False, False, True]


def test_a_rate_is_drawn_against_all_there_can_be() -> None:
    (mark,) = plot(series([0.5], bars=False, top=1.0)).marks
    assert HEIGHT / 2 <= mark.y <= HEIGHT / 2 + 4


@settings(deadline=None)
@given(st.lists(st.integers(0, 1000), max_size=8))
def test_the_parts_of_a_stack_fill_it_side_by_side(counts: list[int]) -> None:
    parts = [Part(name=str(n), count=count, style=Style.GOOD) for n, count in enumerate(counts)]
    found = segments(Stack(title="t", parts=parts))
    assert [one.count for one in found] == [count for count in counts if count]
    assert abs(sum(one.width for one in found) - (STACK_WIDTH if found else 0)) < 0.1
    for before, after in pairwise(found):
        assert abs(before.x + before.width - after.x) < 0.02
