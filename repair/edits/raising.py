"""Edits of exceptions: another one raised or caught, and a text that was raised without one."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator

from repair.edit import Edit
from repair.edits.scene import Scene, scene_of
from repair.edits.spot import Spot
from repair.edits.swapping import LOAD, become, call, likeliest, name, same, swap
from repair.ground import Ground
from repair.kinds import STR

KIND = "exception"
_MOST = 200
_USUAL = ("ValueError", "TypeError", "KeyError", "IndexError", "Exception")
_LOOKED_UP = frozenset({"KeyError", "IndexError", "AttributeError", "LookupError"})
_CONVERTED = frozenset({"ValueError", "TypeError", "ArithmeticError", "ZeroDivisionError", "OverflowError"})


def raising(ground: Ground) -> Iterator[Edit]:
    """Another exception in `raise` and `except`, two for one, and `raise "…"` with an exception around the text."""
    scene = scene_of(ground)
    yield from likeliest(_all(scene), ground, _MOST)


def _all(scene: Scene) -> Iterator[Edit]:
    known = _known(scene)
    for spot, node in scene.values:
        if isinstance(spot.parent, ast.Raise) and spot.field == "exc":
            yield from _raised(scene, spot, node, known)
    for spot, tried in scene.of(ast.Try):
        for index, handler in enumerate(tried.handlers):
            if handler.type is not None:  # what ended a test is caught by the edits of jumps
                yield from _caught(scene, spot, (index, handler), known)


def _known(scene: Scene) -> dict[str, float]:
    """Exceptions by name, with how likely each is meant: those that the file or its tests name come first."""
    words = scene.ground.words
    tested = [word for text in words.texts[1:] for word in _USUAL if word in text]
    found = dict.fromkeys(_USUAL, 0.2) | dict.fromkeys((*words.names, *tested), 0.6)
    own = {word for word, item in scene.outside.classes.items() if _is_exception_class(item)}
    return {word: weight for word, weight in found.items() if word in own or _is_builtin(word)}


def _is_exception_class(node: ast.ClassDef) -> bool:
    bases = [base.id for base in node.bases if isinstance(base, ast.Name)]
    return any(base.endswith(("Error", "Exception")) for base in bases)


def _is_builtin(word: str) -> bool:
    kind = getattr(builtins, word, None)
    return isinstance(kind, type) and issubclass(kind, Exception) and not issubclass(kind, Warning)


def _raised(scene: Scene, spot: Spot, node: ast.expr, known: dict[str, float]) -> Iterator[Edit]:
    text, made = scene.text(node), node.func if isinstance(node, ast.Call) else node
    loose = isinstance(node, ast.Constant | ast.JoinedStr) or scene.kind(node) == STR
    for word, weight in known.items():
        if loose:
            yield from swap(spot, call(word, node), KIND, 0.4 + 0.5 * weight, become(text, f"{word}({text})"))
        elif isinstance(made, ast.Name) and made.id != word:
            args = node.args if isinstance(node, ast.Call) else []
            new = ast.Call(func=name(word), args=args, keywords=[]) if isinstance(node, ast.Call) else name(word)
            yield from swap(spot, new, KIND, 0.5 * weight * _near(made.id, word), become(made.id, word))


def _near(old: str, new: str) -> float:
    """How readily two exceptions are taken for each other."""
    return 1.0 if any({old, new} <= group for group in (_LOOKED_UP, _CONVERTED)) else 0.6


def _caught(scene: Scene, spot: Spot, found: tuple[int, ast.ExceptHandler], known: dict[str, float]) -> Iterator[Edit]:
    """Another exception caught, or one more."""
    index, handler = found
    old, text = handler.type, scene.text(handler.type) if handler.type else ""
    present = old.elts if isinstance(old, ast.Tuple) else [old] if old else []
    if any(isinstance(one, ast.Name) and one.id == "Exception" for one in present):
        return
    line = handler.lineno if handler.lineno in scene.ground.lines else spot.line
    place = (*spot.place, ("handlers", index), ("type", None))
    for word, weight in known.items():
        if any(isinstance(one, ast.Name) and one.id == word for one in present):
            continue
        both = ast.Tuple(elts=[*present, name(word)], ctx=LOAD)
        for new, share in ((name(word), 0.6 * _near(text, word)), (both, 0.4)):
            if not same(old, new):
                note = become(f"except {text}", f"except {ast.unparse(new)}")
                yield Edit(kind=KIND, place=place, new=(new,), weight=weight * share, line=line, note=note)
