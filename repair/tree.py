"""Syntax trees that are never changed: an edit gives a new tree that shares all but the path to what it replaced.

A place is the way from the module to a node, one (field, index) a step; the index is None where the field holds a
single node. A tree costs nothing to keep, so edits can be laid over each other and taken back.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Sequence
from typing import Any

Place = tuple[tuple[str, int | None], ...]

Function = ast.FunctionDef | ast.AsyncFunctionDef


def at(tree: ast.AST, place: Place) -> ast.AST:
    """The node at a place."""
    node: Any = tree
    for field, index in place:
        node = getattr(node, field) if index is None else getattr(node, field)[index]
    found: ast.AST = node
    return found


def replaced(tree: ast.AST, place: Place, new: ast.AST) -> Any:
    """The tree with another node at a place."""
    if not place:
        return new
    (field, index), rest = place[0], place[1:]
    child = getattr(tree, field) if index is None else getattr(tree, field)[index]
    return _with(tree, field, index, replaced(child, rest, new))


def spliced(tree: ast.AST, place: Place, count: int, new: Sequence[ast.stmt]) -> Any:
    """The tree with `count` statements from a place on replaced by others; 0 inserts before it.

    The last index of the place may be the length of its list. An emptied body gets a `pass`.
    """
    *way, (field, index) = place
    assert index is not None, "a statement stands in a list"
    holder = at(tree, tuple(way))
    body = list(getattr(holder, field))
    body[index : index + count] = new
    if not body and field == "body":
        body = [ast.Pass()]
    return replaced(tree, tuple(way), _shallow(holder, field, body))


def places(tree: ast.AST, start: Place = ()) -> Iterator[tuple[Place, ast.AST]]:
    """All nodes at and below a place with their places, outer ones first, in the order of the text."""
    yield from _below(at(tree, start), start)


def _below(node: ast.AST, place: Place) -> Iterator[tuple[Place, ast.AST]]:
    yield place, node
    for field, value in ast.iter_fields(node):
        if isinstance(value, ast.AST):
            yield from _below(value, (*place, (field, None)))
        elif isinstance(value, list):
            for index, item in enumerate(value):
                if isinstance(item, ast.AST):
                    yield from _below(item, (*place, (field, index)))


def _with(node: ast.AST, field: str, index: int | None, new: Any) -> ast.AST:
    if index is None:
        return _shallow(node, field, new)
    items = list(getattr(node, field))
    items[index] = new
    return _shallow(node, field, items)


def _shallow(node: ast.AST, field: str, value: Any) -> ast.AST:
    made = copy.copy(node)
    setattr(made, field, value)
    return made
