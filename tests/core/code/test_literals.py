"""Literals are converted to text and back without running code or exhausting the memory."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightshift.core.code import literals

keys = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(max_size=8)
values = st.recursive(
    keys | st.complex_numbers(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.tuples(inner, inner) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=8,
)


@given(values | st.sets(keys, max_size=4) | st.frozensets(keys, max_size=4))
def test_what_is_written_is_read_again_with_its_types(value: object) -> None:
    again = literals.read(literals.write(value))
    assert again == value
    assert type(again) is type(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [("10**6", 10**6), ("[0] * 3", [0, 0, 0]), ("not True", False), ("1 + 2j", 1 + 2j), ("set()", set()),
     ("frozenset([1])", frozenset({1})), ("float('inf')", math.inf), ("( 1, )", (1,))],
)  # fmt: skip
def test_constant_expressions_are_read(text: str, value: object) -> None:
    assert literals.read(text) == value


@pytest.mark.parametrize(
    "text",
    ["x", "f(1)", "__import__('os')", "[1 for _ in ()]", "10**10**10", "'a' * 10**9", "9**9**9", "-'a'", "{**{}}",
     "...", "float([1])", "{[1]: 2}", "1 if 1 else 2", "", "1 2", "(" * 5000, "[1] + (2,)", "2**-0.5**99999",
     "set(1, 2)", "1/0"],
)  # fmt: skip
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        literals.read(text)


@pytest.mark.parametrize(
    "text",
    ["[[[[0]*1000]*1000]*1000]*1000", "{((((0,)*1000,)*1000,)*1000,)}",
     "[" + "[0]*50000," * 15_000 + "]", "[" * 90 + "0," * 50_000 + "]*1" * 90, "*".join(["7**15000"] * 400)],
    ids=["four_times", "hashed", "side_by_side", "by_one", "powers"],
)  # fmt: skip
def test_a_short_text_becomes_no_value_that_is_endless_to_walk_through(text: str) -> None:
    with pytest.raises(ValueError, match="too l"):
        literals.read(text)


def test_a_value_that_only_looks_small_is_not_written() -> None:
    shared: list[object] = [0] * 1000
    for _ in range(5):
        shared = [shared] * 1000
    with pytest.raises(ValueError, match="longer than"):
        literals.write(shared)
