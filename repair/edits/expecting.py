"""What kind a place asks for, whatever stands there now: an index an integer, a comparand what it is held against."""

from __future__ import annotations

import ast

from repair.edits.spot import Spot
from repair.kinds import INT, ITERABLE, MAPPING, NONE, SEQUENCE, UNKNOWN, Kind, Kinds

_INTEGERS = ("range", "chr", "bin", "hex")
_ITERATING = (
    "list",
    "set",
    "tuple",
    "sorted",
    "sum",
    "any",
    "all",
    "enumerate",
    "zip",
    "reversed",
    "iter",
    "frozenset",
)


def expected(spot: Spot, kinds: Kinds) -> Kind:
    """The kind that the place of an expression asks for; unknown where it asks for none."""
    parent = spot.parent
    if isinstance(parent, ast.Slice):
        return INT
    if isinstance(parent, ast.Subscript):
        holder = kinds.of(parent.value)
        return INT if spot.field == "slice" and holder and holder <= SEQUENCE else UNKNOWN
    if isinstance(parent, ast.Compare):
        return _comparand(spot, parent, kinds)
    if isinstance(parent, ast.BinOp) and not isinstance(parent.op, ast.Mult | ast.Mod):
        return kinds.of(parent.right if spot.field == "left" else parent.left)
    if isinstance(parent, ast.AugAssign) and spot.field == "value" and not isinstance(parent.op, ast.Mult | ast.Mod):
        return kinds.of(parent.target)
    if spot.field == "iter":
        return ITERABLE
    if isinstance(parent, ast.Call) and isinstance(parent.func, ast.Name):
        return INT if parent.func.id in _INTEGERS else ITERABLE if parent.func.id in _ITERATING else UNKNOWN
    return UNKNOWN


def _comparand(spot: Spot, parent: ast.Compare, kinds: Kinds) -> Kind:
    if any(isinstance(op, ast.In | ast.NotIn) for op in parent.ops):
        if spot.field == "comparators":
            return ITERABLE | MAPPING
        return kinds.of_name(f"{ast.unparse(parent.comparators[0])}[]")
    others = [kinds.of(node) for node in (parent.left, *parent.comparators) if node is not spot.node]
    known = frozenset[str]().union(*others)
    return known - NONE
