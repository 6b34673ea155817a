"""Edits of operators: another operator, operands in another order, an operand or a sign dropped or added."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from repair.edit import Edit
from repair.edits.scene import Scene, scene_of
from repair.edits.spot import Spot
from repair.edits.swapping import become, binary, negation, swap
from repair.ground import Ground
from repair.kinds import DICT, FLOAT, INT, LIST, NUMBER, SET, STR, TUPLE, Kind, fits, is_number

KIND = "operator"
SIGNS: dict[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.BitAnd: "&",
    ast.MatMult: "@",
}
_LIKELY: dict[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub, ast.Mult),
    ast.Sub: (ast.Add, ast.Mod),
    ast.Mult: (ast.Add, ast.Pow, ast.FloorDiv, ast.Div),
    ast.Div: (ast.FloorDiv, ast.Mult, ast.Mod),
    ast.FloorDiv: (ast.Div, ast.Mod, ast.Mult),
    ast.Mod: (ast.FloorDiv, ast.Div),
    ast.Pow: (ast.Mult,),
    ast.LShift: (ast.RShift,),
    ast.RShift: (ast.LShift,),
    ast.BitOr: (ast.BitAnd, ast.BitXor),
    ast.BitXor: (ast.BitAnd, ast.BitOr),
    ast.BitAnd: (ast.BitOr, ast.BitXor),
}
_ON_NUMBERS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)
_ON_INTS = (*_ON_NUMBERS, ast.LShift, ast.RShift, ast.BitOr, ast.BitXor, ast.BitAnd)
_ON_SETS = (ast.Sub, ast.BitOr, ast.BitXor, ast.BitAnd)
_COMMUTE = (ast.Add, ast.Mult, ast.BitOr, ast.BitXor, ast.BitAnd)


def operators(ground: Ground) -> Iterator[Edit]:
    """Other operators in operations and augmented assignments, `and` for `or`, signs and `not` dropped or added."""
    scene = scene_of(ground)
    for spot, node in scene.of(ast.BinOp):
        yield from _other_operator(scene, spot, node)
        yield from _operands(scene, spot, node)
    for spot, step in scene.of(ast.AugAssign):
        yield from _other_step(scene, spot, step)
    for spot, assigned in scene.of(ast.Assign):
        yield from _further(scene, spot, assigned)
    for spot, either in scene.of(ast.BoolOp):
        yield from _connectives(scene, spot, either)
    for spot, sign in scene.of(ast.UnaryOp):
        yield from _dropped_sign(scene, spot, sign)
    for spot, value in scene.values:
        yield from _added_sign(scene, spot, value)


def fitting(left: Kind, right: Kind) -> tuple[type[ast.operator], ...]:
    """The operators that make sense between two kinds."""
    both = left | right
    if left >= STR and not right & NUMBER:
        return (ast.Add, ast.Mod)
    if both & (SET | DICT):
        return _ON_SETS
    if both & (LIST | TUPLE | STR):
        return (ast.Add, ast.Mult)
    return _ON_NUMBERS if both & FLOAT else _ON_INTS


def _weighed(
    old: type[ast.operator], suiting: tuple[type[ast.operator], ...]
) -> Iterator[tuple[type[ast.operator], float]]:
    likely = _LIKELY.get(old, ())
    for op in suiting:
        if op is not old:
            bits = op not in _ON_NUMBERS and old in _ON_NUMBERS
            yield op, 0.8 if op in likely[:1] else 0.6 if op in likely else 0.05 if bits else 0.2


def _other_operator(scene: Scene, spot: Spot, node: ast.BinOp) -> Iterator[Edit]:
    left, right = scene.kind(node.left), scene.kind(node.right)
    for op, weight in _weighed(type(node.op), fitting(left, right)):
        new = binary(node.left, op, node.right)
        yield from swap(spot, new, KIND, weight, become(SIGNS[type(node.op)], SIGNS[op]))


def _operands(scene: Scene, spot: Spot, node: ast.BinOp) -> Iterator[Edit]:
    left, right, whole = scene.kind(node.left), scene.kind(node.right), scene.text(node)
    order_counts = not isinstance(node.op, _COMMUTE) or not (is_number(left) or is_number(right))
    if order_counts and fits(left, right):
        new = binary(node.right, type(node.op), node.left)
        prior = 0.6 if isinstance(node.op, ast.Add) else 0.35
        yield from swap(spot, new, KIND, prior, f"the operands of `{whole}` swapped")
    for kept in (node.left, node.right):
        # What is no number was perhaps never to be counted with.
        weight = 0.4 * max(fits(scene.kind(kept), scene.kind(node)), 0.15)
        yield from swap(spot, kept, KIND, weight, become(whole, scene.text(kept)))
    yield from _regrouped(scene, spot, node)


def _regrouped(scene: Scene, spot: Spot, node: ast.BinOp) -> Iterator[Edit]:
    """`a + b * c` as `(a + b) * c` and the other way round: parentheses that were forgotten or misplaced."""
    if isinstance(node.right, ast.BinOp):
        inner = binary(node.left, type(node.op), node.right.left)
        new = binary(inner, type(node.right.op), node.right.right)
        yield from swap(spot, new, KIND, 0.3, f"`{scene.text(node)}` grouped from the left")
    if isinstance(node.left, ast.BinOp):
        inner = binary(node.left.right, type(node.op), node.right)
        new = binary(node.left.left, type(node.left.op), inner)
        if not (isinstance(node.op, _COMMUTE) and type(node.op) is type(node.left.op)):
            yield from swap(spot, new, KIND, 0.3, f"`{scene.text(node)}` grouped from the right")


def _other_step(scene: Scene, spot: Spot, node: ast.AugAssign) -> Iterator[Edit]:
    left, right = scene.kind(node.target), scene.kind(node.value)
    old = SIGNS[type(node.op)]
    for op, weight in _weighed(type(node.op), fitting(left, right)):
        new: ast.stmt = ast.AugAssign(target=node.target, op=op(), value=node.value)
        yield from swap(spot, new, KIND, weight, become(f"{old}=", f"{SIGNS[op]}="))
    plain = ast.Assign(targets=[node.target], value=node.value, lineno=0)
    yield from swap(spot, plain, KIND, 0.3, become(f"{old}=", "="))


def _further(scene: Scene, spot: Spot, node: ast.Assign) -> Iterator[Edit]:
    """`s = t` becomes `s |= t` for sets; sums of numbers and sequences are edits of assignments."""
    target = node.targets[0]
    if isinstance(target, ast.Name | ast.Attribute | ast.Subscript) and scene.kind(node.value) & (SET | DICT):
        for op, weight in ((ast.BitOr, 0.25), (ast.Sub, 0.12), (ast.BitAnd, 0.12)):
            new = ast.AugAssign(target=target, op=op(), value=node.value)
            yield from swap(spot, new, KIND, weight, become("=", f"{SIGNS[op]}="))


def _connectives(scene: Scene, spot: Spot, node: ast.BoolOp) -> Iterator[Edit]:
    old, op = ("and", ast.Or()) if isinstance(node.op, ast.And) else ("or", ast.And())
    new = ast.BoolOp(op=op, values=node.values)
    yield from swap(spot, new, KIND, 0.8, become(old, "or" if old == "and" else "and"))
    for index, value in enumerate(node.values):
        rest = [*node.values[:index], *node.values[index + 1 :]]
        kept = rest[0] if len(rest) == 1 else ast.BoolOp(op=node.op, values=rest)
        yield from swap(spot, kept, KIND, 0.5, f"`{old} {scene.text(value)}` dropped")
    if len(node.values) > 2:
        yield from _one_other_connective(scene, spot, node, op)
    yield from _flattened(scene, spot, node)


def _one_other_connective(scene: Scene, spot: Spot, node: ast.BoolOp, op: ast.boolop) -> Iterator[Edit]:
    """One of several `and`s becomes `or`, read as Python groups them."""
    for cut in range(1, len(node.values)):
        sides = [_joined(node.op, node.values[:cut]), _joined(node.op, node.values[cut:])]
        new = ast.BoolOp(op=op, values=sides)
        yield from swap(spot, new, KIND, 0.3, f"another connective before `{scene.text(node.values[cut])}`")


def _flattened(scene: Scene, spot: Spot, node: ast.BoolOp) -> Iterator[Edit]:
    """`a or b and c` as `(a or b) and c`, and as `a and (b or c)`."""
    for index, value in enumerate(node.values):
        if isinstance(value, ast.BoolOp) and type(value.op) is not type(node.op):
            before, after = node.values[:index], node.values[index + 1 :]
            inner = ast.BoolOp(op=node.op, values=value.values)
            turned = ast.BoolOp(op=value.op, values=[*before, inner, *after])
            yield from swap(spot, turned, KIND, 0.4, f"`and` and `or` exchanged in `{scene.text(node)}`")
            if before:
                head = ast.BoolOp(op=node.op, values=[*before, value.values[0]])
                new = _joined(node.op, [ast.BoolOp(op=value.op, values=[head, *value.values[1:]]), *after])
                yield from swap(spot, new, KIND, 0.3, f"`{scene.text(node)}` grouped from the left")
            if after:
                tail = ast.BoolOp(op=node.op, values=[value.values[-1], *after])
                new = _joined(node.op, [*before, ast.BoolOp(op=value.op, values=[*value.values[:-1], tail])])
                yield from swap(spot, new, KIND, 0.3, f"`{scene.text(node)}` grouped from the right")


def _joined(op: ast.boolop, values: list[ast.expr]) -> ast.expr:
    return values[0] if len(values) == 1 else ast.BoolOp(op=op, values=values)


def _dropped_sign(scene: Scene, spot: Spot, node: ast.UnaryOp) -> Iterator[Edit]:
    weight = 0.8 if isinstance(node.op, ast.Not) else 0.5
    yield from swap(spot, node.operand, KIND, weight, become(scene.text(node), scene.text(node.operand)))


def _added_sign(scene: Scene, spot: Spot, node: ast.expr) -> Iterator[Edit]:
    text = scene.text(node)
    if spot.truth and not isinstance(node, ast.Compare) and not _is_not(node):
        yield from swap(spot, negation(node), KIND, 0.6, become(text, f"not {text}"))
    elif scene.kind(node) == frozenset({"bool"}) and not isinstance(node, ast.Compare) and not _is_not(node):
        yield from swap(spot, negation(node), KIND, 0.5, become(text, f"not {text}"))
    if isinstance(node, ast.Name | ast.Subscript | ast.Attribute | ast.Call | ast.BinOp):
        kind = scene.kind(node)
        if is_number(kind) or (not kind and spot.field in ("value", "elts", "args", "left", "right", "values")):
            minus = ast.UnaryOp(op=ast.USub(), operand=node)
            yield from swap(spot, minus, KIND, 0.15 if kind else 0.03, become(text, f"-{text}"))
            if is_number(kind) and kind <= INT and not spot.truth:
                flipped = ast.UnaryOp(op=ast.Invert(), operand=node)
                yield from swap(spot, flipped, KIND, 0.02, become(text, f"~{text}"))


def _is_not(node: ast.expr) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
