"""Faults of statements: one deleted, moved, swapped, turned round; a guard, a return or an import that is missing."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator

from repair.tree import Place, at

Named = tuple[str, int, list[ast.stmt]]

_SIMPLE = (ast.Assign, ast.AugAssign, ast.Expr, ast.Raise, ast.Delete, ast.Continue, ast.Break)
_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_BLOCKS = (ast.For, ast.While, ast.If, ast.With, ast.AsyncFor)


def broken(tree: ast.Module, place: Place) -> Iterator[Named]:
    """What may stand wrongly from a statement on: the kind, how many statements it takes the place of, and which."""
    node, inside = at(tree, place), len(place) > 1
    assert isinstance(node, ast.stmt)
    following = _following(tree, place)
    yield from _deleted(node)
    yield from _returns(node, inside=inside)
    yield from _values(node)
    yield from _conditions(node)
    yield from _moved(node, following)


def _following(tree: ast.Module, place: Place) -> ast.stmt | None:
    *way, (name, index) = place
    assert index is not None
    body = getattr(at(tree, tuple(way)), name)
    return body[index + 1] if index + 1 < len(body) else None


def _deleted(node: ast.stmt) -> Iterator[Named]:
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield "import deleted", 1, []
    elif isinstance(node, ast.If) and not node.orelse and isinstance(node.body[-1], _LEAVES):
        yield "guard deleted", 1, []
        if not isinstance(node.body[-1], ast.Raise):
            yield "guard deleted", 1, node.body[:-1] or [ast.Pass()]
    elif isinstance(node, _SIMPLE):
        yield "statement deleted", 1, []


def _returns(node: ast.stmt, *, inside: bool) -> Iterator[Named]:
    if isinstance(node, ast.Return) and node.value is not None and inside:
        yield "return removed", 1, [ast.Expr(value=node.value)]
        yield "return lost", 1, [ast.Return(value=None)]
        match node.value:
            case ast.Tuple(elts=[first, second]):
                yield "return changed", 1, [ast.Return(value=ast.Tuple(elts=[second, first], ctx=ast.Load()))]
            case ast.Compare() | ast.BoolOp():
                turned = ast.UnaryOp(op=ast.Not(), operand=node.value)
                yield "return changed", 1, [ast.Return(value=turned)]


def _values(node: ast.stmt) -> Iterator[Named]:
    """A variable that begins with a wrong value."""
    match node:
        case ast.Assign(value=ast.Constant(value=value)):
            others: tuple[bool | int | str | None, ...] = (
                (not value,) if isinstance(value, bool) else (0, 1, -1, None, "")
            )
            for other in others:
                if other != value or other is None is not value:
                    yield "initial value", 1, [_assigned(node, ast.Constant(value=other))]
        case ast.Assign(value=ast.List(elts=[]) | ast.Dict(keys=[])):
            yield "initial value", 1, [_assigned(node, ast.Constant(value=None))]
        case ast.Assign(value=ast.Subscript(value=whole)):
            yield "initial value", 1, [_assigned(node, whole)]
        case ast.AugAssign(op=ast.Add()):
            yield "operator", 1, [ast.AugAssign(target=node.target, op=ast.Sub(), value=node.value)]
        case ast.AugAssign(op=ast.Sub()):
            yield "operator", 1, [ast.AugAssign(target=node.target, op=ast.Add(), value=node.value)]
    if isinstance(node, ast.AugAssign):
        target = copy.copy(node.target)
        yield "operator", 1, [ast.Assign(targets=[target], value=node.value, lineno=node.lineno)]


def _assigned(node: ast.Assign, value: ast.expr) -> ast.stmt:
    return ast.Assign(targets=node.targets, value=value, lineno=node.lineno)


def _conditions(node: ast.stmt) -> Iterator[Named]:
    if isinstance(node, ast.If):
        turned = ast.UnaryOp(op=ast.Not(), operand=node.test)
        yield "condition negated", 1, [ast.If(test=turned, body=node.body, orelse=node.orelse)]
        yield "condition missing", 1, list(node.body)
        if len(node.orelse) == 1 and isinstance(inner := node.orelse[0], ast.If):
            yield "else lost", 1, [ast.If(test=node.test, body=node.body, orelse=[]), inner]


def _moved(node: ast.stmt, following: ast.stmt | None) -> Iterator[Named]:
    """Two statements in the wrong order, one that slipped into or out of the block before it."""
    if isinstance(node, _SIMPLE) and isinstance(following, _SIMPLE):
        yield "statements swapped", 2, [following, node]
    if isinstance(node, _BLOCKS) and len(node.body) > 1 and isinstance(node.body[-1], _SIMPLE):
        less = copy.copy(node)
        less.body = node.body[:-1]
        yield "statement moved", 1, [less, node.body[-1]]
    if isinstance(node, _BLOCKS) and isinstance(following, ast.Return | ast.Assign | ast.AugAssign | ast.Expr):
        more = copy.copy(node)
        more.body = [*node.body, following]
        yield "statement moved", 2, [more]
