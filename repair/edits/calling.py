"""Edits of whether something is called at all: forgotten parentheses, a forgotten `await`, a parameter never called."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from repair.edit import Edit
from repair.edits.scene import Scene, scene_of
from repair.edits.spot import Spot
from repair.edits.swapping import become, call, called, swap
from repair.ground import Ground
from repair.kinds import CALLABLE, NONE
from repair.tree import Function, at

KIND = "calling"
_PLAIN_METHODS = frozenset(
    ("lower", "upper", "strip", "split", "keys", "values", "items", "copy", "pop", "sort", "isdigit", "isalpha")
)
"""Methods without arguments that are also forgotten to be called."""


def calling(ground: Ground) -> Iterator[Edit]:
    """`x.f` becomes `x.f()` and `x` becomes `f(x)` for a parameter `f`, a coroutine of the file is awaited."""
    scene = scene_of(ground)
    for spot, node in scene.of(ast.Call):
        if called(node) in scene.file.coroutines and spot.whole and _could_await(scene, spot):
            text = scene.text(node)
            yield from swap(spot, ast.Await(value=node), KIND, 0.9, become(text, f"await {text}"))
    held = _held(scene)
    for spot, value in scene.values:
        yield from _not_called(scene, spot, value)
        yield from _by_parameter(scene, spot, value, held)


def _held(scene: Scene) -> dict[str, float]:
    """Parameters that hold functions, or may: those asked whether they are None. What is called already comes later."""
    nodes = list(ast.walk(scene.root))
    given = {arg.arg for node in nodes if isinstance(node, ast.arguments) for arg in (*node.args, *node.kwonlyargs)}
    asked = {_asked(node) for node in nodes}
    used = {called(node) for node in nodes if isinstance(node, ast.Call)}
    found: dict[str, float] = {}
    for word in given:
        kind = scene.kinds.of_name(word)
        if CALLABLE & kind or (word in asked and kind <= NONE):
            found[word] = 0.25 if word in used else 0.6
    return found


def _asked(node: ast.AST) -> str:
    """The variable that a condition asks for None, or for its truth; empty for other nodes."""
    test = getattr(node, "test", node)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test = test.operand
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Is | ast.IsNot):
        test = test.left
    return test.id if isinstance(test, ast.Name) and test is not node else ""


def _by_parameter(scene: Scene, spot: Spot, node: ast.expr, held: Mapping[str, float]) -> Iterator[Edit]:
    """`x` becomes `f(x)` for a parameter `f`."""
    if spot.field in ("test", "func") or isinstance(node, ast.Constant | ast.Lambda | ast.Compare):
        return
    text = scene.text(node)
    for word, weight in held.items():
        if word in spot.visible.near and word not in scene.file.parts(node):
            near = 1.0 if _asked(spot.parent or node) == word else 0.4
            yield from swap(spot, call(word, node), KIND, weight * near, become(text, f"{word}({text})"))


def _not_called(scene: Scene, spot: Spot, node: ast.expr) -> Iterator[Edit]:
    """`x.f` becomes `x.f()`."""
    text = scene.text(node)
    if isinstance(node, ast.Attribute):
        own = node.attr in scene.file.methods
        if own or node.attr in _PLAIN_METHODS or node.attr in scene.file.calls:
            new = ast.Call(func=node, args=[], keywords=[])
            yield from swap(spot, new, KIND, 0.9 if own else 0.5, become(text, f"{text}()"))
    elif isinstance(node, ast.Name) and scene.kind(node) == CALLABLE and node.id not in scene.outside.classes:
        new = ast.Call(func=node, args=[], keywords=[])
        yield from swap(spot, new, KIND, 0.3, become(text, f"{text}()"))


def _could_await(scene: Scene, spot: Spot) -> bool:
    """Whether what stands at a spot is not awaited, and the innermost function around is a coroutine."""
    if isinstance(spot.parent, ast.Await):
        return False
    for end in range(len(spot.place), 0, -1):
        node = at(scene.ground.tree, spot.place[:end])
        if isinstance(node, Function | ast.Lambda):
            return isinstance(node, ast.AsyncFunctionDef)
    return False
