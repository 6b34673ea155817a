from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightshift.sandbox.inside.close_values import close
from nightshift.sandbox.source import Source
from nightshift.verdict.languages.python.checks import Check, Perturber, Rank, beyond

LEAVES = (
    st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5) | st.binary(max_size=5) | st.none()
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(VALUES, st.randoms(use_true_random=False))
def test_a_changed_value_differs_and_keeps_its_shape(value: Any, chance: random.Random) -> None:
    other = close(value, chance)
    assert other != value
    assert repr(other) != repr(value)
    if value is not None:
        assert type(other) is type(value)
    if isinstance(value, list | tuple | dict) and value:
        assert len(other) == len(value)


@given(st.integers(-(10**30), 10**30) | st.floats(allow_nan=False), st.randoms(use_true_random=False))
def test_a_value_beyond_a_tolerance_is_not_approximately_the_other(value: float, chance: random.Random) -> None:
    assert beyond(value, chance) != pytest.approx(value, rel=0.5)


def check_of(text: str) -> tuple[Source, Check | None]:
    source = Source(text)
    return source, Perturber(source, "helper", random.Random(1)).check(source.tree.body[0])


@pytest.mark.parametrize(
    ("text", "rank", "values"),
    [
        ("assert 5 == f(1), 'why'", Rank.LITERAL, {"f": lambda n: 5}),
        ("assert f(1) == [1, {'a': (2.5, None)}]", Rank.LITERAL, {"f": lambda n: [1, {"a": (2.5, None)}]}),
        ("assert f(1) == ('a'\n 'b')", Rank.LITERAL, {"f": lambda n: "ab"}),
        ("assert f(1) == ''", Rank.EMPTY, {"f": lambda n: ""}), ("assert not f(1)", Rank.NEGATED, {"f": lambda n: 0}),
        ("assert f(1) is True", Rank.LITERAL, {"f": bool}), ("assert f(1) != 3", Rank.TURNED, {"f": lambda n: 2}),
        ("assert f(1) and f(2) == 5", Rank.LITERAL, {"f": lambda n: 5}),
        ("assert 'a' in f(1)", Rank.TURNED, {"f": lambda n: "abc"}),
        ("assert f(1) is None", Rank.TURNED, {"f": lambda n: None}),
        ("assert f(1) == 5 or f(1) == 6", Rank.NEGATED, {"f": lambda n: 5}),
    ],
)  # fmt: skip
def test_a_changed_assertion_fails_where_the_original_passes(text: str, rank: Rank, values: dict[str, Any]) -> None:
    source, check = check_of(text)
    assert check is not None
    assert check.rank is rank
    exec(compile(text, "original", "exec"), dict(values))
    with pytest.raises(AssertionError):
        exec(compile(source.edit([check.edit]), "copy", "exec"), dict(values))


def test_a_comparison_of_two_values_is_left_to_the_run() -> None:
    source, check = check_of("assert f(1) == expected")
    assert check is not None
    assert check.rank is Rank.VALUE
    assert source.edit([check.edit]) == "assert helper.differ((f(1)), (expected))"


def test_approx_is_followed_to_its_value() -> None:
    source, check = check_of("assert f(1) == pytest.approx(2.5, abs=0.1)")
    assert check is not None
    assert check.rank is Rank.LITERAL
    assert source.edit([check.edit]).endswith(", abs=0.1)")
    assert "2.5" not in source.edit([check.edit])


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("self.assertEqual(f(1), x)", "self.assertNotEqual(f(1), x)"),
        ("self.assertTrue(f(1), 'why')", "self.assertFalse(f(1), 'why')"),
        ("self.assertGreaterEqual(a, b)", "self.assertLess(a, b)"),
    ],
)
def test_the_methods_of_unittest_are_turned_round(text: str, other: str) -> None:
    source, check = check_of(text)
    assert check is not None
    assert source.edit([check.edit]) == other
    assert check.marked is not None
    assert "helper.reached(" in source.edit([check.marked])


@pytest.mark.parametrize("text", ["assert True", "f(1)", "x = 1", "self.assertRaises(ValueError, f)", "self.helper(1)"])
def test_what_checks_nothing_that_can_be_changed_is_no_check(text: str) -> None:
    assert check_of(text)[1] is None
