"""The geometry of the plots."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from nightshift.report.elements import Element
from nightshift.report.plots import BAR_WIDTH, HEIGHT, WIDTH, Part, Series, Tone, stack, trend

VALUES = st.lists(st.none() | st.floats(0, 1e9), min_size=1, max_size=12)


def series(values: list[float | None], *, bars: bool, top: float | None = None) -> Series:
    shown = ["not known" if value is None else f"{value:g}" for value in values]
    labels = [f"week {n}" for n in range(len(values))]
    return Series(name="n", values=values, shown=shown, labels=labels, bars=bars, top=top)


def elements(of: Element) -> Iterator[Element]:
    yield of
    for child in of.children:
        if isinstance(child, Element):
            yield from elements(child)


def marks(of: Element) -> list[dict[str, float]]:
    """The places of bars and points; a point has no size."""
    names = {"cx": "x", "cy": "y"}
    return [
        {"width": 0.0, "height": 0.0}
        | {names.get(name, name): float(value) for name, value in each.attributes.items() if name != "class"}
        for each in elements(of)
        if each.tag in {"rect", "circle"}
    ]


@settings(deadline=None)
@given(VALUES, st.booleans())
def test_every_known_value_has_its_mark_within_the_picture(values: list[float | None], bars: bool) -> None:
    found = trend([series(values, bars=bars)])
    assert len(marks(found)) == sum(value is not None for value in values)
    for mark in marks(found):
        assert 0 <= mark["x"] <= mark["x"] + mark["width"] <= WIDTH
        assert 0 <= mark["y"] <= mark["y"] + mark["height"] <= HEIGHT + 0.01
    (picture,) = (each for each in elements(found) if each.tag == "svg")
    assert picture.attributes["aria-label"].count("; ") == len(values) - 1


@settings(deadline=None)
@given(st.lists(st.floats(0, 1e6), min_size=2, max_size=9))
def test_larger_values_stand_higher(values: list[float]) -> None:
    found = marks(trend([series(list(values), bars=False)]))
    pairs = sorted(zip(values, (mark["y"] for mark in found), strict=True))
    assert [y for _, y in pairs] == sorted((y for _, y in pairs), reverse=True)


def test_a_line_is_broken_where_a_value_is_not_known() -> None:
    found = list(elements(trend([series([1, 2, None, 3, 4, None, 5], bars=False)])))
    lines = [each.attributes["points"] for each in found if each.tag == "polyline"]
    assert [len(line.split()) for line in lines] == [2, 2]
    assert [each.attributes.get("class") for each in found if each.tag == "circle"] == [None] * 4 + ["now"]


def test_a_rate_is_drawn_against_all_there_can_be() -> None:
    (mark,) = marks(trend([series([0.5], bars=False, top=1.0)]))
    assert HEIGHT / 2 <= mark["y"] <= HEIGHT / 2 + 4


@settings(deadline=None)
@given(st.lists(st.integers(1, 1000), max_size=8))
def test_the_parts_of_a_stack_fill_it_side_by_side(counts: list[int]) -> None:
    found = marks(stack("t", [Part(name=str(n), count=count, tone=Tone.GOOD) for n, count in enumerate(counts)]))
    assert len(found) == len(counts)
    assert abs(sum(one["width"] for one in found) - (BAR_WIDTH if found else 0)) < 0.1
    for before, after in pairwise(found):
        assert abs(before["x"] + before["width"] - after["x"]) < 0.02
