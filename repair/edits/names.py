"""Edits of names: a variable, an attribute or a called function replaced by another visible one of fitting kind."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from repair.edit import Edit
from repair.edits.scene import Scene, scene_of
from repair.edits.spot import Spot
from repair.edits.swapping import LOAD, become, likeliest, name, swap
from repair.ground import Ground
from repair.kinds import CALLABLE, NUMBER, SEQUENCE, SIZED, Kind, fits
from repair.tree import Function

KIND = "name"
_NAMED = re.compile(r"'(\w+)'")
_MOST = 1200
_OF_WRONG_KIND = ("TypeError", "AttributeError", "KeyError")
_LATER, _OUTER = 0.15, 0.3
"""What is set only later, and variables of the module, are meant less often than what is set before."""


def names(ground: Ground) -> Iterator[Edit]:
    """Another name where one is read, called, or given a value."""
    scene = scene_of(ground)
    yield from likeliest(_all(scene), ground, _MOST)


def _all(scene: Scene) -> Iterator[Edit]:
    lost = _without_value(scene.ground)
    for spot, node in scene.values:
        if isinstance(node, ast.Name) and node.id in lost:
            yield from _any_variable(scene, spot, node)
        if isinstance(node, ast.Name | ast.Attribute):
            yield from _other_variable(scene, spot, node)
        elif (
            isinstance(node, ast.Subscript | ast.Call | ast.Constant | ast.BinOp | ast.UnaryOp | ast.JoinedStr)
            or spot.truth
        ):
            yield from _variable_instead(scene, spot, node)
    for spot, called in scene.of(ast.Call):
        yield from _other_function(scene, spot, called)
    for spot, target in scene.of(ast.Name):
        if isinstance(target.ctx, ast.Store):
            yield from _other_target(scene, spot, target)
    for spot, attribute in scene.of(ast.Attribute):
        yield from _other_attribute(scene, spot, attribute)


def variables(scene: Scene, spot: Spot) -> Iterator[tuple[str, float]]:
    """The variables that are visible at a spot, attributes of the own object among them, and how readily they serve."""
    visible = spot.visible
    for word in visible.near:
        if word != visible.owner:
            yield word, 1.0
    for word in visible.attributes:
        yield f"{visible.owner}.{word}", 0.8
    for word in visible.later:
        yield word, _LATER
    for word in scene.outside.variables:
        if word not in visible.near:
            yield word, _OUTER


def _other_variable(scene: Scene, spot: Spot, node: ast.Name | ast.Attribute) -> Iterator[Edit]:
    text, wanted, least = scene.text(node), scene.wanted(spot), _least(scene.ground)
    if isinstance(node, ast.Name) and (node.id in scene.outside.imports or node.id in _functions(scene)):
        return
    for word, near in variables(scene, spot):
        kind = scene.kinds.of_name(word)
        fit = max(fits(kind, wanted), least)
        if _is_gone_into(spot) and kind & SEQUENCE and wanted & SEQUENCE:
            fit = max(fit, 0.5)
        if isinstance(spot.parent, ast.Attribute) and _lacks(wanted, kind, spot.parent.attr):
            fit = 0.9
        if word != text:
            prior = 0.9 if _alike(word, text) else 0.6 * near
            yield from swap(spot, name(word), KIND, prior * fit, become(text, word))


def _without_value(ground: Ground) -> frozenset[str]:
    """The names that were read in failing tests before they had a value."""
    messages = [message for kind, message in ground.troubles if kind in ("NameError", "UnboundLocalError")]
    return frozenset(word for message in messages for word in _NAMED.findall(message))


def _is_gone_into(spot: Spot) -> bool:
    """Whether an item of it, each of its items, or their number is asked for: of a text as well as of a list."""
    inside = isinstance(spot.parent, ast.Subscript) and spot.field == "value"
    return inside or spot.field == "iter" or (spot.call is not None and getattr(spot.call.func, "id", "") == "len")


def _lacks(one: Kind, other: Kind, attribute: str) -> bool:
    """Whether things of one kind are known to have no such attribute, and those of the other to have it."""
    known = bool(one) and one <= _BUILTIN.keys() and not any(hasattr(_BUILTIN[word], attribute) for word in one)
    return known and any(hasattr(_BUILTIN[word], attribute) for word in other & _BUILTIN.keys())


_BUILTIN = {kind.__name__: kind for kind in (list, dict, set, str, tuple, int, float, bytes, frozenset)}


def _alike(one: str, other: str) -> bool:
    """Whether two names are easily taken for each other: `total` and `self.total`, `word` and `words`."""
    short, long = sorted((one.rpartition(".")[2], other.rpartition(".")[2]), key=len)
    return long == short or (len(short) > 2 and long in (f"{short}s", f"{short}es"))


def _least(ground: Ground) -> float:
    """How well a variable of another kind may do: better where something was seen to have the wrong one."""
    return 0.3 if any(kind in _OF_WRONG_KIND for kind, _ in ground.troubles) else 0.05


def _any_variable(scene: Scene, spot: Spot, node: ast.Name) -> Iterator[Edit]:
    """Each visible variable for a name without a value: nothing can be told of the kind that was meant."""
    for word, near in variables(scene, spot):
        if word != node.id and near > _LATER:
            yield from swap(spot, name(word), KIND, 0.7 * near, become(node.id, word))


def _functions(scene: Scene) -> tuple[str, ...]:
    return (*scene.outside.functions, *scene.outside.classes)


def _variable_instead(scene: Scene, spot: Spot, node: ast.expr) -> Iterator[Edit]:
    """A variable where a larger expression or a constant stands."""
    text, wanted = scene.text(node), scene.wanted(spot)
    if isinstance(spot.parent, ast.Attribute) and not wanted:
        return
    prior = 0.3 if isinstance(node, ast.Constant | ast.Subscript) else 0.2
    if spot.truth and isinstance(node, ast.Constant):
        prior = 0.6
    for word, near in variables(scene, spot):
        kind = scene.kinds.of_name(word)
        # Where only the truth counts, what may be empty, zero or false is as good as any.
        fit = 1.0 if spot.truth and kind & (SIZED | NUMBER) else fits(kind, wanted)
        if fit:
            yield from swap(spot, name(word), KIND, prior * near * fit, become(text, word))


def _other_function(scene: Scene, spot: Spot, node: ast.Call) -> Iterator[Edit]:
    """A call of another function of the file that takes as many arguments; of another method of the same object."""
    given = len(node.args) + len(node.keywords)
    if isinstance(node.func, ast.Name) and node.func.id not in spot.visible.near:
        if scene.kinds.of_name(node.func.id) != CALLABLE and node.func.id not in _functions(scene):
            return
        for word, function in scene.outside.functions.items():
            if word != node.func.id and takes(function, given):
                fit = fits(scene.kinds.of_call(word), scene.kind(node))
                new = ast.Call(func=name(word), args=node.args, keywords=node.keywords)
                yield from swap(spot, new, KIND, 0.4 * fit, become(f"{node.func.id}(…)", f"{word}(…)"))
    elif isinstance(node.func, ast.Attribute) and scene.text(node.func.value) == spot.visible.owner:
        for word, function in spot.visible.methods.items():
            if word != node.func.attr and takes(function, given + 1) and not word.startswith("__"):
                func = ast.Attribute(value=node.func.value, attr=word, ctx=LOAD)
                new = ast.Call(func=func, args=node.args, keywords=node.keywords)
                yield from swap(spot, new, KIND, 0.4, become(f"{node.func.attr}(…)", f"{word}(…)"))


def takes(function: Function, count: int) -> bool:
    """Whether a function can be called with so many arguments."""
    args = function.args
    most = len(args.posonlyargs) + len(args.args) + len(args.kwonlyargs)
    least = most - len(args.defaults) - sum(1 for default in args.kw_defaults if default is not None)
    return count >= least and (count <= most or bool(args.vararg or args.kwarg))


def _other_target(scene: Scene, spot: Spot, node: ast.Name) -> Iterator[Edit]:
    """Another variable gets the value."""
    if not isinstance(spot.parent, ast.Assign | ast.AugAssign | ast.Tuple) or spot.up is None:
        return
    value = getattr(spot.parent, "value", None)
    wanted: Kind = scene.kind(value) if value is not None else scene.kinds.of_name(node.id)
    for word in (*spot.visible.near, *spot.visible.later):
        fit = fits(scene.kinds.of_name(word), wanted)
        if word != node.id and fit and word != spot.visible.owner:
            new = ast.Name(id=word, ctx=ast.Store())
            yield from swap(spot, new, KIND, 0.3 * fit, f"the value goes to `{word}` instead of `{node.id}`")


def _other_attribute(scene: Scene, spot: Spot, node: ast.Attribute) -> Iterator[Edit]:
    """Another attribute of the same object: one of the class for the own object, one that the file reads for others."""
    if spot.field == "func" or isinstance(node.ctx, ast.Del):
        return
    own = isinstance(node.value, ast.Name) and node.value.id == spot.visible.owner
    if isinstance(node.value, ast.Name) and node.value.id in scene.outside.imports:
        return
    for attr in spot.visible.attributes if own else scene.file.attributes:
        prior = 0.5 * (fits(scene.kinds.of_name(f"self.{attr}"), scene.kind(node)) if own else 0.8)
        if attr != node.attr and (not own or isinstance(node.ctx, ast.Store)):
            new = ast.Attribute(value=node.value, attr=attr, ctx=node.ctx)
            yield from swap(spot, new, KIND, prior, become(f".{node.attr}", f".{attr}"))
