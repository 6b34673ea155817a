"""What a generator of edits works on: one scope of one file, with what is known about it."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field

from repair.tree import Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """Words that a mend may use: constants (`repr`) and names of file, tests and docstrings, the commonest first.

    `texts` are the file and its tests, for spelling.
    """

    constants: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """One scope of one file.

    Attributes:
        path: the file.
        tree: its syntax tree.
        scope: the place of the outermost function; empty for the statements of the module and of its classes.
        lines: those where edits may begin, each with its suspicion from 0 to 1.
        kinds: the names of the types that a variable of the scope was seen to have.
        words: what else may be used.
        troubles: kinds of exceptions that end failing tests, such as `IndexError`, with their messages.
    """

    path: str
    tree: ast.Module
    scope: Place
    lines: Mapping[int, float]
    kinds: Mapping[str, frozenset[str]] = field(default_factory=dict)
    words: Vocabulary = field(default_factory=Vocabulary)
    troubles: tuple[tuple[str, str], ...] = ()
