"""Edits that put an expression into a call or a display of one item, or take it out again."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from repair.edit import Edit
from repair.edits.expecting import expected
from repair.edits.names import takes
from repair.edits.scene import Scene, scene_of
from repair.edits.spot import Spot
from repair.edits.swapping import LOAD, become, call, called, display, likeliest, swap
from repair.ground import Ground
from repair.kinds import (
    BOOL,
    DICT,
    FLOAT,
    INT,
    ITERABLE,
    LIST,
    NONE,
    NUMBER,
    SEQUENCE,
    SET,
    SIZED,
    STR,
    TUPLE,
    UNKNOWN,
    Kind,
    fits,
)

KIND = "wrapping"
_MOST = 700
_TURNS: tuple[tuple[str, Kind, Kind, float], ...] = (
    ("len", SIZED, INT, 0.6),
    ("abs", INT | FLOAT, INT | FLOAT, 0.4),
    ("int", FLOAT | STR, INT, 0.4),
    ("str", INT | FLOAT | LIST, STR, 0.3),
    ("list", ITERABLE, LIST, 0.35),
    ("sorted", ITERABLE - STR, LIST, 0.4),
    ("set", ITERABLE - STR, SET, 0.3),
    ("tuple", ITERABLE - STR, TUPLE, 0.2),
    ("float", INT | STR, FLOAT, 0.2),
    ("round", FLOAT, INT, 0.2),
    ("sum", ITERABLE - STR, INT, 0.2),
    ("max", ITERABLE - STR, UNKNOWN, 0.15),
    ("min", ITERABLE - STR, UNKNOWN, 0.15),
    ("dict", DICT, DICT, 0.3),
    ("bool", UNKNOWN, BOOL, 0.05),
)
"""Builtins of one argument: what they take, what they give, and how usual it is to forget them."""


def wrapping(ground: Ground) -> Iterator[Edit]:
    """Calls put around an expression or taken off it; `[x]` for `x`."""
    scene = scene_of(ground)
    yield from likeliest(_all(scene), ground, _MOST)


def _all(scene: Scene) -> Iterator[Edit]:
    for spot, node in scene.values:
        yield from _in_builtin(scene, spot, node)
        yield from _in_own_function(scene, spot, node)
        yield from _as_elsewhere(scene, spot, node)
        yield from _in_display(scene, spot, node)
        if isinstance(node, ast.Call):
            yield from _unwrapped(scene, spot, node)


def _in_builtin(scene: Scene, spot: Spot, node: ast.expr) -> Iterator[Edit]:
    kind, text, wanted = scene.kind(node), scene.text(node), expected(spot, scene.kinds)
    if isinstance(node, ast.Constant | ast.Lambda) or (spot.truth and not kind & ITERABLE):
        return
    # A wrong kind that a test met may be that of what nothing is known of.
    doubt = 0.5 if any(trouble == "TypeError" for trouble, _ in scene.ground.troubles) else 0.25
    around = spot.call.func.id if spot.call and isinstance(spot.call.func, ast.Name) else ""
    for function, takes_kind, gives, prior in _TURNS:
        if function == around or (function == "bool" and kind != INT) or kind == gives == INT:
            continue
        if kind and not kind & takes_kind:
            continue
        sure = (1.0 if kind else doubt) * _asked(gives, wanted, spot) * (0.4 if kind == gives and kind else 1.0)
        if sure:
            new = call(function, node)
            if function == "abs" and isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
                sure *= 2
            yield from swap(spot, new, KIND, prior * sure, become(text, f"{function}({text})"))


def _asked(gives: Kind, wanted: Kind, spot: Spot) -> float:
    """How well what a call gives suits what the place asks for."""
    if isinstance(spot.parent, ast.Attribute | ast.Subscript) and spot.field == "value":
        return 0.1 if gives & SEQUENCE or not gives else 0.0
    if spot.truth:
        return 0.2
    return fits(gives, wanted) if wanted else 0.4


def _in_own_function(scene: Scene, spot: Spot, node: ast.expr) -> Iterator[Edit]:
    """A call of a function of the file that takes one argument, the function at hand among them."""
    if isinstance(node, ast.Lambda | ast.Constant) and isinstance(spot.parent, ast.Attribute):
        return
    text, wanted = scene.text(node), scene.wanted(spot)
    owns = isinstance(spot.parent, ast.Attribute)
    for word, function in scene.outside.functions.items():
        fit = fits(scene.kinds.of_call(word), wanted) if takes(function, 1) else 0.0
        if fit and not (isinstance(node, ast.Call) and getattr(node.func, "id", "") == word):
            prior = 0.15 if owns else 0.4 if function is scene.root else 0.2
            yield from swap(spot, call(word, node), KIND, prior * fit, become(text, f"{word}({text})"))
    for word, function in spot.visible.methods.items():
        if takes(function, 2) and not owns and not word.startswith("__") and not isinstance(node, ast.Constant):
            new = call(f"{spot.visible.owner}.{word}", node)
            yield from swap(spot, new, KIND, 0.1, become(text, f"{spot.visible.owner}.{word}({text})"))


def _as_elsewhere(scene: Scene, spot: Spot, node: ast.expr) -> Iterator[Edit]:
    """A call that occurs in the file: of a function with one argument, of a method without any."""
    text, kind = scene.text(node), scene.kind(node)
    if isinstance(spot.parent, ast.Attribute):
        yield from _in_chain(spot, node, text, kind)
        return
    if isinstance(node, ast.Constant | ast.Lambda):
        return
    known = {function for function, *_ in _TURNS}
    for function in scene.file.turns:
        if function not in known and function not in scene.outside.functions and not text.startswith(f"{function}("):
            fit = fits(scene.kind(call(function, node)), expected(spot, scene.kinds))
            yield from swap(spot, call(function, node), KIND, 0.25 * fit, become(text, f"{function}({text})"))
    usual = _OF_TEXT if kind == STR else _OF_COLLECTION if kind & (LIST | DICT | SET) else ()
    for word in dict.fromkeys((*usual, *(() if kind & NUMBER else scene.file.plain_methods))):
        if word not in scene.file.methods and not text.endswith(f".{word}()"):
            new = ast.Call(func=ast.Attribute(value=node, attr=word, ctx=LOAD), args=[], keywords=[])
            sure = 0.2 if word in usual else 0.08
            yield from swap(
                spot, new, KIND, sure * fits(scene.kind(new), scene.wanted(spot)), become(text, f"{text}.{word}()")
            )


def _in_chain(spot: Spot, node: ast.expr, text: str, kind: Kind) -> Iterator[Edit]:
    """`text.split()` becomes `text.lower().split()`."""
    called_next = getattr(spot.parent, "attr", "")
    if kind != STR and not (not kind and called_next in _ON_TEXT):
        return
    for word in _ON_TEXT[:3] if not isinstance(node, ast.Constant) else ():
        if word != called_next and not text.endswith(f".{word}()"):
            new = ast.Call(func=ast.Attribute(value=node, attr=word, ctx=LOAD), args=[], keywords=[])
            yield from swap(spot, new, KIND, 0.12 if kind else 0.06, become(text, f"{text}.{word}()"))


_ON_TEXT = ("lower", "strip", "upper", "split", "startswith", "endswith", "replace", "isalpha", "isdigit", "isalnum")
_OF_ONE = frozenset(word for word, *_ in _TURNS) - {"max", "min", "round", "sum", "int", "dict", "sorted"} | {"set"}
"""Builtins that take one argument, so that a call with several was meant for a tuple."""
_OF_TEXT, _OF_COLLECTION = ("strip", "lower", "split"), ("copy",)


def _in_display(scene: Scene, spot: Spot, node: ast.expr) -> Iterator[Edit]:
    kind, text = scene.kind(node), scene.text(node)
    if isinstance(node, ast.List | ast.Tuple | ast.Set) and len(node.elts) == 1:
        item = node.elts[0]
        if not isinstance(item, ast.Starred):
            yield from swap(spot, item, KIND, 0.4, become(text, scene.text(item)))
    elif not spot.truth and spot.field in ("args", "value", "left", "right", "elt", "elts", "values"):
        if isinstance(spot.parent, ast.Attribute | ast.Subscript | ast.Expr):
            return
        sure = 0.25 if expected(spot, scene.kinds) & LIST or _adds_to_list(spot) else 0.12
        yield from swap(spot, display(node), KIND, sure, become(text, f"[{text}]"))
        pair = ast.Tuple(elts=[node], ctx=LOAD)
        sure = 0.25 if expected(spot, scene.kinds) & TUPLE else 0.03
        yield from swap(spot, pair, KIND, sure if kind != NONE else 0.01, become(text, f"({text},)"))


def _adds_to_list(spot: Spot) -> bool:
    func = spot.call.func if spot.call else None
    return isinstance(func, ast.Attribute) and func.attr in ("append", "extend", "insert")


def _unwrapped(scene: Scene, spot: Spot, node: ast.Call) -> Iterator[Edit]:
    """`f(x)` becomes `x`, `x.f()` becomes `x`."""
    text = scene.text(node)
    inner = [(arg, 0.4) for arg in node.args if not isinstance(arg, ast.Starred)]
    if isinstance(node.func, ast.Attribute) and scene.text(node.func.value) not in scene.outside.imports:
        inner.append((node.func.value, 0.25))
    for part, prior in inner:
        fit = fits(scene.kind(part), scene.wanted(spot))
        told = prior * max(fit, 0.3)
        if not isinstance(part, ast.GeneratorExp) or spot.field in ("iter", "args", "value"):
            yield from swap(spot, part, KIND, told, become(text, scene.text(part)))
    if len(node.args) > 1 and not any(isinstance(arg, ast.Starred) for arg in node.args) and not spot.truth:
        many = ast.Tuple(elts=node.args, ctx=LOAD)
        prior = 0.4 if called(node) in _OF_ONE else 0.03
        yield from swap(spot, many, KIND, prior, become(text, f"({', '.join(map(scene.text, node.args))})"))
