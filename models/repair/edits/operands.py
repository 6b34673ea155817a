"""Edits that add a missing operand: `x` becomes `x + y` for visible variables of fitting kind."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from models.repair.edit import Edit
from models.repair.edits.operators import SIGNS
from models.repair.edits.scene import Scene, scene_of
from models.repair.edits.spot import Spot
from models.repair.edits.swapping import become, binary, likeliest, name, swap
from models.repair.ground import Ground
from models.repair.kinds import NUMBER, SEQUENCE, SET, Kind, fits

KIND = "operand"
_MOST = 400


def new_operands(ground: Ground) -> Iterator[Edit]:
    """A missing operand: a number or a sequence is joined with a visible variable of fitting kind."""
    scene = scene_of(ground)
    yield from likeliest(_missing(scene), ground, _MOST)


def _missing(scene: Scene) -> Iterator[Edit]:
    for spot, node in scene.values:
        if spot.truth or isinstance(node, ast.Compare | ast.BoolOp | ast.Constant | ast.Lambda):
            continue
        kind = scene.kind(node)
        if isinstance(spot.parent, ast.BinOp | ast.Attribute | ast.keyword):
            continue
        if kind & (NUMBER | SEQUENCE | SET) or not kind:
            yield from _joined_with(scene, spot, node, kind)


def _joined_with(scene: Scene, spot: Spot, node: ast.expr, kind: Kind) -> Iterator[Edit]:
    text = scene.text(node)
    names = [*spot.visible.near, *(f"{spot.visible.owner}.{word}" for word in spot.visible.attributes)]
    for word in names:
        other = scene.kinds.of_name(word)
        fit = fits(other, kind) if word != text and (kind or other) else 0.0
        if fit < 0.3:
            continue
        for op in _joining(kind or other):
            new = binary(node, op, name(word))
            yield from swap(spot, new, KIND, 0.08 * fit, become(text, f"{text} {SIGNS[op]} {word}"))
            if op is ast.Sub or (op is ast.Add and (kind or other) & SEQUENCE):
                turned = binary(name(word), op, node)
                yield from swap(spot, turned, KIND, 0.06 * fit, become(text, f"{word} {SIGNS[op]} {text}"))


def _joining(kind: Kind) -> tuple[type[ast.operator], ...]:
    if kind & SET:
        return (ast.BitOr, ast.Sub, ast.BitAnd)
    if kind & SEQUENCE:
        return (ast.Add,)
    return (ast.Add, ast.Sub, ast.Mult) if kind & NUMBER else ()
