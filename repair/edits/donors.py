"""The expressions of a file that may be put elsewhere in it, also with one of their names replaced."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from repair.edits.once import once
from repair.edits.scene import Scene
from repair.edits.spot import Spot
from repair.edits.swapping import name
from repair.kinds import CALLABLE, Kind, fits
from repair.scoping import BUILTINS
from repair.tree import replaced

_MOST_LOCAL, _MOST_FOREIGN, _MOST_VARIANTS = 120, 160, 6
_LOCAL, _FOREIGN, _CHANGED = 0.3, 0.15, 0.15
"""How likely an expression of the scope itself, of the rest of the file, or with another name, is what was meant."""
_LARGEST = 24
"""Nodes of the largest expression that is moved."""
_MOVED = (
    *(ast.BinOp, ast.Call, ast.Subscript, ast.Attribute, ast.Compare, ast.BoolOp, ast.UnaryOp),
    *(ast.List, ast.Tuple, ast.ListComp),
)
_FIXED = (ast.Yield, ast.YieldFrom, ast.Await, ast.NamedExpr, ast.Lambda, ast.JoinedStr, ast.Starred)


@dataclass(frozen=True, slots=True, kw_only=True)
class Donor:
    """An expression that may be put elsewhere.

    Attributes:
        names: those that it reads.
        parts: the texts of all expressions in it.
        local: whether it is of the scope itself.
        changed: whether one of its names was replaced.
        prior: how likely such an expression is what was meant.
    """

    node: ast.expr
    text: str
    kind: Kind
    names: frozenset[str]
    parts: frozenset[str]
    local: bool
    changed: bool = False
    prior: float


@once
def donors(scene: Scene) -> tuple[Donor, ...]:
    """The expressions of the scope, then those of the rest of the file, then those of the scope with another name."""
    found: dict[str, Donor] = {}
    own = [node for node in ast.walk(scene.root) if isinstance(node, ast.expr)]
    for nodes, local in ((own, True), (scene.file.expressions, False)):
        for node in nodes:
            if len(found) >= (_MOST_LOCAL if local else _MOST_FOREIGN):
                break
            donor = _donor(scene, node, local=local)
            if donor:
                found.setdefault(donor.text, donor)
    plain = list(found.values())
    known = {donor.text for donor in plain}
    for donor in plain:
        if donor.local:
            others = [one for one in _changed(scene, donor) if one.text not in known]
            known.update(one.text for one in others)
            found.update((one.text, one) for one in others)
    return tuple(found.values())[: 3 * _MOST_LOCAL]


def allowed(scene: Scene, spot: Spot) -> frozenset[str]:
    """The names that an expression from elsewhere may use at a spot."""
    outer = scene.outside
    return frozenset(
        (*spot.visible.near, *outer.functions, *outer.classes, *outer.imports, *outer.variables, *BUILTINS)
    )


def _donor(scene: Scene, node: ast.expr, *, local: bool) -> Donor | None:
    if not isinstance(node, _MOVED) or not isinstance(getattr(node, "ctx", None), ast.Load | None):
        return None
    below = list(ast.walk(node))
    if len(below) > _LARGEST or any(isinstance(part, _FIXED) or getattr(part, "is_async", 0) for part in below):
        return None
    if isinstance(node, ast.Tuple | ast.List) and not node.elts:
        return None
    if isinstance(node, ast.Tuple) and any(isinstance(part, ast.Slice) for part in node.elts):
        return None
    stored = {part.id for part in below if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
    read = {part.id for part in below if isinstance(part, ast.Name)} - stored
    return Donor(
        node=node,
        text=scene.text(node),
        kind=scene.kind(node),
        names=frozenset(read),
        parts=scene.file.parts(node),
        local=local,
        prior=_LOCAL if local else _FOREIGN,
    )


def _changed(scene: Scene, donor: Donor) -> Iterator[Donor]:
    """The donor with one of its names replaced by another of the same kind."""
    spots = [(spot, spot.node) for spot in scene.spots if isinstance(spot.node, ast.Name)]
    words = dict.fromkeys(word for spot, _ in spots[:1] for word in (*spot.visible.near, *spot.visible.later))
    made = 0
    for place, node in _name_places(donor.node):
        kind = scene.kinds.of_name(node.id)
        if kind == CALLABLE or node.id in scene.outside.imports:
            continue
        for word in words:
            if word != node.id and kind and fits(scene.kinds.of_name(word), kind) == 1.0 and made < _MOST_VARIANTS:
                made += 1
                new = replaced(donor.node, place, name(word))
                yield Donor(
                    node=new,
                    text=ast.unparse(new),
                    kind=donor.kind,
                    names=donor.names | {word},
                    parts=donor.parts | {word},
                    local=True,
                    changed=True,
                    prior=_CHANGED,
                )


def _name_places(node: ast.AST, place: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], ast.Name]]:
    if isinstance(node, ast.Name):
        if isinstance(node.ctx, ast.Load):
            yield place, node
        return
    for field, value in ast.iter_fields(node):
        many = enumerate(value) if isinstance(value, list) else [(None, value)]
        for index, child in many:
            if isinstance(child, ast.AST) and not (isinstance(node, ast.Call) and field == "func"):
                yield from _name_places(child, (*place, (field, index)))
