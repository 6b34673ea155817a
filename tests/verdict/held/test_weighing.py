"""Comparison of results with expected results.

Results are compared by type and value, or in the same way as in the test that the case comes from.
"""

from __future__ import annotations

import collections
import contextlib
import json
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightshift.core.code import literals
from nightshift.core.tasks.held_out import Compare, ValueCase
from nightshift.sandbox.inside import values
from nightshift.verdict.answer import Reply
from nightshift.verdict.held.weighing import Finding, plainly, weigh

F = Finding


class Pair(NamedTuple):
    """A subclass of `tuple`."""

    x: int
    y: int


class Always(int):
    """An integer that claims to equal everything."""

    def __eq__(self, _other: object) -> bool:
        return True

    __hash__ = int.__hash__


class Odd:
    """A class whose objects are not plain values."""


def reply(value: object) -> Reply:
    return Reply(how="value", data=json.loads(json.dumps(values.pack(value))))


def find(compare: Compare, expect: object, value: object, **more: Any) -> Finding:
    case = ValueCase(call="m:f", compare=compare, expect=literals.write(expect), **more)
    return weigh(case, reply(value))


keys = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(max_size=8)
value_strategy = st.recursive(
    keys | st.complex_numbers(allow_nan=False),
    lambda inner: (
        st.lists(inner, max_size=3) | st.tuples(inner) | st.sets(keys) | st.dictionaries(keys, inner, max_size=3)
    ),
    max_leaves=8,
)


@given(value_strategy)
def test_plain_values_come_out_as_they_went_in_and_are_right(value: object) -> None:
    seen: list[tuple[str, str]] = []
    again = values.unpack(json.loads(json.dumps(values.pack(value))), seen)
    assert again == value
    assert (type(again), seen) == (type(value), [])
    with contextlib.suppress(ValueError):  # a complex infinity has no literal
        assert find(Compare.STRICT, value, value) is find(Compare.EQUAL, value, value) is F.RIGHT


@pytest.mark.parametrize(
    ("expect", "value", "strict", "equal"),
    [
        (1, True, F.TYPE, F.RIGHT), ((1, 2), [1, 2], F.TYPE, F.TYPE), (4, 5, F.VALUE, F.VALUE),
        ([1], [True], F.VALUE, F.RIGHT), ({1: 2}, {1: 2.0}, F.VALUE, F.RIGHT), ({1}, frozenset({1}), F.TYPE, F.RIGHT),
        (5, Always(3), F.TYPE, F.VALUE), (5, Always(5), F.TYPE, F.RIGHT), ([4], [Odd()], F.TYPE, F.TYPE),
        ((1, 2), Pair(1, 2), F.TYPE, F.RIGHT), ({"a": 2}, collections.Counter("a"), F.TYPE, F.VALUE),
        (0.5, Decimal("0.5"), F.TYPE, F.RIGHT), (0.5, Fraction(1, 2), F.TYPE, F.RIGHT),
        (float("nan"), float("nan"), F.RIGHT, F.VALUE), ([10**5000], [10**5000], F.RIGHT, F.RIGHT),
    ],
)  # fmt: skip
def test_strict_means_type_and_value_and_equal_means_equal(
    expect: object, value: object, strict: Finding, equal: Finding
) -> None:
    assert find(Compare.STRICT, expect, value) is strict
    assert find(Compare.EQUAL, expect, value) is equal


def test_near_takes_what_approx_takes_and_no_more() -> None:
    cases: list[tuple[Any, Any, dict[str, float], bool]] = [
        ([0.3, 1], (0.1 + 0.2, 1), {}, True), ({"a": 0.3}, {"a": 0.1 + 0.2}, {}, True), (100, 101, {"rel": 0.02}, True),
        (100, 101, {"abs": 1.5}, True), (1e-13, 0, {}, True), (float("inf"), float("inf"), {}, True),
        ("a", "a", {}, True), (100, 102, {"abs": 1.5}, False), ([1.0], [1.0, 2.0], {}, False), (1.0, "1.0", {}, False),
        (float("inf"), 1e300, {}, False), (100, 100.01, {"abs": 1e-9}, False),
    ]  # fmt: skip
    for expect, value, more, is_near in cases:
        assert (find(Compare.NEAR, expect, value, **more) is F.RIGHT) is is_near, (expect, value)


def test_truth_is_judged_by_plain_values() -> None:
    for compare, value, finding in (
        (Compare.TRUE, [0], F.RIGHT), (Compare.TRUE, 0, F.VALUE), (Compare.FALSE, "", F.RIGHT),
        (Compare.FALSE, 1, F.VALUE), (Compare.FALSE, Odd(), F.UNKNOWN), (Compare.TRUE, Always(0), F.VALUE),
    ):  # fmt: skip
        assert weigh(ValueCase(call="m:f", compare=compare), reply(value)) is finding


def test_exceptions_are_known_by_the_names_of_their_classes() -> None:
    case = ValueCase(call="m:f", compare=Compare.RAISES, raises=("LookupError",))
    assert weigh(case, Reply(how="raised", data=["KeyError", "LookupError", "Exception"])) is F.RIGHT
    assert weigh(case, Reply(how="raised", data=["ValueError", "Exception"])) is F.RAISED
    assert weigh(case, reply(4)) is F.SILENT
    assert weigh(ValueCase(call="m:f", expect="4"), Reply(how="raised", data=["KeyError"])) is F.RAISED


BROKEN: list[Any] = [
    None, {"i": 1}, [], ["i"], ["i", "zz"], ["f", "1.5e"], ["d", "a"], ["s", ["l"]], ["D", "x"], ["F", "0x1", "0x0"],
    ["b", "zz"], 4, [["l"]], ["c", "1"],
]  # fmt: skip


def test_what_no_packer_wrote_is_never_right_and_never_an_error() -> None:
    case = ValueCase(call="m:f", expect="4")
    for how in ("value", "raised", "missing", "other", ""):
        assert all(weigh(case, Reply(how=how, data=data)) is not F.RIGHT for data in BROKEN)
    assert weigh(case, None) is F.MISSING


def nest(wrap: Callable[[Any], Any], depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = wrap(value)
    return value


def test_what_is_too_deep_or_too_large_is_not_the_value_that_is_expected() -> None:
    for value in (nest(lambda inner: [inner], 200), list(range(300_000))):
        assert find(Compare.EQUAL, 4, value) is F.TYPE
        assert find(Compare.STRICT, 4, value) is F.TYPE
        assert weigh(ValueCase(call="m:f", compare=Compare.TRUE), reply(value)) is F.UNKNOWN
        assert not plainly(reply(value))
    assert plainly(reply([1, {"a": (2,)}]))
