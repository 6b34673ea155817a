"""Edits that add a clause to a condition: a comparison of visible variables, of items, or with a first value.

The clauses that occur in the file, and those that guard what is evaluated, are added by the edits of conditions; here
are those that are nowhere in the file and yet of a usual shape.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from repair.edit import Edit
from repair.edits.scene import Scene, scene_of
from repair.edits.spot import Spot
from repair.edits.swapping import LOAD, called, likeliest, name, negation, swap
from repair.ground import Ground
from repair.kinds import CALLABLE, INT, MAPPING, NUMBER, SEQUENCE, SIZED, Kind
from repair.tree import Function

KIND = "clause"
_MOST, _MOST_AT_ONE = 300, 80
_SIZE = 4
"""Variables and items of one kind that are held against each other at one place."""

Clause = tuple[ast.expr, float, tuple[type[ast.boolop], ...]]
"""A clause, its weight, and the connectives that suit it."""


def clauses(ground: Ground) -> Iterator[Edit]:
    """`c` becomes `c and x != y`, `x == first or c`, `c or a[i] > a[j]`."""
    scene = scene_of(ground)
    yield from likeliest(_all(scene), ground, _MOST)


def _all(scene: Scene) -> Iterator[Edit]:
    first = dict(_first_values(scene))
    for spot, node in scene.values:
        if spot.field in ("test", "ifs") and not isinstance(node, ast.Constant):
            yield from _at(scene, spot, node, first)


def _at(scene: Scene, spot: Spot, node: ast.expr, first: dict[str, ast.expr]) -> Iterator[Edit]:
    present, used = scene.file.parts(node), {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    made = 0
    for clause, weight, connectives in _proposed(scene, spot, node, first):
        shown = ast.unparse(clause)
        if shown in present or made > _MOST_AT_ONE:
            continue
        made += 1
        names = {part.id for part in ast.walk(clause) if isinstance(part, ast.Name)}
        for op in connectives:
            new = _joined(op, node, clause)
            word = "and" if op is ast.And else "or"
            near = 1.0 if names & used else 0.5
            yield from swap(spot, new, KIND, weight * near, f"`{word} {shown}` added to `{scene.text(node)}`")


def _joined(op: type[ast.boolop], node: ast.expr, clause: ast.expr) -> ast.expr:
    """What cannot fail comes first, so that it may keep the other from being evaluated."""
    right = clause.comparators[0] if isinstance(clause, ast.Compare) else None
    ahead = right is None or (_is_safe(clause) and (_is_first(right) or not _is_safe(node)))
    pair = [clause, node] if ahead else [node, clause]
    parts: list[ast.expr] = []
    for part in pair:
        same = isinstance(part, ast.BoolOp) and isinstance(part.op, op)
        parts += part.values if same and isinstance(part, ast.BoolOp) else [part]
    return ast.BoolOp(op=op(), values=parts)


def _is_safe(node: ast.expr) -> bool:
    return not any(
        isinstance(part, ast.Subscript | ast.Attribute | ast.Call | ast.In | ast.NotIn) for part in ast.walk(node)
    )


def _proposed(scene: Scene, spot: Spot, node: ast.expr, first: dict[str, ast.expr]) -> Iterator[Clause]:
    yield from _convertible(scene, node)
    yield from _with_first(spot, node, first)
    yield from _of_items(scene, spot, node)
    yield from _of_variables(scene, spot)


def _convertible(scene: Scene, node: ast.expr) -> Iterator[Clause]:
    """`x.isdigit() and …` where `int(x)` is asked about."""
    loud = any(trouble == "ValueError" for trouble, _ in scene.ground.troubles)
    for part in ast.walk(node):
        if isinstance(part, ast.Call) and called(part) == "int" and isinstance(next(iter(part.args), None), ast.Name):
            asked = ast.Call(func=ast.Attribute(value=part.args[0], attr="isdigit", ctx=LOAD), args=[], keywords=[])
            yield asked, 0.4 if loud else 0.15, (ast.And,)
            yield negation(asked), 0.4 if loud else 0.15, (ast.Or,)


def _first_values(scene: Scene) -> Iterator[tuple[str, ast.expr]]:
    """The variables of the scope that begin with a literal, or with a parameter's default, that tells `not yet`."""
    for node in ast.walk(scene.root):
        if isinstance(node, ast.Assign) and _is_first(node.value):
            yield from ((target.id, node.value) for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, Function):
            args = node.args.args[len(node.args.args) - len(node.args.defaults) :]
            for arg, default in zip(args, node.args.defaults, strict=True):
                if _is_first(default):
                    yield arg.arg, default


