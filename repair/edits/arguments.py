"""Edits of arguments: swapped, dropped, unpacked, or one more where the callee takes it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import combinations

from repair.edit import Edit
from repair.edits.names import variables
from repair.edits.scene import Scene, scene_of
from repair.edits.spot import Spot
from repair.edits.swapping import (
    LOAD,
    called,
    likeliest,
    name,
    number,
    parsed,
    swap,
    with_item,
    without,
)
from repair.ground import Ground
from repair.kinds import fits
from repair.tree import Function

KIND = "argument"
_MOST = 700
_DEFAULTS = ("0", "None", "''", "[]", "1", "False", "{}")
_OF_ONE = {
    *("abs", "all", "any", "append", "bool", "chr", "extend", "hash", "id", "isdigit", "iter", "join", "keys", "len"),
    *("list", "lower", "ord", "popleft", "range", "repr", "reversed", "set", "sorted", "tuple", "upper", "values"),
    "items",
}
_WITH_DEFAULT = {"get": 2, "pop": 2, "setdefault": 2, "next": 2, "getattr": 3}


def arguments(ground: Ground) -> Iterator[Edit]:
    """Other arguments of the calls that are there."""
    scene = scene_of(ground)
    yield from likeliest(_all(scene), ground, _MOST)


def _all(scene: Scene) -> Iterator[Edit]:
    for spot, node in scene.of(ast.Call):
        yield from _reordered(scene, spot, node)
        yield from _dropped(scene, spot, node)
        yield from _unpacked(scene, spot, node)
        yield from _usual(scene, spot, node)
        yield from _added(scene, spot, node)


def _callee(scene: Scene, spot: Spot, node: ast.Call) -> tuple[Function | None, int]:
    """The function of the file that is called, and how many of its parameters are filled by the object."""
    if isinstance(node.func, ast.Name):
        owner = scene.outside.classes.get(node.func.id)
        if owner is not None:
            inits = (item for item in owner.body if isinstance(item, Function) and item.name == "__init__")
            return next(inits, None), 1
        return scene.outside.functions.get(node.func.id), 0
    if isinstance(node.func, ast.Attribute):
        own = scene.text(node.func.value) == spot.visible.owner
        return (spot.visible.methods if own else scene.file.methods).get(node.func.attr), 1
    return None, 0


def _reordered(scene: Scene, spot: Spot, node: ast.Call) -> Iterator[Edit]:
    args, text = node.args, scene.text(node)
    if len(args) < 2 or any(isinstance(arg, ast.Starred) for arg in args) or called(node) in ("max", "min"):
        return
    for one, other in combinations(range(len(args)), 2):
        turned = list(args)
        turned[one], turned[other] = args[other], args[one]
        fit = fits(scene.kind(args[one]), scene.kind(args[other]))
        new = ast.Call(func=node.func, args=turned, keywords=node.keywords)
        yield from swap(spot, new, KIND, 0.25 + 0.5 * fit, f"arguments of `{text}` swapped")
    if len(args) == 3:
        for order in ((1, 2, 0), (2, 0, 1)):
            new = ast.Call(func=node.func, args=[args[index] for index in order], keywords=node.keywords)
            yield from swap(spot, new, KIND, 0.2, f"arguments of `{text}` in another order")


def _dropped(scene: Scene, spot: Spot, node: ast.Call) -> Iterator[Edit]:
    callee, bound = _callee(scene, spot, node)
    least = _least(callee, bound) if callee else 0
    few = len(node.args) + len(node.keywords)
    text = scene.text(node)
    for index, arg in enumerate(node.args):
        if few - 1 < least or (callee is None and few == 1 and not isinstance(node.func, ast.Attribute)):
            break
        new = ast.Call(func=node.func, args=without(node.args, index), keywords=node.keywords)
        prior = 0.4 if callee or isinstance(node.func, ast.Attribute) else 0.2
        yield from swap(spot, new, KIND, prior, f"the argument `{scene.text(arg)}` of `{text}` dropped")


def _unpacked(scene: Scene, spot: Spot, node: ast.Call) -> Iterator[Edit]:
    for index, arg in enumerate(node.args):
        if isinstance(arg, ast.Starred):
            new = _with_args(node, with_item(node.args, index, arg.value))
            yield from swap(spot, new, KIND, 0.3, f"`{scene.text(arg)}` not unpacked")
        elif scene.kind(arg) & {"list", "tuple"} and len(node.args) == 1:
            new = _with_args(node, [ast.Starred(value=arg, ctx=LOAD)])
            yield from swap(spot, new, KIND, 0.1, f"`{scene.text(arg)}` unpacked")


def _least(function: Function, bound: int) -> int:
    args = function.args
    needed = sum(1 for default in args.kw_defaults if default is None)
    return len(args.posonlyargs) + len(args.args) - len(args.defaults) - bound + needed


def _usual(scene: Scene, spot: Spot, node: ast.Call) -> Iterator[Edit]:
    """An argument that well-known methods and builtins may have besides: a default, an end, a separator."""
    text, word = scene.text(node), called(node)
    if len(node.args) + 1 == _WITH_DEFAULT.get(word):
        for default in _DEFAULTS:
            new = _with_args(node, [*node.args, parsed(default)])
            yield from swap(spot, new, KIND, 0.3, f"`{text}` with the default `{default}`")
    if word == "pop" and not node.args:
        for value in (0, -1):
            yield from swap(spot, _with_args(node, [number(value)]), KIND, 0.5, f"`pop({value})` for `pop()`")
    if word in ("split", "strip", "lstrip", "rstrip", "join") and not node.args:
        for separator in (" ", ",", "\n"):
            yield from swap(
                spot, _with_args(node, [ast.Constant(value=separator)]), KIND, 0.2, f"`{text}` with {separator!r}"
            )


def _added(scene: Scene, spot: Spot, node: ast.Call) -> Iterator[Edit]:
    """An argument more, where the function takes one; a variable of the parameter's own name first."""
    text = scene.text(node)
    callee, bound = _callee(scene, spot, node)
    if any(isinstance(arg, ast.Starred) for arg in node.args):
        return
    if callee is None:
        yield from _added_to_unknown(scene, spot, node)
        return
    params = [*callee.args.posonlyargs, *callee.args.args][bound:]
    if len(node.args) >= len(params) or {keyword.arg for keyword in node.keywords} & {arg.arg for arg in params}:
        return
    missing = params[len(node.args)].arg
    for word, near in variables(scene, spot):
        prior = 0.8 if word.split(".")[-1] == missing else 0.25
        for index in (len(node.args), *range(len(node.args))):
            new = _with_args(node, [*node.args[:index], name(word), *node.args[index:]])
            weight = prior * near * (1.0 if index == len(node.args) else 0.2)
            yield from swap(spot, new, KIND, weight, f"`{word}` added to `{text}`")
    for default in ("[]", "0", "1", "None", "True"):
        new = _with_args(node, [*node.args, parsed(default)])
        yield from swap(spot, new, KIND, 0.15, f"`{default}` added to `{text}`")


def _added_to_unknown(scene: Scene, spot: Spot, node: ast.Call) -> Iterator[Edit]:
    """An argument more for a function of which nothing is known; builtins of one argument are known."""
    text = scene.text(node)
    if called(node) in _OF_ONE:
        return
    for word, near in variables(scene, spot):
        new = _with_args(node, [*node.args, name(word)])
        yield from swap(spot, new, KIND, 0.05 * near, f"`{word}` added to `{text}`")


def _with_args(node: ast.Call, args: list[ast.expr]) -> ast.Call:
    return ast.Call(func=node.func, args=args, keywords=node.keywords)
