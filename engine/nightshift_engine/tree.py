"""Immutable syntax trees: an edit returns a new tree that shares all nodes except those on the path to the new node.

A place is the path from the module to a node, one (field, index) per step; the index is None if the field holds a
single node. An old tree costs little memory, so edits can be stacked and undone.

Scopes are the outermost functions of a file, and the rest of the file without them.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

Place = tuple[tuple[str, int | None], ...]

Function = ast.FunctionDef | ast.AsyncFunctionDef


def at(tree: ast.AST, position: Place) -> ast.AST:
    """Return the node at a place."""
    node: Any = tree
    for field, index in position:
        node = getattr(node, field) if index is None else getattr(node, field)[index]
    target: ast.AST = node
    return target


def replace(tree: ast.AST, position: Place, new: ast.AST) -> Any:
    """Return the tree with the node at a place replaced."""
    if not position:
        return new
    (field, index), rest = position[0], position[1:]
    child = getattr(tree, field) if index is None else getattr(tree, field)[index]
    return _with(tree, field, index, replace(child, rest, new))


def splice(tree: ast.AST, position: Place, count: int, new: Sequence[ast.stmt]) -> Any:
    """Return the tree with `count` statements from a place on replaced by `new`; a count of 0 inserts before the place.

    The last index of the place may be the length of its list. An emptied body gets a `pass`.
    """
    *way, (field, index) = position
    assert index is not None, "a statement stands in a list"
    holder = at(tree, tuple(way))
    body = list(getattr(holder, field))
    body[index : index + count] = new
    if not body and field == "body":
        body = [ast.Pass()]
    return replace(tree, tuple(way), _shallow(holder, field, body))


def places(tree: ast.AST, start: Place = ()) -> Iterator[tuple[Place, ast.AST]]:
    """Yield all nodes at and below a place with their places, outer ones first, in the order of the text."""
    yield from _below(at(tree, start), start)


def _below(node: ast.AST, position: Place) -> Iterator[tuple[Place, ast.AST]]:
    yield position, node
    for field, value in ast.iter_fields(node):
        if isinstance(value, ast.AST):
            yield from _below(value, (*position, (field, None)))
        elif isinstance(value, list):
            for index, item in enumerate(value):
                if isinstance(item, ast.AST):
                    yield from _below(item, (*position, (field, index)))


def _with(node: ast.AST, field: str, index: int | None, new: Any) -> ast.AST:
    if index is None:
        return _shallow(node, field, new)
    items = list(getattr(node, field))
    items[index] = new
    return _shallow(node, field, items)


def _shallow(node: ast.AST, field: str, value: Any) -> ast.AST:
    clone = copy.copy(node)
    setattr(clone, field, value)
    return clone


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """An outermost function, or the rest of the file.

    `position` and `name` are empty for the rest. `statements` are all statements of the scope at any depth. The rest
    includes the heads of functions, because decorators and defaults are evaluated there.
    """

    name: str
    position: Place
    statements: tuple[ast.stmt, ...]

    @property
    def is_rest(self) -> bool:
        """True if this is the rest of a file without its functions."""
        return not self.position

    @property
    def lines(self) -> range:
        """The lines from the first to the last statement."""
        lasts = [statement.end_lineno or statement.lineno for statement in self.statements]
        return range(min((s.lineno for s in self.statements), default=1), max(lasts, default=0) + 1)

    def node(self, tree: ast.Module) -> ast.AST:
        """Return the function's node, or the module."""
        return at(tree, self.position)


def scopes(tree: ast.Module) -> list[Scope]:
    """Return all scopes of a file, in the order of the text, with the rest last."""
    function_scopes = [
        Scope(name=name, position=position, statements=tuple(_all(node.body)))
        for name, position, node in functions(tree)
    ]
    return [*function_scopes, Scope(name="", position=(), statements=tuple(_outside(tree.body)))]


def functions(tree: ast.Module) -> Iterator[tuple[str, Place, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Yield (qualified name, place, node) of each outermost function, methods included."""
    yield from _functions(tree, "", ())


def _functions(
    holder: ast.AST, prefix: str, position: Place
) -> Iterator[tuple[str, Place, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for field, block in ast.iter_fields(holder):
        for index, node in enumerate(block if isinstance(block, list) else ()):
            here = (*position, (field, index))
            if isinstance(node, Function):
                yield prefix + node.name, here, node
            elif isinstance(node, ast.ClassDef):
                yield from _functions(node, f"{prefix}{node.name}.", here)
            elif isinstance(node, ast.stmt | ast.excepthandler):
                yield from _functions(node, prefix, here)


def _all(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        yield from (node for node in ast.walk(statement) if isinstance(node, ast.stmt))


def _outside(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        yield statement
        if isinstance(statement, Function):
            continue
        for _, block in ast.iter_fields(statement):
            if isinstance(block, list):
                inner = [node for node in block if isinstance(node, ast.stmt)]
                yield from _outside(inner)


# The signs of operators, and comparisons that belong together.


COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=", ast.Is: "is",
    ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip
OPERATIONS: dict[type[ast.operator], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.LShift: "<<", ast.RShift: ">>", ast.BitOr: "|", ast.BitXor: "^", ast.BitAnd: "&", ast.MatMult: "@",
}  # fmt: skip
NEGATED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
MIRRORED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.Gt, ast.Gt: ast.Lt, ast.LtE: ast.GtE, ast.GtE: ast.LtE,
}  # fmt: skip
"""The comparison that holds with its sides exchanged."""