def _is_first(node: ast.AST | None) -> bool:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node = node.operand
    return isinstance(node, ast.Constant) and (node.value is None or isinstance(node.value, int | str))


def _with_first(spot: Spot, node: ast.expr, first: dict[str, ast.expr]) -> Iterator[Clause]:
    """`best is None or …`, `last != -1 and …`: whether a variable still has the value that it began with."""
    for word in dict.fromkeys(part.id for part in ast.walk(node) if isinstance(part, ast.Name)):
        value = first.get(word)
        if value is not None and word in spot.visible.near:
            none = isinstance(value, ast.Constant) and value.value is None
            still = ast.Compare(left=name(word), ops=[ast.Is() if none else ast.Eq()], comparators=[value])
            set_since = ast.Compare(left=name(word), ops=[ast.IsNot() if none else ast.NotEq()], comparators=[value])
            yield still, 0.25, (ast.Or,)
            yield set_since, 0.12, (ast.And,)


def _of_items(scene: Scene, spot: Spot, node: ast.expr) -> Iterator[Clause]:
    """Items of one collection at two visible indices, of which the condition speaks."""
    numbers = [word for word in spot.visible.near if scene.kinds.of_name(word) & INT]
    holders = [word for word in spot.visible.near if scene.kinds.of_name(word) & (SEQUENCE | MAPPING)]
    used = [word for word in numbers if word in scene.file.parts(node)]
    for holder in holders[-_SIZE:]:
        for one in used[:_SIZE]:
            for other in numbers[-_SIZE:]:
                if one != other:
                    sides = [ast.Subscript(value=name(holder), slice=name(word), ctx=LOAD) for word in (other, one)]
                    for op, weight in ((ast.Gt, 0.1), (ast.Lt, 0.1), (ast.NotEq, 0.05), (ast.Eq, 0.05)):
                        made = ast.Compare(left=sides[0], ops=[op()], comparators=[sides[1]])
                        yield made, weight, (ast.And, ast.Or)


def _of_variables(scene: Scene, spot: Spot) -> Iterator[Clause]:
    """Two visible variables of one kind: whether they differ, or which is the greater."""
    words = [word for word in spot.visible.near if word != spot.visible.owner][-2 * _SIZE :]
    for index, one in enumerate(words):
        kind = scene.kinds.of_name(one)
        for other in words[index + 1 :]:
            if _alike(kind, scene.kinds.of_name(other)):
                for op, weight, connectives in _RELATIONS:
                    if op in (ast.NotEq, ast.Eq) or kind & NUMBER:
                        made = ast.Compare(left=name(one), ops=[op()], comparators=[name(other)])
                        yield made, weight, connectives


_RELATIONS: tuple[tuple[type[ast.cmpop], float, tuple[type[ast.boolop], ...]], ...] = (
    (ast.NotEq, 0.12, (ast.And,)),
    (ast.Eq, 0.05, (ast.Or,)),
    *((op, 0.04, (ast.And, ast.Or)) for op in (ast.Gt, ast.Lt)),
)


def _alike(one: Kind, other: Kind) -> bool:
    """Whether two kinds are known to be the same, or may be."""
    if CALLABLE & (one | other):
        return False
    return bool(one & other) if one and other else not (one | other) & (SIZED - {"str", "tuple"})
