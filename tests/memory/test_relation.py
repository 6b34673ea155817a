"""Two sides of a comparison become words that are the same for other values with the same difference."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.relation import DIFFERS, relation
from memory.signature import signature

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("assert 0.30000000000000004 == 0.3", "almost equal floats, inexact"),
        ("assert 1.1000000000000001 == 1.1", "almost equal floats, inexact"),
        ("assert 3 == 4", "one too few"),
        ("assert 5 == 4", "one too many"),
        ("assert -5 == 5", "opposite sign"),
        ("assert 0 == 12", "zero instead of a number"),
        ("assert 2 == 2.5", "fraction cut or rounded"),
        ("assert nan == 12", "not a number"),
        ("assert None == 4", "nothing instead of a value"),
        ("assert 4 is None", "a value instead of nothing"),
        ("assert True == False", "true and false"),
        ("assert '3' == 3", "str instead of int"),
        ("assert 1 == True", "int instead of bool"),
        ("assert '' == 'a'", "empty text"),
        ("assert 'Ann' == 'ann'", "letter case of text"),
        ("assert 'a b' == 'ab '", "white space in text"),
        ("assert 'abc' == 'cba'", "reversed text"),
        ("assert 'ab' == 'abc'", "last text missing"),
        ("assert [] == [1]", "empty instead of items"),
        ("assert [3, 2, 1] == [1, 2, 3]", "reversed order of items"),
        ("assert [2, 3, 1] == [1, 2, 3]", "other order of items"),
        ("assert [1, 1, 2] == [1, 2]", "repeated items"),
        ("assert [1, 2] == [1, 1, 2]", "items that repeat are missing"),
        ("assert [1, 2] == [1, 2, 3]", "last items missing"),
        ("assert [2, 3] == [1, 2, 3]", "items missing"),
        ("assert (1, 2, 3) == (1, 2)", "more items at the end than expected"),
        ("assert ['a', 'b'] == ['b']", "more items than expected"),
        ("assert {'a': 1} == {'a': 2}", "other value of a key"),
        ("assert {'a': 1, 'b': 2} == {'b': 2}", "more items than expected"),
        ("assert {1} == {1, 2}", "items missing"),
        ("AssertionError [ERR_ASSERTION]: Expected values to be strictly equal: 3 !== 4", "one too few"),
        ("AssertionError: expected [ 1, 2 ] to deeply equal [ 2, 1 ]", "reversed order of items"),
        ("AssertionError: expected undefined to equal 4", "nothing instead of a value"),
    ],
)
def test_the_difference_is_told(line: str, told: str) -> None:
    assert relation(line) == DIFFERS + told


@pytest.mark.parametrize(
    "line",
    [
        "assert total(3) == 4",
        "assert [1, 2] == [3, 4]",
        "assert 'ab' == 'xy'",
        "assert 3 == 400",
        "assert x",
        "",
        "a == b",
    ],
)
def test_where_nothing_can_be_told_nothing_is(line: str) -> None:
    assert relation(line) == ""


def test_jest_tells_its_sides_on_lines_of_their_own() -> None:
    assert signature("expect(received).toBe(expected)\nExpected: 30\nReceived: NaN").endswith("differs: not a number")


@given(VALUES, VALUES)
def test_no_value_breaks_it_and_none_is_in_what_it_says(got: object, wanted: object) -> None:
    told = relation(f"assert {got!r} == {wanted!r}")
    assert not told or told.startswith(DIFFERS)
    assert told == told.translate(str.maketrans("", "", "0123456789'[]{}"))
