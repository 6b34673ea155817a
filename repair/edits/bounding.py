"""Edits that keep a number within bounds: `max` and `min` with another value, and the remainder by a length.

What a number is to be held against stands near it as a rule: it is the variable that gets the value, something that
the condition around compares, or a part of the same statement.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from repair.edit import Edit
from repair.edits.names import variables
from repair.edits.scene import Scene, scene_of
from repair.edits.spot import Spot
from repair.edits.swapping import become, binary, call, called, likeliest, name, number, swap
from repair.ground import Ground
from repair.kinds import INT, SEQUENCE, SIZED, UNKNOWN, Kind, fits, is_number
from repair.tree import at

_MOST, _MOST_REMAINDERS = 400, 120
_TESTS = ast.If | ast.While | ast.IfExp
_NEAR = ast.Subscript | ast.Attribute | ast.Call | ast.BinOp
_ENDS = (ast.Assign, ast.AugAssign, ast.Return, ast.Tuple, ast.List, ast.Dict, ast.Slice, ast.Yield, ast.Call)
"""Parents under which a whole value ends; elsewhere it is a part of a larger one."""
_LETTERS = 26
"""Letters are counted round the alphabet where characters become numbers and numbers characters."""
_LARGEST_SHARED = 12
"""Nodes of the largest expression that a number is held against."""


def bounding(ground: Ground) -> Iterator[Edit]:
    """`max(x, y)` and `min(x, y)` for `x`: a value that must not be forgotten, or not go beyond another."""
    scene = scene_of(ground)
    near = _Near(scene)
    found = (edit for spot, node in scene.values for edit in _bounded(scene, near, spot, node))
    yield from likeliest(found, ground, _MOST)


def remainders(ground: Ground) -> Iterator[Edit]:
    """`x % n` for `x`: an index, or the number of a character, that starts again at the end."""
    scene = scene_of(ground)
    found = (edit for spot, node in scene.values for edit in _circled(scene, spot, node))
    yield from likeliest(found, ground, _MOST_REMAINDERS)


class _Near:
    """The expressions that stand near those of a scope, found once for each statement."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._found: dict[int, list[tuple[ast.expr, float]]] = {}

    def of(self, spot: Spot) -> list[tuple[ast.expr, float]]:
        """Parts of the conditions around a spot, with weights, then those of its own statement."""
        key = id(spot.statement)
        if key not in self._found:
            self._found[key] = list(self._all(spot))
        return self._found[key]

    def _all(self, spot: Spot) -> Iterator[tuple[ast.expr, float]]:
        tree, seen = self._scene.ground.tree, set[str]()
        around = [at(tree, spot.place[:end]) for end in range(len(spot.place), 0, -1)]
        tests = [node.test for node in around if isinstance(node, _TESTS)]
        own = [] if isinstance(spot.statement, ast.If | ast.While | ast.For) else [spot.statement]
        for trees, weight in ((tests[:2], 0.3), (own, 0.15)):
            for node in (part for tree in trees for part in ast.walk(tree) if isinstance(part, ast.expr)):
                if _is_shared(node) and (text := self._scene.text(node)) not in seen:
                    seen.add(text)
                    yield node, weight


def _is_shared(node: ast.expr) -> bool:
    """Whether it may be read twice."""
    if not isinstance(node, _NEAR) or not isinstance(getattr(node, "ctx", None), ast.Load | None):
        return False
    parts = list(ast.walk(node))
    return len(parts) <= _LARGEST_SHARED and not any(isinstance(part, ast.Await | ast.NamedExpr) for part in parts)


def _bounded(scene: Scene, near: _Near, spot: Spot, node: ast.expr) -> Iterator[Edit]:
    target, text, whole = _target(scene, spot), scene.text(node), isinstance(spot.parent, _ENDS)
    kind = scene.kind(node) or (scene.kinds.of_name(target) if target else UNKNOWN)
    if spot.truth or not (is_number(kind) or (not kind and (target or spot.field in ("value", "elts", "args")))):
        return
    if _is_plain(node) or isinstance(spot.parent, ast.Attribute):
        return
    if spot.call and called(spot.call) in ("max", "min"):
        return
    sure = (1.0 if kind else 0.5) * (1.0 if whole else 0.5)
    for other, weight in _others(scene, near, spot, (node, kind)):
        is_target = bool(target) and ast.unparse(other) == target
        for function in ("max", "min"):
            new = call(function, other, node) if is_target else call(function, node, other)
            yield from swap(spot, new, "wrapping", weight * sure, become(text, ast.unparse(new)))


