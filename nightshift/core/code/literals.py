"""Converts Python values to text and back, without ever running that text.

Supported are numbers, texts, bytes, booleans, None, lists, tuples, dicts and sets, and a few operators on constants
(`10**6`, `[0] * 5`, `-1`, `1 + 2j`). `set()`, `frozenset(…)` and `float("nan")` are supported too, because these values
have no literal. Sizes are limited. Without limits, a short text could fill the memory. It could also become a value
that is small in memory but contains the same list so many times that walking through it takes forever.
"""

from __future__ import annotations

import ast
import cmath
import math
import operator
from collections.abc import Callable
from typing import Any

from nightshift.core.code.parsing import parse_expression

MAX_TEXT = 200_000
MAX_ITEMS = 100_000
"""Maximum number of items that a single multiplication may make.

All multiplications of one literal together may make up to `MAX_TEXT` items and characters.
"""
MAX_BITS = 50_000

_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow,
}  # fmt: skip
_CALLS: dict[str, Callable[..., Any]] = {"set": set, "frozenset": frozenset, "float": float}
_NUMBERS = (int, float, complex)


class SizeLimit:
    """A limit on the items and characters that may still be made; `fault` is the message when it is exceeded.

    Each use of this limit also counts against the outer limit `within`, if there is one.
    """

    def __init__(self, most: int, fault: str, within: SizeLimit | None = None) -> None:
        self._left, self._fault, self._within = most, fault, within

    def take(self, count: int) -> None:
        """Use up `count` items or characters; raise ValueError if the limit is exceeded."""
        self._left -= count
        if self._within:
            self._within.take(count)
        if self._left < 0:
            raise ValueError(self._fault)


def read(text: str, within: SizeLimit | None = None) -> Any:
    """Return the value of a literal. Reading it uses up part of the limit `within`.

    Raises:
        ValueError: The text is not a literal, or it is too large.
    """
    if len(text) > MAX_TEXT:
        raise ValueError(f"longer than {MAX_TEXT} characters")
    if within:
        within.take(len(text))
    try:
        return value_of(parse_expression(text.strip()), within)
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError(f"is not a Python literal ({type(error).__name__})") from None


def write(value: object, within: SizeLimit | None = None) -> str:
    """Return the text that `read` turns back into the same value. Its length is counted against the limit `within`.

    Raises:
        ValueError: The value cannot be written as a literal.
    """
    too_long = f"longer than {MAX_TEXT} characters"
    text = _text(value, SizeLimit(MAX_TEXT, too_long, within))
    if len(text) > MAX_TEXT:
        raise ValueError(too_long)
    return text


def value_of(node: ast.expr, within: SizeLimit | None = None) -> Any:
    """Return the value of an expression that consists only of literals.

    Raises:
        ValueError: The expression contains something else.
    """
    try:
        return _value(node, SizeLimit(MAX_TEXT, "the sequences are too long", within))
    except (TypeError, ArithmeticError, RecursionError, MemoryError) as error:
        raise ValueError(f"has no value ({type(error).__name__})") from None


def _value(node: ast.expr, limit: SizeLimit) -> Any:
    match node:
        case ast.Constant(value=value) if value is not ...:
            return value
        case ast.List(elts=items):
            return [_value(item, limit) for item in items]
        case ast.Tuple(elts=items):
            return tuple(_value(item, limit) for item in items)
        case ast.Set(elts=items):
            return {_value(item, limit) for item in items}
        case ast.Dict(keys=keys, values=values) if None not in keys:
            pairs = ((key, item) for key, item in zip(keys, values, strict=True) if key is not None)
            return {_value(key, limit): _value(item, limit) for key, item in pairs}
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() | ast.Not(), operand=operand):
            return _sign(node.op, _value(operand, limit))
        case ast.BinOp(left=left, op=operator_, right=right) if type(operator_) in _OPERATORS:
            return _operate(operator_, _value(left, limit), _value(right, limit), limit)
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in _CALLS and len(arguments) < 2:
            return _call(name, [_value(argument, limit) for argument in arguments])
    raise ValueError(f"is not a literal: {ast.unparse(node)[:80]}")


