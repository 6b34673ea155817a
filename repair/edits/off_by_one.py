"""Off by one: `e` becomes `e + 1` or `e - 1`, and a `+ 1` or `- 1` that is there goes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from repair.edit import Edit
from repair.edits.scene import Scene, scene_of
from repair.edits.spot import Spot
from repair.edits.swapping import become, binary, number, swap
from repair.ground import Ground
from repair.kinds import INT, is_number

KIND = "off_by_one"
_HOLDERS = ast.Tuple | ast.List | ast.Dict | ast.keyword | ast.IfExp | ast.ListComp | ast.JoinedStr


def off_by_one(ground: Ground) -> Iterator[Edit]:
    """Ones added, taken away or dropped where integers stand: indices, bounds, arguments, comparands, results."""
    scene = scene_of(ground)
    for spot, node in scene.values:
        if isinstance(node, ast.Constant):
            continue
        prior = _prior(scene, spot, node)
        if prior:
            yield from _shifted(scene, spot, node, prior)


def _prior(scene: Scene, spot: Spot, node: ast.expr) -> float:
    kind = scene.kind(node)
    if (kind and not is_number(kind)) or isinstance(node, ast.Compare | ast.BoolOp | ast.Lambda | ast.IfExp):
        return 0.0
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return 0.0
    place = _place(scene, spot)
    sure = 1.0 if kind >= INT else 0.6 if kind else 0.35
    return place * sure


def _place(scene: Scene, spot: Spot) -> float:
    """How usual the slip is at this place."""
    parent = spot.parent
    if isinstance(parent, ast.Slice):
        return 1.0
    if isinstance(parent, ast.Subscript):
        keyed = scene.kind(parent.value) == frozenset({"dict"})
        return 0.0 if spot.field != "slice" else 0.3 if keyed else 1.0
    if isinstance(parent, ast.Call):
        ranged = isinstance(parent.func, ast.Name) and parent.func.id == "range"
        return 1.0 if ranged else 0.7
    if isinstance(parent, ast.Compare):
        return 0.8 if any(isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for op in parent.ops) else 0.5
    if isinstance(parent, ast.BinOp):
        # Beside another term the one belongs to the sum as a whole.
        return 0.0 if isinstance(parent.op, ast.Add | ast.Sub) else 0.3
    if isinstance(parent, ast.Return | ast.Assign | ast.AnnAssign | ast.Yield):
        return 0.7
    if isinstance(parent, ast.AugAssign):
        return 0.3
    return 0.4 if isinstance(parent, _HOLDERS) else 0.0


def _shifted(scene: Scene, spot: Spot, node: ast.expr, prior: float) -> Iterator[Edit]:
    text = scene.text(node)
    amount = _amount(node)
    if isinstance(node, ast.BinOp) and amount:
        yield from swap(spot, node.left, KIND, 0.9 * prior, become(text, scene.text(node.left)))
        yield from _moved(scene, spot, node, amount, prior)
        return
    for op, sign in ((ast.Add, "+"), (ast.Sub, "-")):
        new = binary(node, op, ast.Constant(value=1))
        yield from swap(spot, new, KIND, 0.9 * prior, become(text, f"{text} {sign} 1"))


def _moved(scene: Scene, spot: Spot, node: ast.BinOp, present: int, prior: float) -> Iterator[Edit]:
    """`e + 2` becomes `e + 1` and `e + 3`, `e + 1` becomes `e - 1`."""
    for shift, weight in ((present + 1, 0.5), (present - 1, 0.5), (-present, 0.8)):
        if shift:
            new = binary(node.left, ast.Add if shift > 0 else ast.Sub, number(abs(shift)))
            note = become(scene.text(node), f"{scene.text(node.left)} {'+' if shift > 0 else '-'} {abs(shift)}")
            yield from swap(spot, new, KIND, weight * prior, note)


def _amount(node: ast.expr) -> int:
    """The number that is added at the end, or taken away if it is negative; 0 where there is none."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub) and isinstance(node.right, ast.Constant):
        value = node.right.value
        if type(value) is int:
            return value if isinstance(node.op, ast.Add) else -value
    return 0
