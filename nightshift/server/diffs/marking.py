"""Highlights code as lines of (class, text) pairs, on the server, so that answers never contain markup.

The classes are few and have short names, because each piece of text carries one: k keyword, s string, c comment, m
number, f function, t type, b built-in, d decorator, and "" plain. A text that would take long to highlight (one huge
line or a huge file) stays plain.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pygments.lexer import Lexer  # type: ignore[import-untyped]  # it has no type hints

Piece = tuple[str, str]
"""The class of a piece of text, and the text."""
Line = tuple[Piece, ...]

MOST_CHARS = 40_000
"""Maximum number of characters of a file that is highlighted. A lexer reads about 400,000 characters a second."""
MOST_LINE = 2_000
_LANGUAGES = {
    "py": "python", "pyi": "python", "js": "javascript", "mjs": "javascript", "cjs": "javascript", "jsx": "javascript",
    "ts": "typescript", "tsx": "typescript", "json": "json", "toml": "toml", "yaml": "yaml", "yml": "yaml",
    "html": "html", "css": "css", "sql": "sql", "sh": "bash", "md": "markdown", "cfg": "ini", "ini": "ini",
    "c": "c", "h": "c", "cpp": "cpp", "go": "go", "rs": "rust", "java": "java", "xml": "xml",
}  # fmt: skip
_CLASSES = (
    ("Token.Comment", "c"), ("Token.Literal.String.Doc", "c"), ("Token.Literal.String", "s"),
    ("Token.Literal.Number", "m"), ("Token.Keyword", "k"), ("Token.Operator.Word", "k"), ("Token.Name.Decorator", "d"),
    ("Token.Name.Function", "f"), ("Token.Name.Class", "t"), ("Token.Name.Exception", "t"), ("Token.Name.Builtin", "b"),
    ("Token.Name.Tag", "k"), ("Token.Name.Attribute", "f"), ("Token.Generic.Heading", "k"),
)  # fmt: skip


_WORDS = re.compile(r"\w+|\s+|[^\w\s]")


def language_of(path: str) -> str:
    """Return the language of a file by its extension, empty if files with this extension are not highlighted."""
    return _LANGUAGES.get(path.rpartition(".")[2].lower(), "") if "." in path else ""


def lines_of(text: str, path: str) -> Sequence[Line]:
    """Return the lines of a file, highlighted if its language is known and the file is not too long."""
    language = language_of(path)
    lines = text.split("\n")
    if not language or len(text) > MOST_CHARS or max(map(len, lines)) > MOST_LINE:
        return [(("", line),) if line else () for line in lines]
    return _highlight(text, language)


@lru_cache(maxsize=64)
def _highlight(text: str, language: str) -> Sequence[Line]:
    lines: list[Line] = []
    line: list[Piece] = []
    for kind, value in _lexer(language).get_tokens(text):
        for number, part in enumerate(value.split("\n")):
            if number:
                lines.append(tuple(line))
                line = []
            if part:
                _add(line, _class_of(str(kind)), part)
    return (*lines, tuple(line))


def _add(line: list[Piece], kind: str, text: str) -> None:
    """Append a piece, or extend the last piece if the class is the same or the text is only whitespace."""
    if line and (line[-1][0] == kind or text.isspace()):
        line[-1] = (line[-1][0], line[-1][1] + text)
    else:
        line.append((kind, text))


@lru_cache(maxsize=256)
def _class_of(kind: str) -> str:
    return next((short for name, short in _CLASSES if kind.startswith(name)), "")


@lru_cache(maxsize=32)
def _lexer(language: str) -> Lexer:
    from pygments.lexers import (  # type: ignore[import-untyped]  # noqa: PLC0415  most requests need no lexer
        get_lexer_by_name,
    )

    return get_lexer_by_name(language, stripnl=False, ensurenl=False)


def cut_at(line: Line, marks: Sequence[tuple[int, int]], extra: str) -> Line:
    """Return the line with the class `extra` added to all text inside the ranges, which are sorted and disjoint."""
    return tuple(_cut(line, marks, extra)) if marks else line


def _cut(line: Line, marks: Sequence[tuple[int, int]], extra: str) -> Iterator[Piece]:
    edges = sorted({edge for mark in marks for edge in mark})
    at = 0
    for kind, text in line:
        inner = [edge - at for edge in edges if at < edge < at + len(text)]
        for start, end in zip([0, *inner], [*inner, len(text)], strict=True):
            marked = any(first <= at + start < last for first, last in marks)
            yield (f"{kind} {extra}".strip() if marked else kind, text[start:end])
        at += len(text)


def words(text: str) -> list[str]:
    """Split a line into words, whitespace and single punctuation characters. Joined, they give the line again."""
    return _WORDS.findall(text)
