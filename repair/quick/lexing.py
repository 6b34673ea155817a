"""Tokens of single lines that need not be Python, for edits at their edges."""

from __future__ import annotations

import re
from dataclasses import dataclass

CLOSERS = {"(": ")", "[": "]", "{": "}"}
OPENERS = {closer: opener for opener, closer in CLOSERS.items()}
HEADERS = frozenset({
    "def", "class", "if", "elif", "else", "for", "while", "try", "except", "finally", "with", "async", "match", "case",
})  # fmt: skip
_TOKEN = re.compile(
    r"""(?P<comment>\#.*)
    | (?P<string>[rbfuRBFU]{0,2}(?:\"\"\".*?\"\"\"|'''.*?'''|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'))
    | (?P<number>\d[\w.]*)
    | (?P<name>\w+)
    | (?P<operator>\*\*=?|//=?|>>=?|<<=?|[-+*/%@&|^<>=!:]=|->|\S)""",
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of a line from `start` to `end`; `kind` is comment, string, number, name or operator."""

    kind: str
    text: str
    start: int
    end: int


def tokens(line: str) -> list[Token]:
    """The tokens of a line; a quote without its partner is an operator of its own."""
    return [Token(str(hit.lastgroup), hit.group(), hit.start(), hit.end()) for hit in _TOKEN.finditer(line)]


def code_end(line: str) -> int:
    """Where the code of a line ends: before its comment and the blanks before that."""
    for token in tokens(line):
        if token.kind == "comment":
            return len(line[: token.start].rstrip())
    return len(line.rstrip())


def indent_of(line: str) -> str:
    """The blanks that a line begins with."""
    return line[: len(line) - len(line.lstrip())]


def first_word(line: str) -> str:
    """The first word of a line, or the empty text."""
    found = re.match(r"\s*([A-Za-z_]\w*)", line)
    return found.group(1) if found else ""


def is_header(line: str) -> bool:
    """Tell whether a line begins as one that opens a block."""
    return first_word(line) in HEADERS


def spliced_line(lines: list[str], number: int, start: int, end: int, new: str) -> str:
    """The whole text with a part of the line of this index replaced."""
    line = lines[number]
    return "\n".join([*lines[:number], line[:start] + new + line[end:], *lines[number + 1 :]])
