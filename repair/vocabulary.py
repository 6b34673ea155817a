"""The words that a mend may use: constants and names of a file, of its tests, and of what is said about it."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from repair.ground import Vocabulary

__all__ = ["Vocabulary", "vocabulary"]

_OWN, _TOLD, _TESTED = 5, 3, 1
"""A word of the file itself counts so much more than one of its tests, which are full of arbitrary input."""
_MOST_CONSTANTS, _MOST_NAMES, _LONGEST = 60, 300, 40
_WORD = re.compile(r"[A-Za-z_]\w*")
_QUOTED = re.compile(r"(?<!\w)(?:'[^'\n]*'|\"[^\"\n]*\"|\d+(?:\.\d+)?)(?!\w)")


def vocabulary(text: str, tests: Sequence[str] = (), told: Sequence[str] = ()) -> Vocabulary:
    """The words of a file with this text; `told` are the task's description and the like.

    Code that cannot be parsed counts as prose.
    """
    constants: Counter[str] = Counter()
    names: Counter[str] = Counter()
    for source, weight in ((text, _OWN), *((test, _TESTED) for test in tests)):
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError):
            _count_prose(source, constants, names, weight)
            continue
        _count_code(tree, constants, names, weight)
    for prose in told:
        _count_prose(prose, constants, names, _TOLD)
    return Vocabulary(
        constants=tuple(word for word, _ in constants.most_common(_MOST_CONSTANTS)),
        names=tuple(word for word, _ in names.most_common(_MOST_NAMES)),
        texts=(text, *tests),
    )


def _count_code(tree: ast.Module, constants: Counter[str], names: Counter[str], weight: int) -> None:
    docstrings = {id(node) for node in _docstrings(tree)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant):
            if id(node) in docstrings:
                _count_prose(str(node.value), constants, names, min(weight, _TOLD))
            elif _is_word(node.value):
                constants[repr(node.value)] += weight
        for name in _names(node):
            names[name] += weight


def _count_prose(prose: str, constants: Counter[str], names: Counter[str], weight: int) -> None:
    for found in _QUOTED.findall(prose):
        try:
            value = ast.literal_eval(found)
        except (SyntaxError, ValueError):
            continue
        if _is_word(value):
            constants[repr(value)] += weight
    for word in set(_WORD.findall(prose)):
        names[word] += weight if "_" in word else 0


def _is_word(value: object) -> bool:
    if isinstance(value, bool):
        return False
    return isinstance(value, int | float) or (isinstance(value, str) and len(value) <= _LONGEST)


def _names(node: ast.AST) -> Iterator[str]:
    for field in ("id", "attr", "arg", "name"):
        value = getattr(node, field, None)
        if isinstance(value, str):
            yield value


def _docstrings(tree: ast.Module) -> Iterable[ast.Constant]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value