def _sign(sign: ast.unaryop, value: Any) -> Any:
    if isinstance(sign, ast.Not):
        return not value
    if not isinstance(value, _NUMBERS):
        raise ValueError("only numbers have a sign")
    return -value if isinstance(sign, ast.USub) else +value


def _operate(sign: ast.operator, left: Any, right: Any, limit: SizeLimit) -> Any:
    numbers = isinstance(left, _NUMBERS) and isinstance(right, _NUMBERS)
    if isinstance(sign, ast.Pow):
        small = numbers and abs(right) <= MAX_BITS and _bits(left) * abs(right) <= MAX_BITS
        if not small:
            raise ValueError("the power is too large")
    elif isinstance(sign, ast.Mult) and numbers:
        if _bits(left) + _bits(right) > 2 * MAX_BITS:
            raise ValueError("the product is too large")
    elif isinstance(sign, ast.Mult):
        times, items = (left, right) if isinstance(left, int) else (right, left)
        _check_repetition(times, items, limit)
    elif not numbers and (not isinstance(sign, ast.Add) or type(left) is not type(right)):
        raise ValueError("arithmetic works only with numbers")
    return _OPERATORS[type(sign)](left, right)


def _check_repetition(times: Any, items: Any, limit: SizeLimit) -> None:
    if not isinstance(times, int) or not isinstance(items, str | bytes | list | tuple):
        raise ValueError("cannot be multiplied")
    if times * len(items) > MAX_ITEMS:
        raise ValueError("the sequence is too long")
    # The multiplication only copies references, but code that walks through the value visits each item every time.
    limit.take(max(1, times) * _weight(items))


def _weight(value: Any) -> int:
    """Return the number of items and characters in a value, including nested items."""
    if isinstance(value, str | bytes):
        return len(value)
    if isinstance(value, dict):
        return sum(_weight(key) + _weight(item) for key, item in value.items())
    return 1 + sum(map(_weight, value)) if isinstance(value, list | tuple | set | frozenset) else 1


def _bits(value: complex) -> int:
    return value.bit_length() if isinstance(value, int) else 64


def _call(name: str, arguments: list[Any]) -> Any:
    if name == "float" and not (arguments and isinstance(arguments[0], str | int | float)):
        raise ValueError("float takes a text or a number")
    return _CALLS[name](*arguments)


def _text(value: object, limit: SizeLimit) -> str:
    kind = type(value)
    if kind is list or kind is tuple or kind is set or kind is frozenset:
        return _sequence(value, limit)
    if kind is dict:
        assert isinstance(value, dict)
        limit.take(2)
        return "{" + ", ".join(f"{_text(key, limit)}: {_text(item, limit)}" for key, item in value.items()) + "}"
    if kind is int:
        assert isinstance(value, int)
        text = repr(value) if value.bit_length() < 10_000 else hex(value)  # Python limits the length of decimal output
    elif kind is float and isinstance(value, float):
        text = repr(value) if math.isfinite(value) else f"float('{value}')"
    else:
        text = _constant(value)
    limit.take(len(text))
    return text


def _constant(value: object) -> str:
    finite = type(value) is complex and cmath.isfinite(value)
    if value is None or type(value) in (bool, str, bytes) or finite:
        return repr(value)
    raise ValueError(f"a {type(value).__name__} cannot be written as a literal")


def _sequence(value: Any, limit: SizeLimit) -> str:
    limit.take(2)
    items = [_text(item, limit) for item in (value if isinstance(value, list | tuple) else sorted(value, key=repr))]
    inside = ", ".join(items)
    match value:
        case list():
            return f"[{inside}]"
        case tuple():
            return f"({inside},)" if len(items) == 1 else f"({inside})"
        case set():
            return "{" + inside + "}" if items else "set()"
    return "frozenset({" + inside + "})" if items else "frozenset()"
