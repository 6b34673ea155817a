"""Expressions of the same file put in the place of others.

What mends a program is most often in the program already: the plastic surgery hypothesis (E. T. Barr, Y. Brun,
P. Devanbu, M. Harman and F. Sarro, “The plastic surgery hypothesis”, FSE 2014). So each expression of the file, also
with one of its names replaced, is a candidate wherever its names are visible and its kind fits. Those that resemble
what they replace come first, for a fault is more often a slip than a wholly wrong idea.
"""

from __future__ import annotations

import ast
import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from models.repair.edit import Edit
from models.repair.edits.scene import Scene, scene_of
from models.repair.edits.spot import Spot
from models.repair.edits.swapping import become, name, swap
from models.repair.ground import Ground
from models.repair.kinds import CALLABLE, Kind, fits
from models.repair.scoping import BUILTINS
from models.repair.tree import replaced

KIND = "surgery"
_MOST, _MOST_DONORS, _MOST_FOREIGN, _MOST_VARIANTS = 1400, 120, 160, 6
_LOCAL, _FOREIGN, _CHANGED = 0.3, 0.15, 0.15
"""How likely an expression of the scope itself, of the rest of the file, or with another name, is what was meant."""
_LARGEST, _SMALL = 24, 3
"""Nodes of the largest expression that is moved; parts of one that is so small that it need resemble nothing."""
_MOVED = (ast.BinOp, ast.Call, ast.Subscript, ast.Attribute, ast.Compare, ast.BoolOp, ast.UnaryOp, ast.List, ast.Tuple)
_FIXED = (ast.Yield, ast.YieldFrom, ast.Await, ast.NamedExpr, ast.Lambda, ast.JoinedStr, ast.Starred)


@dataclass(frozen=True, slots=True, kw_only=True)
class Donor:
    """An expression that may be put elsewhere; `local` when it is of the scope itself."""

    node: ast.expr
    text: str
    kind: Kind
    names: frozenset[str]
    parts: frozenset[str]
    local: bool
    prior: float


def surgery(ground: Ground) -> Iterator[Edit]:
    """Each whole expression replaced by others of the file that fit, the most similar first."""
    scene = scene_of(ground)
    suspicion = ground.lines
    likely = heapq.nlargest(_MOST, _pairs(scene), key=lambda pair: pair[0] * (0.02 + suspicion.get(pair[1].line, 0)))
    for weight, spot, donor in likely:
        yield from swap(spot, donor.node, KIND, weight, become(scene.text(spot.node), donor.text))


def _pairs(scene: Scene) -> Iterator[tuple[float, Spot, Donor]]:
    donors = _donors(scene)
    allowed: dict[tuple[str, ...], list[Donor]] = {}
    for spot, node in scene.values:
        if isinstance(node, ast.Lambda) or isinstance(spot.parent, ast.Expr):
            continue
        if spot.visible.near not in allowed:
            names = _allowed(scene, spot)
            allowed[spot.visible.near] = [donor for donor in donors if donor.names <= names]
        yield from _at(scene, spot, node, allowed[spot.visible.near])


def _at(scene: Scene, spot: Spot, node: ast.expr, donors: list[Donor]) -> Iterator[tuple[float, Spot, Donor]]:
    """What may be put at one spot, with weights."""
    wanted, truth, text, parts = scene.wanted(spot), spot.truth, scene.text(node), scene.file.parts(node)
    simple, form = isinstance(node, ast.Constant), type(node)
    for donor in donors:
        fit = 0.5 if truth else fits(donor.kind, wanted)
        if fit and donor.text != text:
            alike = 1.0
            if simple or text not in donor.parts:
                common = len(parts & donor.parts) / len(parts | donor.parts)
                alike = (
                    (0.3 if len(donor.parts) <= _SMALL else 0.15)
                    + (0.3 if type(donor.node) is form else 0.0)
                    + 0.55 * common
                )
            yield donor.prior * fit * alike, spot, donor


def _allowed(scene: Scene, spot: Spot) -> frozenset[str]:
    outer = scene.outside
    return frozenset(
        (*spot.visible.near, *outer.functions, *outer.classes, *outer.imports, *outer.variables, *BUILTINS)
    )


def _donors(scene: Scene) -> list[Donor]:
    """The expressions of the scope, then those of the rest of the file, then those of the scope with another name."""
    found: dict[str, Donor] = {}
    own = [node for node in ast.walk(scene.root) if isinstance(node, ast.expr)]
    for nodes, local in ((own, True), (scene.file.expressions, False)):
        for node in nodes:
            if len(found) >= (_MOST_DONORS if local else _MOST_FOREIGN):
                break
            donor = _donor(scene, node, local=local)
            if donor:
                found.setdefault(donor.text, donor)
    donors = list(found.values())
    known = {donor.text for donor in donors}
    for donor in donors:
        if donor.local:
            donors_changed = [one for one in _changed(scene, donor) if one.text not in known]
            known.update(one.text for one in donors_changed)
            found.update((one.text, one) for one in donors_changed)
    return list(found.values())[: 3 * _MOST_DONORS]


def _donor(scene: Scene, node: ast.expr, *, local: bool) -> Donor | None:
    if not isinstance(node, _MOVED) or not isinstance(getattr(node, "ctx", None), ast.Load | None):
        return None
    below = list(ast.walk(node))
    if len(below) > _LARGEST or any(isinstance(part, _FIXED) for part in below):
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
                    prior=_CHANGED,
                )


def _name_places(node: ast.AST, place: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], ast.Name]]:
    if isinstance(node, ast.Name):
        yield place, node
        return
    for field, value in ast.iter_fields(node):
        many = enumerate(value) if isinstance(value, list) else [(None, value)]
        for index, child in many:
            if isinstance(child, ast.AST) and not (isinstance(node, ast.Call) and field == "func"):
                yield from _name_places(child, (*place, (field, index)))
