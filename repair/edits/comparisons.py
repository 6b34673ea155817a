"""Edits of comparisons: another operator, sides swapped, parts of a chain, a comparand replaced by a near one."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from repair.edit import Edit
from repair.edits.scene import Scene, scene_of
from repair.edits.spot import Spot
from repair.edits.swapping import become, number, swap
from repair.ground import Ground
from repair.kinds import DICT, LIST, NONE, NUMBER, SET, SIZED, STR, TUPLE, Kind, is_number

KIND = "comparison"
_SIGNS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}
_BOUNDARY: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
}
_NEGATED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_TURNED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.Gt,
    ast.Gt: ast.Lt,
    ast.LtE: ast.GtE,
    ast.GtE: ast.LtE,
}
_ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_EQUAL = (ast.Eq, ast.NotEq)
_IDENTITY = (ast.Is, ast.IsNot)
_MEMBER = (ast.In, ast.NotIn)


def comparisons(ground: Ground) -> Iterator[Edit]:
    """Other operators, swapped sides, dropped parts of chains, and comparands such as 0, None or an empty value."""
    scene = scene_of(ground)
    for spot, node in scene.of(ast.Compare):
        sides = [node.left, *node.comparators]
        for index, op in enumerate(node.ops):
            yield from _other(scene, spot, node, index, (sides[index], sides[index + 1]))
            for new, weight in _usual(scene, op, sides[index], sides[index + 1]):
                yield from _with_right(scene, spot, node, index, new, weight)
        if len(node.ops) == 1:
            yield from _swapped(scene, spot, node)
            yield from _reduced(scene, spot, node)
        else:
            yield from _shorter(scene, spot, node)


def _other(scene: Scene, spot: Spot, node: ast.Compare, index: int, sides: tuple[ast.expr, ast.expr]) -> Iterator[Edit]:
    old = type(node.ops[index])
    right = scene.kind(sides[1])
    for op, sign in _SIGNS.items():
        weight = _weight(old, op, right, sides[1])
        if weight:
            ops = [*node.ops[:index], op(), *node.ops[index + 1 :]]
            new = ast.Compare(left=node.left, ops=ops, comparators=node.comparators)
            note = f"{become(_SIGNS[old], sign)} in `{scene.text(node)}`"
            yield from swap(spot, new, KIND, weight, note)


def _weight(old: type[ast.cmpop], op: type[ast.cmpop], right: Kind, comparand: ast.expr) -> float:
    """How likely one comparison was meant for another; 0 where the kinds forbid it."""
    if op is old:
        return 0.0
    if op in _IDENTITY and not _single(comparand):
        return 0.0
    if op in _MEMBER and right and not right & (SIZED | {"iterator"}):
        return 0.0
    if op in _ORDER and (right in (NONE, DICT) or _single(comparand)):
        return 0.0
    if op is _BOUNDARY.get(old):
        return 1.0
    if op is _NEGATED[old]:
        return 0.8
    if op is _TURNED.get(old):
        return 0.7
    return _across(old, op, right)


def _across(old: type[ast.cmpop], op: type[ast.cmpop], right: Kind) -> float:
    groups = (_ORDER, _EQUAL, _IDENTITY, _MEMBER)
    one, other = (next(group for group in groups if which in group) for which in (old, op))
    pair = {one, other}
    if one is other:
        return 0.4
    if pair == {_ORDER, _EQUAL}:
        return 0.4 if not right or right & NUMBER else 0.2
    if pair == {_EQUAL, _IDENTITY}:
        return 0.3
    if pair == {_EQUAL, _MEMBER}:
        return 0.4 if right & (SIZED - {"str"}) else 0.2
    return 0.02


def _single(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and (node.value is None or isinstance(node.value, bool))


def _swapped(scene: Scene, spot: Spot, node: ast.Compare) -> Iterator[Edit]:
    if isinstance(node.ops[0], _MEMBER):
        new = ast.Compare(left=node.comparators[0], ops=node.ops, comparators=[node.left])
        yield from swap(spot, new, KIND, 0.25, f"the sides of `{scene.text(node)}` swapped")


def _reduced(scene: Scene, spot: Spot, node: ast.Compare) -> Iterator[Edit]:
    """`x == y` becomes `x`, or a constant: a comparison that should not be there."""
    text = scene.text(node)
    if spot.truth:
        left = node.left
        if not isinstance(left, ast.Constant):
            yield from swap(spot, left, KIND, 0.15, become(text, scene.text(left)))
            yield from swap(
                spot, ast.UnaryOp(op=ast.Not(), operand=left), KIND, 0.1, become(text, f"not {scene.text(left)}")
            )
    for value in (True, False):
        yield from swap(spot, ast.Constant(value=value), KIND, 0.08, become(text, str(value)))


def _shorter(scene: Scene, spot: Spot, node: ast.Compare) -> Iterator[Edit]:
    text = scene.text(node)
    parts = [
        ast.Compare(left=node.left, ops=node.ops[:-1], comparators=node.comparators[:-1]),
        ast.Compare(left=node.comparators[0], ops=node.ops[1:], comparators=node.comparators[1:]),
    ]
    for part in parts:
        yield from swap(spot, part, KIND, 0.3, f"a part of `{text}` dropped")
    if len(node.ops) == 2:
        both: list[ast.expr] = [
            ast.Compare(left=node.left, ops=[node.ops[0]], comparators=[node.comparators[0]]),
            ast.Compare(left=node.comparators[0], ops=[node.ops[1]], comparators=[node.comparators[1]]),
        ]
        yield from swap(spot, ast.BoolOp(op=ast.Or(), values=both), KIND, 0.15, f"`{text}` taken apart with `or`")


def _usual(scene: Scene, op: ast.cmpop, left: ast.expr, right: ast.expr) -> Iterator[tuple[ast.expr, float]]:
    """Comparands that things of the left side's kind are often held against."""
    kind = scene.kind(left) or scene.kind(right)
    if isinstance(op, (*_IDENTITY, *_MEMBER)):
        return
    if not kind or is_number(kind):
        for value in (0, 1, 2):
            yield number(value), 0.35 if is_number(kind) else 0.1
    if isinstance(op, _EQUAL):
        yield ast.Constant(value=None), 0.1
        for known, empty in _EMPTIES:
            if kind & known:
                yield empty, 0.2


_EMPTIES: tuple[tuple[Kind, ast.expr], ...] = (
    (STR, ast.Constant(value="")),
    (LIST, ast.List(elts=[], ctx=ast.Load())),
    (TUPLE, ast.Tuple(elts=[], ctx=ast.Load())),
    (DICT, ast.Dict(keys=[], values=[])),
    (SET, ast.Call(func=ast.Name(id="set", ctx=ast.Load()), args=[], keywords=[])),
)


def _with_right(
    scene: Scene, spot: Spot, node: ast.Compare, index: int, new: ast.expr, weight: float
) -> Iterator[Edit]:
    old = node.comparators[index]
    comparators = [*node.comparators[:index], new, *node.comparators[index + 1 :]]
    whole = ast.Compare(left=node.left, ops=node.ops, comparators=comparators)
    note = f"{become(scene.text(old), ast.unparse(new))} in `{scene.text(node)}`"
    yield from swap(spot, whole, "comparand", weight * 0.8, note)