def _is_plain(node: ast.expr) -> bool:
    """Whether it is a literal, a function, or true or false: nothing that has bounds."""
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.Not) or isinstance(node.operand, ast.Constant)
    return isinstance(node, ast.Constant | ast.Compare | ast.Lambda)


def _others(scene: Scene, near: _Near, spot: Spot, old: tuple[ast.expr, Kind]) -> Iterator[tuple[ast.expr, float]]:
    """What a number may be held against: zero and one, the target, variables, and what stands near."""
    node, kind = old
    text, target = scene.text(node), _target(scene, spot)
    yield number(0), 0.3
    yield number(1), 0.15
    if target and target != text:
        yield (name(target) if target.isidentifier() else _loaded(spot)), 0.4
    for word, ready in variables(scene, spot):
        fit = fits(scene.kinds.of_name(word), kind) if word not in (text, target) else 0.0
        if fit:
            yield name(word), 0.12 * fit * ready
    parts = scene.file.parts(node)
    for other, weight in near.of(spot):
        shown = scene.text(other)
        fit = fits(scene.kind(other), kind) if kind else 0.5 * (not scene.kind(other) or is_number(scene.kind(other)))
        if fit and shown not in (text, target) and shown not in parts:
            yield other, weight * max(fit, 0.7)


def _target(scene: Scene, spot: Spot) -> str:
    """What the value at a spot goes to, as text."""
    parent = spot.parent
    if isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Name | ast.Attribute | ast.Subscript):
        return scene.text(parent.targets[0])
    return ""


def _loaded(spot: Spot) -> ast.expr:
    """The target of an assignment, to be read."""
    assert isinstance(spot.parent, ast.Assign)
    return ast.parse(ast.unparse(spot.parent.targets[0]), mode="eval").body


def _circled(scene: Scene, spot: Spot, node: ast.expr) -> Iterator[Edit]:
    kind, text = scene.kind(node), scene.text(node)
    if spot.truth or _is_plain(node) or (kind and not kind & INT):
        return
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        return
    weight = _place(scene, spot) * (1.0 if kind else 0.4)
    for other, share in _moduli(scene, spot) if weight else ():
        new = binary(node, ast.Mod, other)
        yield from swap(spot, new, "operand", weight * share, become(text, ast.unparse(new)))


def _place(scene: Scene, spot: Spot) -> float:
    """How usual it is that a number starts again at an end here."""
    parent = spot.parent
    if isinstance(parent, ast.Subscript) and spot.field == "slice":
        return 1.0 if not scene.kind(parent.value) or scene.kind(parent.value) & SEQUENCE else 0.0
    if isinstance(parent, ast.Call):
        return 0.8 if called(parent) == "chr" else 0.15
    if isinstance(parent, ast.BinOp):
        return 0.8 if isinstance(spot.node, ast.BinOp) else 0.2
    return 0.4 if isinstance(parent, ast.Assign | ast.Return | ast.Tuple | ast.AugAssign) else 0.0


def _moduli(scene: Scene, spot: Spot) -> Iterator[tuple[ast.expr, float]]:
    """Lengths of what is visible, whole numbers of the file and its tests, and variables."""
    parent = spot.parent
    holder = parent.value if isinstance(parent, ast.Subscript) else None
    if isinstance(holder, ast.Name | ast.Attribute):
        yield call("len", holder), 0.3
    for word in spot.visible.near:
        kind = scene.kinds.of_name(word)
        if kind & SIZED and not (isinstance(holder, ast.Name) and holder.id == word):
            yield call("len", name(word)), 0.1
        elif kind & INT:
            yield name(word), 0.08
    letters = {"chr", "ord"} <= scene.file.calls
    if letters:
        yield number(_LETTERS), 0.12
    told = (int(word) for word in scene.ground.words.constants if word.isdecimal())
    for value in [value for value in told if value > 1 and not (letters and value == _LETTERS)][:6]:
        yield number(value), 0.06
