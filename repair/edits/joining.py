"""Edits that add a visible variable to a display or to a sequence: `rest` becomes `[first] + rest`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from repair.edit import Edit
from repair.edits.names import variables
from repair.edits.scene import Scene, scene_of
from repair.edits.spot import Spot
from repair.edits.swapping import LOAD, become, binary, display, likeliest, name, swap
from repair.ground import Ground
from repair.kinds import CALLABLE, LIST, TUPLE, Kind, fits

KIND = "concatenation"
_MOST = 500


def joining(ground: Ground) -> Iterator[Edit]:
    """A list, tuple or display gets a further element or part from the visible variables."""
    scene = scene_of(ground)
    yield from likeliest(_joined(scene), ground, _MOST)


def _joined(scene: Scene) -> Iterator[Edit]:
    for spot, node in scene.values:
        kind = scene.kind(node)
        if isinstance(node, ast.List | ast.Set) or (isinstance(node, ast.Tuple) and spot.field != "slice"):
            yield from _longer(scene, spot, node)
        if spot.truth or isinstance(spot.parent, ast.Attribute | ast.Subscript):
            continue
        if kind & (LIST | TUPLE) or (not kind and _may_be_list(spot, node)):
            yield from _concatenated(scene, spot, node, kind)


def _may_be_list(spot: Spot, node: ast.expr) -> bool:
    told = spot.field in ("value", "args", "iter", "left", "right") and not isinstance(node, ast.Constant)
    return told and not isinstance(spot.parent, ast.Expr | ast.Await | ast.Yield)


def _longer(scene: Scene, spot: Spot, node: ast.List | ast.Set | ast.Tuple) -> Iterator[Edit]:
    present = {scene.text(item) for item in node.elts}
    text = scene.text(node)
    for index in range(len(node.elts)):
        if len(node.elts) > 1:
            rest = type(node)(elts=[*node.elts[:index], *node.elts[index + 1 :]])
            yield from swap(
                spot, _loaded(rest), "element", 0.2, f"`{scene.text(node.elts[index])}` left out of `{text}`"
            )
    for word, near in variables(scene, spot):
        kind = scene.kinds.of_name(word)
        same_kind = fits(kind, scene.kind(node.elts[0])) if node.elts else 0.6
        if word in present or kind == CALLABLE or not same_kind:
            continue
        for items in ([*node.elts, name(word)], [name(word), *node.elts]):
            new = _loaded(type(node)(elts=items))
            prior = 0.15 if node.elts else 0.4
            yield from swap(spot, new, "element", prior * near * same_kind, f"`{word}` put into `{text}`")
            if not node.elts:
                break


def _loaded(node: ast.List | ast.Set | ast.Tuple) -> ast.expr:
    if not isinstance(node, ast.Set):
        node.ctx = LOAD
    return node


def _concatenated(scene: Scene, spot: Spot, node: ast.expr, kind: Kind) -> Iterator[Edit]:
    """`rest` becomes `[first] + rest`, `rest + [first]`, and the same with other sequences."""
    text, sure = scene.text(node), 1.0 if kind else 0.35
    for word, near in variables(scene, spot):
        part = scene.kinds.of_name(word)
        if part == CALLABLE or word == text:
            continue
        is_tuple = kind == TUPLE
        single: ast.expr = ast.Tuple(elts=[name(word)], ctx=LOAD) if is_tuple else display(name(word))
        shown = f"({word},)" if is_tuple else f"[{word}]"
        weight = 0.2 * near * sure * (0.4 if part & (LIST | TUPLE) else 1.0)
        pairs = [(single, node, f"{shown} + {text}"), (node, single, f"{text} + {shown}")]
        for left, right, told in pairs:
            yield from swap(spot, binary(left, ast.Add, right), KIND, weight, become(text, told))
        if not kind and part & (LIST | TUPLE):
            yield from swap(spot, binary(node, ast.Add, name(word)), KIND, weight, become(text, f"{text} + {word}"))
            yield from swap(spot, binary(name(word), ast.Add, node), KIND, weight, become(text, f"{word} + {text}"))
