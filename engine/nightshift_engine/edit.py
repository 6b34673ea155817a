"""Defines an edit (the replaced nodes, the new nodes and a weight), and the context in which edit operators work."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nightshift_engine.tree import Place, replace, splice


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """Constants (as `repr`) and names that a fix may use, from the file, its tests and docstrings, the commonest first.

    `texts` are the texts of the file and its tests, used for spelling.
    """

    constants: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EditContext:
    """One scope of one file, as edit operators see it.

    Attributes:
        path: the file.
        tree: the file's syntax tree.
        scope: the place of the outermost function; empty for the statements of the module and of its classes.
        lines: the lines where edits may begin, each with its suspicion from 0 to 1.
        kinds: maps each variable of the scope to the names of the types that it had at run time.
        words: further constants and names that an edit may use.
        errors: kinds of the exceptions that end failing tests, such as `IndexError`, with their messages.
    """

    path: str
    tree: ast.Module
    scope: Place
    lines: Mapping[int, float]
    kinds: Mapping[str, frozenset[str]] = field(default_factory=dict)
    words: Vocabulary = field(default_factory=Vocabulary)
    errors: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """One edit of a tree.

    If `count` is None, the node at `position` is replaced by the node in `new`. Otherwise `count` statements from
    `position` on are replaced by the statements in `new`. With a count of 0 they are inserted before `position`.

    Attributes:
        kind: a stable short name, such as `comparison` or `off_by_one`.
        weight: how likely an edit of this kind fixes a fault whose location is unknown. 1.0 is a common slip such as a
            wrong comparison; an edit of 0.1 is a tenth as likely.
        line: the line of the file whose suspicion applies to the edit.
        note: what the edit does in a few words, with code in backquotes.
    """

    kind: str
    position: Place
    new: tuple[ast.AST, ...]
    count: int | None = None
    weight: float = 1.0
    line: int
    note: str = ""

    def apply(self, tree: ast.AST) -> Any:
        """Return the tree with this edit; the edit must have been made for this tree."""
        if self.count is None:
            return replace(tree, self.position, self.new[0])
        return splice(tree, self.position, self.count, self.new)  # type: ignore[arg-type] # statements, by construction


EditOperator = Callable[[EditContext], Iterator[Edit]]
"""Function that makes all edits of one kind in a scope. If several operators make the same edit, it is tried once."""


__all__ = ["Vocabulary", "vocabulary"]

_OWN, _DESCRIBED, _TESTED = 5, 3, 1
"""Weights of a word by its source. A file counts more than its tests, because tests are full of arbitrary input."""
_MOST_CONSTANTS, _MOST_NAMES, _LONGEST = 60, 300, 40
_WORD = re.compile(r"[A-Za-z_]\w*")
_QUOTED = re.compile(r"(?<!\w)(?:'[^'\n]*'|\"[^\"\n]*\"|\d+(?:\.\d+)?)(?!\w)")


def vocabulary(text: str, tests: Sequence[str] = (), prose: Sequence[str] = ()) -> Vocabulary:
    """Collect the vocabulary of a file with this text; `prose` is the task's description and similar texts.

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
    for described in prose:
        _count_prose(described, constants, names, _DESCRIBED)
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
                _count_prose(str(node.value), constants, names, min(weight, _DESCRIBED))
            elif _is_word(node.value):
                constants[repr(node.value)] += weight
        for name in _names(node):
            names[name] += weight


def _count_prose(prose: str, constants: Counter[str], names: Counter[str], weight: int) -> None:
    for literal in _QUOTED.findall(prose):
        try:
            value = ast.literal_eval(literal)
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
    for attribute in ("id", "attr", "arg", "name"):
        value = getattr(node, attribute, None)
        if isinstance(value, str):
            yield value


def _docstrings(tree: ast.Module) -> Iterable[ast.Constant]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value
