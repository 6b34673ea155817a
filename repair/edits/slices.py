"""Edits of slices and ranges: a bound added, dropped or replaced, another step, and the order reversed."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from repair.edit import Edit
from repair.edits.scene import Scene, scene_of
from repair.edits.spot import Spot
from repair.edits.swapping import LOAD, become, binary, call, likeliest, name, number, swap
from repair.ground import Ground
from repair.kinds import DICT, INT, LIST, NUMBER, SEQUENCE, SET, STR, TUPLE, UNKNOWN

KIND = "slice"
_SLICED = LIST | TUPLE | STR | {"bytes"}
_MOST = 500
_WHOLES = ast.ListComp | ast.BinOp | ast.IfExp | ast.List | ast.Tuple
"""Sequences that are made at the place itself; they are turned round, but seldom cut."""


def slices(ground: Ground) -> Iterator[Edit]:
    """Other bounds of slices and ranges; a sequence sliced or reversed, or no longer so."""
    scene = scene_of(ground)
    yield from likeliest(_all(scene), ground, _MOST)


def _all(scene: Scene) -> Iterator[Edit]:
    for spot, cut in scene.of(ast.Slice):
        yield from _other_bounds(scene, spot, cut)
    for spot, node in scene.of(ast.Call):
        if isinstance(node.func, ast.Name) and node.func.id == "range" and not node.keywords:
            yield from _other_range(scene, spot, node)
    for spot, part in scene.of(ast.Subscript):
        if spot.whole and isinstance(part.slice, ast.Slice):
            yield from _unsliced(scene, spot, part)
    for spot, value in scene.values:
        yield from _sliced(scene, spot, value)
        yield from _reversed(scene, spot, value)


def _other_bounds(scene: Scene, spot: Spot, node: ast.Slice) -> Iterator[Edit]:
    text = scene.text(node)
    holder = spot.parent.value if isinstance(spot.parent, ast.Subscript) else None
    size: list[ast.expr] = [call("len", holder)] if holder is not None else []
    for bound in ("lower", "upper", "step"):
        present = getattr(node, bound)
        if present is not None:
            yield from swap(spot, _with(node, bound, None), KIND, 0.5, f"a bound of `{text}` dropped")
        for new, weight in _bounds(scene, spot, bound, present is None, size):
            note = f"another bound in `{text}`: `{ast.unparse(new)}`"
            yield from swap(spot, _with(node, bound, new), KIND, weight, note)
    if node.lower is not None and node.upper is not None:
        turned = ast.Slice(lower=node.upper, upper=node.lower, step=node.step)
        yield from swap(spot, turned, KIND, 0.2, f"the bounds of `{text}` swapped")
    if (node.lower is None) is not (node.upper is None):
        turned = ast.Slice(lower=node.upper, upper=node.lower, step=node.step)
        yield from swap(spot, turned, KIND, 0.5, f"`{text}` turned to the other side")
    for bound in ("lower", "upper"):
        if getattr(node, bound) is not None and not isinstance(getattr(node, bound), ast.UnaryOp):
            new = ast.UnaryOp(op=ast.USub(), operand=getattr(node, bound))
            yield from swap(spot, _with(node, bound, new), KIND, 0.2, f"a bound of `{text}` counts from the end")


def _bounds(
    scene: Scene, spot: Spot, bound: str, missing: bool, size: list[ast.expr]
) -> Iterator[tuple[ast.expr, float]]:
    if bound == "step":
        if missing:
            yield number(-1), 0.25
            yield number(2), 0.1
        return
    usual = (1, 2) if bound == "lower" else (-1, 1)
    for value in usual:
        yield number(value), 0.4 if missing else 0.15
    for word in _numbers(scene, spot):
        yield name(word), 0.25
        yield binary(name(word), ast.Add, number(1)), 0.12
        yield binary(name(word), ast.Sub, number(1)), 0.08
    for node in size:
        yield node, 0.05


def _numbers(scene: Scene, spot: Spot) -> Iterator[str]:
    """Visible variables that are integers as far as is known."""
    for word in spot.visible.near:
        kind = scene.kinds.of_name(word)
        if kind & INT:
            yield word


def _with(node: ast.Slice, bound: str, new: ast.expr | None) -> ast.Slice:
    parts = {"lower": node.lower, "upper": node.upper, "step": node.step, bound: new}
    return ast.Slice(lower=parts["lower"], upper=parts["upper"], step=parts["step"])


def _other_range(scene: Scene, spot: Spot, node: ast.Call) -> Iterator[Edit]:
    text, args = scene.text(node), node.args
    for new, weight in _ranges(scene, spot, args):
        whole = call("range", *new)
        yield from swap(spot, whole, "range", weight, become(text, ast.unparse(whole)))


def _ranges(scene: Scene, spot: Spot, args: list[ast.expr]) -> Iterator[tuple[list[ast.expr], float]]:
    names = list(_numbers(scene, spot))
    if len(args) == 1:
        for value in (1, 2):
            yield [number(value), args[0]], 0.6 / value
        yield [number(1), binary(args[0], ast.Add, number(1))], 0.5
        yield [binary(args[0], ast.Sub, number(1)), number(-1), number(-1)], 0.2
        yield [number(0), args[0], number(2)], 0.08
        for word in names:
            yield [name(word), args[0]], 0.3
            yield [binary(name(word), ast.Add, number(1)), args[0]], 0.25
            yield [number(0), args[0], name(word)], 0.08
    elif len(args) == 2:
        yield [args[1]], 0.4
        yield [args[1], args[0]], 0.2
        yield [args[0], args[1], number(-1)], 0.2
        yield [args[1], args[0], number(-1)], 0.15
        yield [binary(args[1], ast.Sub, number(1)), binary(args[0], ast.Sub, number(1)), number(-1)], 0.1
        yield [binary(args[0], ast.Add, number(1)), binary(args[1], ast.Add, number(1))], 0.2
        yield [args[0], args[1], number(2)], 0.1
        yield from (([args[0], args[1], name(word)], 0.15) for word in names)
    elif len(args) == 3:
        yield args[:2], 0.3
        yield [args[0], args[1], ast.UnaryOp(op=ast.USub(), operand=args[2])], 0.3
        yield [args[1], args[0], args[2]], 0.2
        for value in (1, 2, -1):
            yield [args[0], args[1], number(value)], 0.1


def _unsliced(scene: Scene, spot: Spot, node: ast.Subscript) -> Iterator[Edit]:
    assert isinstance(node.slice, ast.Slice)
    text = scene.text(node)
    yield from swap(spot, node.value, KIND, 0.3, become(text, scene.text(node.value)))
    for bound in (node.slice.lower, node.slice.upper):
        if bound is not None:
            new = ast.Subscript(value=node.value, slice=bound, ctx=LOAD)
            yield from swap(spot, new, KIND, 0.15, become(text, f"{scene.text(node.value)}[{scene.text(bound)}]"))


def _sliced(scene: Scene, spot: Spot, node: ast.expr) -> Iterator[Edit]:
    """`x` becomes `x[1:]` and the like."""
    kind = scene.kind(node)
    if not isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.Call) or not _may_be(scene, spot, node):
        return
    sure = 1.0 if kind & _SLICED else 0.3
    text = scene.text(node)
    bounds: list[tuple[ast.expr | None, ast.expr | None, ast.expr | None, float]] = [
        (number(1), None, None, 0.3),
        (None, number(-1), None, 0.25),
        (None, None, None, 0.3),
        (None, None, number(-1), 0.2),
    ]
    if kind & _SLICED:
        for word in _numbers(scene, spot):
            bounds += [(name(word), None, None, 0.2), (None, name(word), None, 0.2)]
            bounds += [(binary(name(word), ast.Add, number(1)), None, None, 0.1)]
    for lower, upper, step, weight in bounds:
        cut = ast.Slice(lower=lower, upper=upper, step=step)
        if lower is upper is step is None and isinstance(node, ast.Call | ast.Subscript):
            continue
        new = ast.Subscript(value=node, slice=cut, ctx=LOAD)
        yield from swap(spot, new, KIND, weight * sure, become(text, f"{text}[{ast.unparse(cut)}]"))


def _may_be(scene: Scene, spot: Spot, node: ast.expr) -> bool:
    """Whether a sequence may stand here, of which a part would do."""
    kind = scene.kind(node)
    if spot.truth or isinstance(spot.parent, ast.Subscript | ast.Attribute | ast.Await):
        return False
    if kind == UNKNOWN:
        return spot.field in ("iter", "args") and isinstance(node, ast.Name | ast.Attribute)
    return bool(kind & _SLICED)


def _reversed(scene: Scene, spot: Spot, node: ast.expr) -> Iterator[Edit]:
    kind, text = scene.kind(node), scene.text(node)
    if isinstance(node, _WHOLES) and _may_be(scene, spot, node):
        new = ast.Subscript(value=node, slice=ast.Slice(step=number(-1)), ctx=LOAD)
        yield from swap(spot, new, KIND, 0.15, become(text, ast.unparse(new)))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "reversed" and node.args:
        yield from swap(spot, node.args[0], KIND, 0.5, become(text, scene.text(node.args[0])))
    elif spot.field == "iter" and (kind & (SEQUENCE - STR) or not kind) and not kind & (SET | DICT | NUMBER):
        yield from swap(spot, call("reversed", node), KIND, 0.3, become(text, f"reversed({text})"))
