"""Edits of subscripts and displays: an index added, dropped or replaced; order of items, keys and values."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import combinations

from repair.edit import Edit
from repair.edits.donors import Donor, allowed, donors
from repair.edits.expecting import expected
from repair.edits.names import variables
from repair.edits.scene import Scene, scene_of
from repair.edits.spot import Spot
from repair.edits.swapping import LOAD, become, likeliest, name, number, swap
from repair.ground import Ground
from repair.kinds import INT, MAPPING, SEQUENCE, SIZED, STR, Kind, fits

KIND = "subscript"
_MOST, _MOST_DONORS = 600, 60
_INDEXED = SEQUENCE | MAPPING


def subscripts(ground: Ground) -> Iterator[Edit]:
    """Items for collections and collections for items, other items, and items in another order."""
    scene = scene_of(ground)
    yield from likeliest(_all(scene), ground, _MOST)


def _all(scene: Scene) -> Iterator[Edit]:
    for spot, node in scene.of(ast.Subscript):
        if not isinstance(node.slice, ast.Slice):
            yield from _other_index(scene, spot, node)
            if spot.whole:
                yield from _without_index(scene, spot, node)
    for spot, value in scene.values:
        yield from _with_index(scene, spot, value)
        yield from _as_index(scene, spot, value)
        if isinstance(value, ast.Dict):
            yield from _pairs(scene, spot, value)
    for spot, items in scene.of(ast.Tuple):
        yield from _order(scene, spot, items)
    for spot, listed in scene.of(ast.List):
        yield from _order(scene, spot, listed)


def _with_index(scene: Scene, spot: Spot, node: ast.expr) -> Iterator[Edit]:
    kind, text, asked = scene.kind(node), scene.text(node), expected(spot, scene.kinds)
    if not isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.Call) or isinstance(node, ast.Lambda):
        return
    if (kind and not kind & _INDEXED) or (not kind and not isinstance(node, ast.Name | ast.Attribute | ast.Subscript)):
        return
    element = scene.kinds.of_name(f"{text}[]")
    suits = fits(element, asked) if asked else 0.4
    sure = suits * (0.8 if kind else 0.3) * (0.3 if asked and kind & asked else 1.0)
    indices: list[tuple[ast.expr, float]] = []
    if not kind or kind & SEQUENCE:
        indices += [(number(0), 0.4), (number(-1), 0.4), (number(1), 0.2)]
    for word, near in variables(scene, spot):
        share = _serves(scene.kinds.of_name(word), kind) if word != text else 0.0
        if share:
            indices.append((name(word), 0.4 * near * share))
    if kind & SEQUENCE or not kind:
        indices += [(donor.node, 0.15) for donor in _counted(scene, spot) if text not in donor.parts]
    for index_node, weight in indices if sure else ():
        new = ast.Subscript(value=node, slice=index_node, ctx=LOAD)
        yield from swap(spot, new, KIND, weight * sure, become(text, f"{text}[{ast.unparse(index_node)}]"))


def _serves(index: Kind, holder: Kind) -> float:
    """How well a variable of one kind serves as the index of another."""
    if index & INT or (holder & MAPPING and not index & (SIZED - STR)):
        return 1.0
    if holder & SEQUENCE:
        return 0.0 if index else 0.5
    return 0.5 if not index or index & STR else 0.0


def _counted(scene: Scene, spot: Spot) -> list[Donor]:
    """Small calls and sums of the scope that give whole numbers."""
    names = allowed(scene, spot)
    return [
        donor
        for donor in donors(scene)[:_MOST_DONORS]
        if donor.local and not donor.changed and donor.kind == INT and len(donor.parts) < 6 and donor.names <= names
    ][:8]


def _as_index(scene: Scene, spot: Spot, node: ast.expr) -> Iterator[Edit]:
    """`i` becomes `x[i]`: the index was taken for the item."""
    kind, text = scene.kind(node), scene.text(node)
    if not isinstance(node, ast.Name | ast.Subscript | ast.BinOp) or kind & (SIZED - {"str", "tuple"}):
        return
    if isinstance(spot.parent, ast.Attribute) or (spot.field == "value" and isinstance(spot.parent, ast.Subscript)):
        return
    for word, near in variables(scene, spot):
        holder = scene.kinds.of_name(word)
        if word != text and (holder & MAPPING or (holder & SEQUENCE and (kind & INT or not kind))):
            suits = fits(scene.kinds.of_name(f"{word}[]"), scene.wanted(spot)) * (1.0 if kind else 0.6)
            new = ast.Subscript(value=name(word), slice=node, ctx=LOAD)
            yield from swap(spot, new, KIND, 0.25 * suits * near, become(text, f"{word}[{text}]"))


def _without_index(scene: Scene, spot: Spot, node: ast.Subscript) -> Iterator[Edit]:
    text, wanted = scene.text(node), scene.wanted(spot)
    fit = fits(scene.kind(node.value), wanted)
    yield from swap(spot, node.value, KIND, 0.35 * max(fit, 0.2), become(text, scene.text(node.value)))
    if not isinstance(node.slice, ast.Constant | ast.Tuple | ast.UnaryOp):
        fit = fits(scene.kind(node.slice), wanted)
        yield from swap(spot, node.slice, KIND, 0.35 * max(fit, 0.2), become(text, scene.text(node.slice)))


def _other_index(scene: Scene, spot: Spot, node: ast.Subscript) -> Iterator[Edit]:
    holder, text = scene.kind(node.value), scene.text(node)
    new_indices: list[tuple[ast.expr, float]] = []
    if not holder or holder & SEQUENCE:
        new_indices += [(number(0), 0.3), (number(-1), 0.35), (number(1), 0.15)]
        if not isinstance(node.slice, ast.Constant | ast.UnaryOp | ast.Tuple):
            turned = ast.UnaryOp(op=ast.USub(), operand=node.slice)
            new_indices += [(turned, 0.25), (ast.UnaryOp(op=ast.Invert(), operand=node.slice), 0.1)]
    for index, weight in new_indices:
        new = ast.Subscript(value=node.value, slice=index, ctx=node.ctx)
        note = become(text, f"{scene.text(node.value)}[{ast.unparse(index)}]")
        yield from swap(spot, new, KIND, weight * (1.0 if holder else 0.5), note)
    if isinstance(node.value, ast.Subscript) and not isinstance(node.value.slice, ast.Slice):
        inner = ast.Subscript(value=node.value.value, slice=node.slice, ctx=LOAD)
        new = ast.Subscript(value=inner, slice=node.value.slice, ctx=node.ctx)
        yield from swap(spot, new, KIND, 0.5, f"the indices of `{text}` swapped")


def _pairs(scene: Scene, spot: Spot, node: ast.Dict) -> Iterator[Edit]:
    text = scene.text(node)
    for index, (key, value) in enumerate(zip(node.keys, node.values, strict=True)):
        if key is None:
            continue
        keys, values = list(node.keys), list(node.values)
        keys[index], values[index] = value, key
        new = ast.Dict(keys=keys, values=values)
        yield from swap(spot, new, KIND, 0.3, f"key and value swapped in `{text}`")
        if len(node.keys) > 1:
            rest = ast.Dict(keys=[*keys[:index], *keys[index + 1 :]], values=[*values[:index], *values[index + 1 :]])
            yield from swap(spot, rest, KIND, 0.1, f"`{scene.text(key)}` left out of `{text}`")
    for one, other in combinations(range(len(node.values)), 2):
        if len(node.values) <= 6:
            values = list(node.values)
            values[one], values[other] = values[other], values[one]
            yield from swap(spot, ast.Dict(keys=node.keys, values=values), KIND, 0.3, f"values swapped in `{text}`")


def _order(scene: Scene, spot: Spot, node: ast.Tuple | ast.List) -> Iterator[Edit]:
    """Two items in the other order, also among the targets of an assignment."""
    if isinstance(node.ctx, ast.Del) or len(node.elts) > 6:
        return
    for one, other in combinations(range(len(node.elts)), 2):
        items = list(node.elts)
        items[one], items[other] = items[other], items[one]
        new = type(node)(elts=items, ctx=node.ctx)
        alike = fits(scene.kind(items[one]), scene.kind(items[other]))
        prior = (0.5 if isinstance(node, ast.Tuple) else 0.25) * (0.3 + 0.7 * alike)
        yield from swap(spot, new, "order", prior, f"items of `{scene.text(node)}` swapped")
