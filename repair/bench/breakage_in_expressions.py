"""Faults of expressions: a wrong operator, bound, constant, index, variable, argument, condition, method or name."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

Named = tuple[str, ast.expr]

_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Div, ast.Mod)
_BOUNDARY: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
}  # fmt: skip
_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.Gt, ast.GtE), ast.LtE: (ast.GtE, ast.Gt), ast.Gt: (ast.Lt, ast.LtE), ast.GtE: (ast.LtE, ast.Lt),
    ast.Eq: (ast.NotEq, ast.LtE), ast.NotEq: (ast.Eq, ast.Gt), ast.In: (ast.NotIn,), ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,),
}  # fmt: skip
_METHODS = (
    ("append", "extend"), ("append", "remove"), ("strip", "lstrip", "rstrip"), ("upper", "lower"), ("keys", "values"),
    ("items", "keys"), ("startswith", "endswith"), ("partition", "rpartition"), ("ljust", "rjust"), ("add", "discard"),
    ("get", "pop"), ("capitalize", "title"), ("isdigit", "isalpha"), ("union", "intersection"), ("index", "count"),
    ("isupper", "islower"), ("split", "splitlines"),
)  # fmt: skip


def broken(node: ast.expr, names: Sequence[str]) -> Iterator[Named]:
    """What may stand wrongly in place of an expression, by kind; `names` are the variables around it."""
    yield from _operators(node)
    yield from _comparisons(node)
    yield from _constants(node)
    yield from _bounds(node)
    yield from _variables(node, names)
    yield from _arguments(node)
    yield from _conditions(node)
    yield from _missing(node)
    yield from _words(node)


def _operators(node: ast.expr) -> Iterator[Named]:
    match node:
        case ast.BinOp(op=op) if isinstance(op, _ARITHMETIC):
            for other in _ARITHMETIC:
                if not isinstance(op, other):
                    yield "operator", _with(node, op=other())
        case ast.BoolOp(op=op):
            yield "operator", _with(node, op=ast.Or() if isinstance(op, ast.And) else ast.And())
            for value in node.values:
                yield "clause missing", _without(node, value)
        case ast.UnaryOp(op=ast.USub(), operand=ast.expr() as operand):
            yield "operator", operand


def _comparisons(node: ast.expr) -> Iterator[Named]:
    if isinstance(node, ast.Compare):
        for at, op in enumerate(node.ops):
            if other := _BOUNDARY.get(type(op)):
                yield "boundary", _with(node, ops=_put(node.ops, at, other()))
            for other in _COMPARISONS[type(op)]:
                yield "comparison", _with(node, ops=_put(node.ops, at, other()))


def _constants(node: ast.expr) -> Iterator[Named]:
    match node:
        case ast.Constant(value=bool() as value):
            yield "constant", ast.Constant(value=not value)
        case ast.Constant(value=int() | float() as number):
            for other in sorted({number + 1, number - 1, number * 10, 0} - {number}):
                yield "constant", ast.Constant(value=other)
        case ast.Constant(value=str() as text):
            for word in sorted({"", text + " ", text.upper(), text.strip()} - {text}):
                yield "constant", ast.Constant(value=word)


def _bounds(node: ast.expr) -> Iterator[Named]:
    """One too many or too few in an index, a slice, a range."""
    match node:
        case ast.Subscript(slice=ast.Slice() as part):
            for end in ("lower", "upper"):
                if value := getattr(part, end):
                    for moved in _moved(value):
                        yield "off by one", _with(node, slice=_with(part, **{end: moved}))
        case ast.Subscript(slice=ast.expr() as index) if not isinstance(index, ast.Constant | ast.Tuple):
            for moved in _moved(index):
                yield "off by one", _with(node, slice=moved)
        case ast.Call(func=ast.Name(id="range"), args=arguments):
            for at, argument in enumerate(arguments):
                for moved in _moved(argument):
                    yield "off by one", _with(node, args=_put(arguments, at, moved))


def _moved(value: ast.expr) -> Iterator[ast.expr]:
    """A value less one and one more; `n - 1` loses its one."""
    match value:
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=ast.Constant(value=1)):
            yield left
        case ast.Constant(value=int() as number):
            yield from (ast.Constant(value=number + 1), ast.Constant(value=number - 1))
        case _:
            yield ast.BinOp(left=value, op=ast.Add(), right=ast.Constant(value=1))
            yield ast.BinOp(left=value, op=ast.Sub(), right=ast.Constant(value=1))


def _variables(node: ast.expr, names: Sequence[str]) -> Iterator[Named]:
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in names:
        for name in names:
            if name != node.id:
                yield "wrong variable", ast.Name(id=name, ctx=ast.Load())


def _arguments(node: ast.expr) -> Iterator[Named]:
    if isinstance(node, ast.Call) and len(node.args) > 1:
        for at in range(len(node.args) - 1):
            arguments = [*node.args[:at], node.args[at + 1], node.args[at], *node.args[at + 2 :]]
            yield "arguments swapped", _with(node, args=arguments)
    if isinstance(node, ast.Call) and node.args and node.keywords:
        yield "argument missing", _with(node, keywords=node.keywords[:-1])


def _conditions(node: ast.expr) -> Iterator[Named]:
    if isinstance(node, ast.IfExp):
        yield "condition negated", _with(node, body=node.orelse, orelse=node.body)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "condition negated", node.operand
    if isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
        for at, part in enumerate(node.generators):
            for index, test in enumerate(part.ifs):
                less = _with(part, ifs=[*part.ifs[:index], *part.ifs[index + 1 :]])
                yield "clause missing", _with(node, generators=_put(node.generators, at, less))
                turned = _with(part, ifs=_put(part.ifs, index, ast.UnaryOp(op=ast.Not(), operand=test)))
                yield "condition negated", _with(node, generators=_put(node.generators, at, turned))


def _missing(node: ast.expr) -> Iterator[Named]:
    """A call, an await or a yield that is forgotten."""
    match node:
        case ast.Call(func=ast.Name(), args=[argument], keywords=[]) if not isinstance(argument, ast.Starred):
            yield "call missing", argument
        case ast.Call(func=ast.Attribute(value=inner, attr="copy" | "strip" | "lower" | "split" | "rstrip")):
            yield "call missing", inner
        case ast.Await(value=inner):
            yield "await missing", inner
        case ast.YieldFrom(value=inner):
            yield "yield missing", ast.Yield(value=inner)
            yield "yield missing", inner
        case ast.Yield(value=ast.expr() as inner):
            yield "yield missing", inner


def _words(node: ast.expr) -> Iterator[Named]:
    """Another method of the same object, and misspelt words."""
    match node:
        case ast.Attribute(attr=name):
            for group in _METHODS:
                if name in group:
                    for other in group:
                        if other != name:
                            yield "wrong method", _with(node, attr=other)
            if isinstance(node.ctx, ast.Load):
                yield from (("misspelt", _with(node, attr=word)) for word in _slips(name))
        case ast.Name(id=name, ctx=ast.Load()):
            yield from (("misspelt", _with(node, id=word)) for word in _slips(name))


def _slips(word: str) -> Iterator[str]:
    """A letter left out, two letters turned round."""
    if len(word) > 3:
        yield word[:2] + word[3:]
        yield word[0] + word[2] + word[1] + word[3:]


N = TypeVar("N", bound=ast.AST)
T = TypeVar("T")


def _with(node: N, **fields: object) -> N:
    values = {name: getattr(node, name) for name in node._fields}
    make: Callable[..., N] = type(node)
    return make(**{**values, **fields})


def _put(items: Sequence[T], at: int, new: T) -> list[T]:
    return [*items[:at], new, *items[at + 1 :]]


def _without(node: ast.BoolOp, value: ast.expr) -> ast.expr:
    left = [one for one in node.values if one is not value]
    return left[0] if len(left) == 1 else _with(node, values=left)
