"""Edits that add a missing operand: `x` becomes `x + y` for visible variables of fitting kind."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from repair.edit import Edit
from repair.edits.donors import allowed, donors
from repair.edits.operators import SIGNS
from repair.edits.scene import Scene, scene_of
from repair.edits.spot import Spot
from repair.edits.swapping import become, binary, likeliest, name, number, swap
from repair.ground import Ground
from repair.kinds import NUMBER, SEQUENCE, SET, Kind, fits, is_number

KIND = "operand"
_MOST, _MOST_DONORS = 800, 60
_SMALL = 8
"""Parts of an expression that is likely to be joined."""


def new_operands(ground: Ground) -> Iterator[Edit]:
    """A missing operand: a number or a sequence joined with a variable or expression of the scope, or scaled."""
    scene = scene_of(ground)
    yield from likeliest(_missing(scene), ground, _MOST)


def _missing(scene: Scene) -> Iterator[Edit]:
    for spot, node in scene.values:
        if spot.truth or isinstance(node, ast.Compare | ast.BoolOp | ast.Constant | ast.Lambda):
            continue
        kind = scene.kind(node)
        if isinstance(spot.parent, ast.Attribute) or not (kind & (NUMBER | SEQUENCE | SET) or not kind):
            continue
        for other, text, other_kind, weight in _others(scene, spot, node):
            yield from _joined(scene, spot, node, (other, text, other_kind, weight))
        if is_number(kind):
            yield from _scaled(scene, spot, node)


def _others(scene: Scene, spot: Spot, node: ast.expr) -> Iterator[tuple[ast.expr, str, Kind, float]]:
    """What may be joined: (expression, its text, its kind, weight)."""
    text = scene.text(node)
    for word in (*spot.visible.near, *(f"{spot.visible.owner}.{word}" for word in spot.visible.attributes)):
        if word != text:
            yield name(word), word, scene.kinds.of_name(word), 1.0
    names = allowed(scene, spot)
    for donor in donors(scene)[:_MOST_DONORS]:
        if donor.local and not donor.changed and donor.names <= names and donor.text != text:
            yield donor.node, _closed(donor.node, donor.text), donor.kind, 0.6 if len(donor.parts) <= _SMALL else 0.3


def _joined(scene: Scene, spot: Spot, node: ast.expr, other: tuple[ast.expr, str, Kind, float]) -> Iterator[Edit]:
    new, shown, other_kind, weight = other
    text, kind = scene.text(node), scene.kind(node) or other_kind
    weight *= _place(spot)
    fit = fits(other_kind, scene.kind(node)) if kind else 0.0
    if fit < 0.3:
        return
    for op in _joining(kind, spot.parent):
        sequence = op is ast.Add and bool(kind & SEQUENCE)
        prior = weight * fit * (0.18 if sequence else 0.08)
        told = become(text, f"{_closed(node, text)} {SIGNS[op]} {shown}")
        yield from swap(spot, binary(node, op, new), KIND, prior, told)
        if op is ast.Sub or sequence:
            told = become(text, f"{shown} {SIGNS[op]} {_closed(node, text)}")
            yield from swap(spot, binary(new, op, node), KIND, prior if sequence else prior * 0.75, told)


def _place(spot: Spot) -> float:
    """How usual it is that a part of a result is forgotten here."""
    if isinstance(spot.parent, ast.Call | ast.keyword | ast.Return | ast.Assign | ast.AugAssign | ast.Yield):
        return 1.0
    return 0.7 if isinstance(spot.parent, ast.Compare | ast.Subscript | ast.Slice) else 0.5


def _closed(node: ast.expr, text: str) -> str:
    """The text of an operand; in parentheses when it is an operation itself."""
    return f"({text})" if isinstance(node, ast.BinOp | ast.BoolOp | ast.IfExp | ast.Compare) else text


def _joining(kind: Kind, parent: ast.AST | None) -> tuple[type[ast.operator], ...]:
    if kind & SET:
        return (ast.BitOr, ast.Sub, ast.BitAnd)
    if kind & SEQUENCE:
        return (ast.Add,) if not isinstance(parent, ast.BinOp) else ()
    if not kind & NUMBER:
        return ()
    if isinstance(parent, ast.BinOp):
        # A term that is added to the operand of a sum is added to the sum as well.
        return (ast.Mult,) if isinstance(parent.op, ast.Add | ast.Sub) else (ast.Add, ast.Sub)
    return (ast.Add, ast.Sub, ast.Mult)


def _scaled(scene: Scene, spot: Spot, node: ast.expr) -> Iterator[Edit]:
    """Twice a number, half of it, its square, its last bit."""
    text = scene.text(node)
    if not isinstance(spot.parent, ast.BinOp) or isinstance(spot.parent.op, ast.Add | ast.Sub):
        for op, weight in ((ast.Mult, 0.06), (ast.FloorDiv, 0.06), (ast.Pow, 0.06), (ast.Div, 0.03), (ast.Mod, 0.04)):
            yield from swap(
                spot, binary(node, op, number(2)), KIND, weight, become(text, f"{_closed(node, text)} {SIGNS[op]} 2")
            )
