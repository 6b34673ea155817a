"""Edits of whether something is called at all: forgotten parentheses, and a forgotten `await`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from models.repair.edit import Edit
from models.repair.edits.scene import Scene, scene_of
from models.repair.edits.spot import Spot
from models.repair.edits.swapping import become, called, swap
from models.repair.ground import Ground
from models.repair.kinds import CALLABLE
from models.repair.tree import Function, at

KIND = "calling"
_PLAIN_METHODS = frozenset(
    ("lower", "upper", "strip", "split", "keys", "values", "items", "copy", "pop", "sort", "isdigit", "isalpha")
)
"""Methods without arguments that are also forgotten to be called."""


def calling(ground: Ground) -> Iterator[Edit]:
    """`x.f` becomes `x.f()`, and a call of a coroutine of the file is awaited."""
    scene = scene_of(ground)
    for spot, node in scene.of(ast.Call):
        if called(node) in scene.file.coroutines and spot.whole and _could_await(scene, spot):
            text = scene.text(node)
            yield from swap(spot, ast.Await(value=node), KIND, 0.9, become(text, f"await {text}"))
    for spot, value in scene.values:
        yield from _not_called(scene, spot, value)


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
