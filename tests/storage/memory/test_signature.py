"""Signatures of errors: equal for the same mistake, different for different ones."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightshift.storage.memory.signature import DIFFERS, MAX_CHARS, relation, signature

TRACEBACK = """\
Traceback (most recent call last):
  File "/srv/run-{n}/pkg/shop.py", line {n}, in total
    return sum(price(item) for item in items)
           ~~~^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  File "/usr/lib/python3.11/json/decoder.py", line 355, in raw_decode
    raise JSONDecodeError("Expecting value", s, err.value) from None
  File "/srv/run-{n}/pkg/shop.py", line 3{n}, in price
    return float(item['price'])
KeyError: 'price{n}'
"""


def test_a_traceback_keeps_own_functions_and_the_exception() -> None:
    assert signature(TRACEBACK.replace("{n}", "7")) == "in total\nin price\nKeyError: <value>"


@given(st.integers(min_value=0, max_value=10**6))
def test_paths_lines_and_values_do_not_matter(n: int) -> None:
    assert signature(TRACEBACK.replace("{n}", str(n))) == signature(TRACEBACK.replace("{n}", "1"))


@pytest.mark.parametrize(
    ("error", "other"),
    [
        ("assert 5 == 7312", "assert -2.5e3 == 8"),
        ("<Foo object at 0x7fae01> is not callable", "<Foo object at 0x11> is not callable"),
        ("no such file: /tmp/a/b.txt", "no such file: /var/lib/c.json"),
        ("at 2026-03-01T12:00:00Z it failed", "at 2025-12-31 23:59:59.123 it failed"),
        ("commit 3f2a9bc01d failed", "commit 99aa00bb11cc22dd failed"),
        ("assert [1, 2, 3] == [3, 5]", "assert [9, 8] == [1, 1, 1, 1]"),
        ("TypeError: total() missing 1 argument", "TypeError: Shop.area() missing 1 argument"),
        ("sqlite3.OperationalError: no such table: users", "sqlite3.OperationalError: no such table: shop.orders"),
        ("\x1b[31mAssertionError\x1b[0m: 1 != 2", "AssertionError: 3 != 4"),
    ],
)
def test_what_changes_from_run_to_run_is_left_out(error: str, other: str) -> None:
    assert signature(error) == signature(other)
    assert "<" in signature(error) or "Assertion" in signature(error)


@pytest.mark.parametrize(
    ("error", "other"),
    [
        ("KeyError: 'a'", "IndexError: 'a'"),
        ("AttributeError: 'list' object has no attribute", "AttributeError: 'list' object is read-only"),
        ("SyntaxError: '(' was never closed", "SyntaxError: 'x' was never closed"),
        ('  File "/a.py", line 1, in f\nE', '  File "/a.py", line 1, in g\nE'),
    ],
)
def test_another_mistake_has_another_signature(error: str, other: str) -> None:
    assert signature(error) != signature(other)


@pytest.mark.parametrize(
    "head",
    [
        "ImportError while importing test module '/w/tests/test_plot.py'.",
        "FAILED tests/test_plot.py::test_all - ",
        '  File "/w/plot.py", line 3',
    ],
)
def test_what_a_runner_says_of_every_failure_is_left_out(head: str) -> None:
    error = "ModuleNotFoundError: No module named 'x'"
    assert signature(f"{head}\n{error}") == signature(error)


@pytest.mark.parametrize("line", ["assert " + "== " * 9_000, "(" * 29_000])
def test_no_line_takes_long(line: str) -> None:
    """Check lines for which a pattern that tries every possible end of an operand would take hours."""
    assert len(signature(line)) <= MAX_CHARS


def test_a_node_stack_keeps_own_functions() -> None:
    frames = ("total (/w/shop.js:3:9)", "node:internal/main:1:2", "/w/t.js:1:1")
    text = "\n".join(("TypeError: x is not a function", *(f"    at {frame}" for frame in frames)))
    assert signature(text) == "in total\nTypeError: <name> is not a function"


@given(st.text(max_size=400))
def test_any_text_gives_a_short_signature_without_a_number(text: str) -> None:
    result = signature(text)
    assert len(result) <= MAX_CHARS
    assert not any(line != line.strip() for line in result.split("\n"))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.parametrize(
    ("line", "difference"),
    [
        ("assert 0.30000000000000004 == 0.3", "almost equal floats, inexact"),
        ("assert 3 == 4", "one too few"),
        ("assert 0 == 12", "zero instead of a number"),
        ("assert nan == 12", "not a number"),
        ("assert None == 4", "nothing instead of a value"),
        ("assert '3' == 3", "str instead of int"),
        ("assert 'a b' == 'ab '", "white space in text"),
        ("assert 'abc' == 'cba'", "reversed text"),
        ("assert [] == [1]", "empty instead of items"),
        ("assert [3, 2, 1] == [1, 2, 3]", "reversed order of items"),
        ("assert [1, 2] == [1, 1, 2]", "items that repeat are missing"),
        ("assert [1, 2] == [1, 2, 3]", "last items missing"),
        ("assert {'a': 1} == {'a': 2}", "other value of a key"),
        ("assert {'a': 1, 'b': 2} == {'b': 2}", "more items than expected"),
        ("AssertionError [ERR_ASSERTION]: Expected values to be strictly equal: 3 !== 4", "one too few"),
    ],
)
def test_the_difference_is_told(line: str, difference: str) -> None:
    assert relation(line) == DIFFERS + difference


@pytest.mark.parametrize("line", ["assert total(3) == 4", "assert [1, 2] == [3, 4]", "assert 'ab' == 'xy'", ""])
def test_where_nothing_can_be_told_nothing_is(line: str) -> None:
    assert relation(line) == ""


def test_jest_tells_its_sides_on_lines_of_their_own() -> None:
    assert signature("expect(received).toBe(expected)\nExpected: 30\nReceived: NaN").endswith("differs: not a number")


@given(VALUES, VALUES)
def test_no_value_breaks_it_and_none_is_in_what_it_says(got: object, wanted: object) -> None:
    message = relation(f"assert {got!r} == {wanted!r}")
    assert not message or message.startswith(DIFFERS)
    assert message == message.translate(str.maketrans("", "", "0123456789'[]{}"))
