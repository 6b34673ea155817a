"""Compares the result of a call with the expected one, outside of the sandbox.

The result is data that the tested code produced. It is unpacked into plain values before the comparison, so an object
that only claims to be equal to something proves nothing. If a plain value is expected, an object is a wrong answer. An
instance of a class derived from a plain type counts by its content, whatever its own comparison says. If a test only
checks the truth of a result, an object cannot be judged, and the case does not count.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any

from nightshift.core.code import literals
from nightshift.core.tasks.held_out import Compare, ValueCase
from nightshift.sandbox.inside import values
from nightshift.verdict.answer import Reply

_NUMBERS = (int, float, complex)
_REL, _ABS = 1e-6, 1e-12
"""The default tolerances of `pytest.approx`."""


class Finding(StrEnum):
    """The judgement of a call's result. The model reads these texts, so they reveal nothing more than the judgement."""

    RIGHT = "right"
    UNKNOWN = "cannot be judged by value"
    VALUE = "gives a wrong value"
    TYPE = "gives a value of the wrong type"
    RAISED = "raises an exception"
    SILENT = "does not raise the exception it must raise"
    MISSING = "cannot be called"


def weigh(case: ValueCase, reply: Reply | None) -> Finding:
    """Judge the reply to one case; the reply is None if there was none."""
    if reply is None or reply.how not in {"value", "raised"}:
        return Finding.MISSING
    if reply.how == "raised":
        names = set(map(str, reply.data)) if isinstance(reply.data, list) else set[str]()
        return Finding.RIGHT if names & set(case.raises) else Finding.RAISED
    if case.compare is Compare.RAISES:
        return Finding.SILENT
    seen: list[tuple[str, str]] = []
    try:
        value = values.unpack(reply.data, seen)
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError):
        return Finding.VALUE
    return _weigh_value(case, value, seen)


def plainly(reply: Reply | None) -> bool:
    """Check whether a call returned plain data at every depth: no objects, and no instances of derived classes."""
    seen: list[tuple[str, str]] = []
    try:
        values.unpack(reply.data if reply and reply.how == "value" else [], seen)
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError):
        return False
    return not seen


def _weigh_value(case: ValueCase, value: Any, seen: list[tuple[str, str]]) -> Finding:
    expected = None if case.expect is None else literals.read(case.expect)
    strict = case.compare is Compare.STRICT
    if any(tag == "o" for tag, _ in seen):
        return Finding.UNKNOWN if case.compare in _BY_TRUTH else Finding.TYPE
    if strict and seen:
        return Finding.TYPE
    if _fits(case, value, expected):
        return Finding.RIGHT
    return Finding.VALUE if type(value) is type(expected) or case.compare in _BY_TRUTH else Finding.TYPE


def _fits(case: ValueCase, value: Any, expected: Any) -> bool:
    try:
        return _COMPARISONS[case.compare](case, value, expected)
    except (TypeError, ValueError, ArithmeticError, RecursionError):
        return False


def _strict(case: ValueCase, value: Any, expected: Any) -> bool:
    if case.rel is not None or case.abs is not None:
        return _near(value, expected, case.rel or 0.0, case.abs or 0.0, alike=True)
    return bool(_key(value) == _key(expected))


def _key(value: Any) -> Any:
    """Return a hashable key for a value.

    Two keys are equal only if the values are equal and have equal types at every depth.
    """
    kind = type(value)
    if kind in (list, tuple):
        return (kind, tuple(_key(item) for item in value))
    if kind in (set, frozenset):
        return (kind, frozenset(_key(item) for item in value))
    if kind is dict:
        return (kind, frozenset((_key(key), _key(item)) for key, item in value.items()))
    return (kind, "nan" if value != value else value)  # noqa: PLR0124 (only not-a-number differs from itself)


def _near(value: Any, expected: Any, rel: float, slack: float, *, alike: bool) -> bool:
    """Compare values at any depth, with a tolerance for numbers; `alike` requires equal types as well."""
    if alike and type(value) is not type(expected):
        return False
    if isinstance(expected, Mapping):
        if not isinstance(value, Mapping) or value.keys() != expected.keys():
            return False
        return all(_near(value[key], item, rel, slack, alike=alike) for key, item in expected.items())
    if isinstance(expected, list | tuple):
        same = isinstance(value, list | tuple) and len(value) == len(expected)
        return same and all(_near(*pair, rel, slack, alike=alike) for pair in zip(value, expected, strict=True))
    if isinstance(expected, bool) or not isinstance(expected, _NUMBERS) or isinstance(value, bool):
        return bool(value == expected)
    both_nan = value != value and expected != expected  # noqa: PLR0124 (only not-a-number differs from itself)
    if both_nan or value == expected or not math.isfinite(abs(expected)):
        return bool(both_nan or value == expected)
    return bool(abs(value - expected) <= max(rel * abs(expected), slack))


def _approx(case: ValueCase, value: Any, expected: Any) -> bool:
    rel = case.rel if case.rel is not None else 0.0 if case.abs is not None else _REL
    return _near(value, expected, rel, case.abs if case.abs is not None else _ABS, alike=False)


def _within(case: ValueCase, value: Any, expected: Any) -> bool:
    return bool(abs(value - expected) <= (case.abs or 0.0))


_BY_TRUTH = frozenset({Compare.TRUE, Compare.FALSE})
_COMPARISONS: Mapping[Compare, Callable[[ValueCase, Any, Any], bool]] = {
    Compare.STRICT: _strict,
    Compare.EQUAL: lambda _case, value, expected: bool(value == expected),
    Compare.SAME: lambda _case, value, expected: type(value) is type(expected) and bool(value == expected),
    Compare.NEAR: _approx,
    Compare.WITHIN: _within,
    Compare.TRUE: lambda _case, value, _expected: bool(value),
    Compare.FALSE: lambda _case, value, _expected: not value,
    Compare.RAISES: lambda _case, _value, _expected: False,
}
