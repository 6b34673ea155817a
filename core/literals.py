"""Python values as text and back, without ever running that text.

What can be written: numbers, texts, bytes, booleans, None, lists, tuples, dicts, sets and what a few constant
operators make of these (`10**6`, `[0] * 5`, `-1`, `1 + 2j`), and `set()`, `frozenset(…)` and `float("nan")`, which have
no literal of their own. Sizes are bounded, so that a short text cannot become a value that fills the memory.
"""

from __future__ import annotations

import ast
import cmath
import math
import operator
from collections.abc import Callable
from typing import Any

from core.parsing import parse_expression

MAX_TEXT = 200_000
MAX_ITEMS = 100_000
MAX_BITS = 50_000

_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow,
}  # fmt: skip
_CALLS: dict[str, Callable[..., Any]] = {"set": set, "frozenset": frozenset, "float": float}
_NUMBERS = (int, float, complex)


def read(text: str) -> Any:
    """The value that a text writes down.

    Raises:
        ValueError: it is no literal, or too large.
    """
    if len(text) > MAX_TEXT:
        raise ValueError(f"longer than {MAX_TEXT} characters")
    try:
        return value_of(parse_expression(text.strip()))
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError(f"is no Python literal ({type(error).__name__})") from None


def write(value: object) -> str:
    """The text from which `read` makes the same value again.

    Raises:
        ValueError: the value is not one of those that can be written.
    """
    text = _text(value)
    if len(text) > MAX_TEXT:
        raise ValueError(f"longer than {MAX_TEXT} characters")
    return text


def value_of(node: ast.expr) -> Any:
    """The value of an expression that is made of literals alone.

    Raises:
        ValueError: it is not.
    """
    try:
        return _value(node)
    except (TypeError, ArithmeticError, RecursionError, MemoryError) as error:
        raise ValueError(f"has no value ({type(error).__name__})") from None


def _value(node: ast.expr) -> Any:
    match node:
        case ast.Constant(value=value) if value is not ...:
            return value
        case ast.List(elts=items):
            return [_value(item) for item in items]
        case ast.Tuple(elts=items):
            return tuple(_value(item) for item in items)
        case ast.Set(elts=items):
            return {_value(item) for item in items}
        case ast.Dict(keys=keys, values=values) if None not in keys:
            return {_value(key): _value(value) for key, value in zip(keys, values, strict=True) if key is not None}
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() | ast.Not(), operand=operand):
            return _signed(node.op, _value(operand))
        case ast.BinOp(left=left, op=operator_, right=right) if type(operator_) in _OPERATORS:
            return _operated(operator_, _value(left), _value(right))
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in _CALLS and len(arguments) < 2:
            return _called(name, [_value(argument) for argument in arguments])
    raise ValueError(f"is no literal: {ast.unparse(node)[:80]}")


def _signed(sign: ast.unaryop, value: Any) -> Any:
    if isinstance(sign, ast.Not):
        return not value
    if not isinstance(value, _NUMBERS):
        raise ValueError("only numbers have a sign")
    return -value if isinstance(sign, ast.USub) else +value


def _operated(sign: ast.operator, left: Any, right: Any) -> Any:
    numbers = isinstance(left, _NUMBERS) and isinstance(right, _NUMBERS)
    if isinstance(sign, ast.Pow):
        small = numbers and abs(right) <= MAX_BITS and _bits(left) * abs(right) <= MAX_BITS
        if not small:
            raise ValueError("the power is too large")
    elif isinstance(sign, ast.Mult) and not numbers:
        times, items = (left, right) if isinstance(left, int) else (right, left)
        if not isinstance(times, int) or not isinstance(items, str | bytes | list | tuple):
            raise ValueError("cannot be multiplied")
        if times * len(items) > MAX_ITEMS:
            raise ValueError("the sequence is too long")
    elif not numbers and (not isinstance(sign, ast.Add) or type(left) is not type(right)):
        raise ValueError("only numbers can be reckoned with")
    return _OPERATORS[type(sign)](left, right)


def _bits(value: complex) -> int:
    return value.bit_length() if isinstance(value, int) else 64


def _called(name: str, arguments: list[Any]) -> Any:
    if name == "float" and not (arguments and isinstance(arguments[0], str | int | float)):
        raise ValueError("float takes a text or a number")
    return _CALLS[name](*arguments)


def _text(value: object) -> str:
    kind = type(value)
    if kind is list or kind is tuple or kind is set or kind is frozenset:
        return _sequence(value)
    if kind is dict:
        assert isinstance(value, dict)
        return "{" + ", ".join(f"{_text(key)}: {_text(item)}" for key, item in value.items()) + "}"
    if kind is float:
        assert isinstance(value, float)
        return repr(value) if math.isfinite(value) else f"float('{value}')"
    if kind is int:
        assert isinstance(value, int)
        return repr(value) if value.bit_length() < 10_000 else hex(value)  # printing in decimal has a limit
    finite = kind is complex and isinstance(value, complex) and cmath.isfinite(value)
    if value is None or kind in (bool, str, bytes) or finite:
        return repr(value)
    raise ValueError(f"a {kind.__name__} cannot be written as a literal")


def _sequence(value: Any) -> str:
    items = [_text(item) for item in (value if isinstance(value, list | tuple) else sorted(value, key=repr))]
    inside = ", ".join(items)
    match value:
        case list():
            return f"[{inside}]"
        case tuple():
            return f"({inside},)" if len(items) == 1 else f"({inside})"
        case set():
            return "{" + inside + "}" if items else "set()"
    return "frozenset({" + inside + "})" if items else "frozenset()"
