"""A fix that needs no search, and helpers for the changed text: tokens of lines, names in trees, changes."""

from __future__ import annotations

import ast
import difflib
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from nightshift.core.code.parsing import parse_quietly
from nightshift_engine.evaluation import ErrorInfo
from nightshift_engine.tree import Function


@dataclass(frozen=True, slots=True, kw_only=True)
class QuickFix:
    """A new text for the file at `path`. `kind` is a stable short name, `note` describes the change in a few words."""

    path: str
    text: str
    kind: str
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """The place at which a text is no valid Python.

    `line` counts from 1, `column` from 0. `message` is the compiler's message.
    """

    line: int
    column: int
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Guess:
    """A repaired text that might be valid Python. Cheaper guesses are tried first."""

    cost: float
    text: str
    note: str


def fault_of(text: str) -> Fault | None:
    """Return the fault that keeps a text from compiling; None if the text compiles. The text is not run.

    The text is compiled and not only parsed, because a `return` outside a function parses.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(text, "<text>", "exec", dont_inherit=True)
        except SyntaxError as error:
            return Fault(line=error.lineno or 1, column=max((error.offset or 1) - 1, 0), message=error.msg or "")
        except (ValueError, RecursionError, MemoryError, OverflowError) as error:
            return Fault(line=1, column=0, message=str(error))
    return None


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
    """Split a line into tokens; an unpaired quote is an operator token."""
    return [Token(str(hit.lastgroup), hit.group(), hit.start(), hit.end()) for hit in _TOKEN.finditer(line)]


def code_end(line: str) -> int:
    """Return the end of a line's code, before its comment and the whitespace before that."""
    for token in tokens(line):
        if token.kind == "comment":
            return len(line[: token.start].rstrip())
    return len(line.rstrip())


def indent_of(line: str) -> str:
    """Return the indentation of a line."""
    return line[: len(line) - len(line.lstrip())]


def first_word(line: str) -> str:
    """Return the first word of a line, or an empty text."""
    match = re.match(r"\s*([A-Za-z_]\w*)", line)
    return match.group(1) if match else ""


def is_header(line: str) -> bool:
    """Check whether a line begins with a word that opens a block."""
    return first_word(line) in HEADERS


def splice_line(lines: list[str], number: int, start: int, end: int, new: str) -> str:
    """Replace the characters from `start` to `end` in the line with this index; return the whole new text."""
    line = lines[number]
    return "\n".join([*lines[:number], line[:start] + new + line[end:], *lines[number + 1 :]])


NEAR = 0.7
"""Minimum similarity of two words that may be confused (see `difflib.SequenceMatcher.ratio`)."""
_MOST_NEAR = 3


@dataclass(frozen=True, slots=True)
class Change:
    """A replacement, by `new`, of the characters from `start` to `end` in the line with this number."""

    line: int
    start: int
    end: int
    new: str


class Source:
    """A Python file of the tree."""

    def __init__(self, path: str, text: str, tree: ast.Module) -> None:
        self.path, self.text, self.tree = path, text, tree

    @cached_property
    def lines(self) -> list[str]:
        """Lines without their newlines."""
        return self.text.split("\n")

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """All nodes of the tree."""
        return list(ast.walk(self.tree))

    @cached_property
    def names(self) -> list[str]:
        """Names that the file binds anywhere: variables, parameters, functions, classes, imports."""
        return list(dict.fromkeys(_list_bound(self.nodes)))

    @cached_property
    def attributes(self) -> list[str]:
        """Attributes that the file mentions, and the members of its classes."""
        spoken = [node.attr for node in self.nodes if isinstance(node, ast.Attribute)]
        owned = [part for node in self.nodes if isinstance(node, ast.ClassDef) for part in _members(node)]
        return list(dict.fromkeys([*owned, *spoken]))

    def function_at(self, line: int) -> Function | None:
        """Return the innermost function around a line."""
        functions = [node for node in self.nodes if isinstance(node, Function) and _covers(node, line)]
        return max(functions, key=lambda node: node.lineno, default=None)

    def class_at(self, line: int) -> ast.ClassDef | None:
        """Return the innermost class around a line."""
        classes = [node for node in self.nodes if isinstance(node, ast.ClassDef) and _covers(node, line)]
        return max(classes, key=lambda node: node.lineno, default=None)

    def spot(self, node: ast.expr | ast.arg | ast.keyword, length: int) -> tuple[int, int, int]:
        """Return (line, start, end) of the first `length` characters of a node, from the tree's UTF-8 byte columns."""
        before = self.lines[node.lineno - 1].encode()[: node.col_offset].decode(errors="replace")
        return node.lineno, len(before), len(before) + length

    def attribute_spot(self, node: ast.Attribute) -> tuple[int, int, int]:
        """Return (line, start, end) of the attribute's name, which is the end of the node."""
        last = node.end_lineno or node.lineno
        before = self.lines[last - 1].encode()[: node.end_col_offset].decode(errors="replace")
        return last, len(before) - len(node.attr), len(before)

    def with_changes(self, changes: Iterable[Change]) -> str:
        """Return the text with all these changes."""
        lines = list(self.lines)
        for change in sorted(set(changes), key=lambda each: (each.line, each.start), reverse=True):
            line = lines[change.line - 1]
            lines[change.line - 1] = line[: change.start] + change.new + line[change.end :]
        return "\n".join(lines)

    def fix(self, text: str, kind: str, note: str) -> Iterator[QuickFix]:
        """Yield the fix that gives the file this text, if the text is different and compiles."""
        if text != self.text and fault_of(text) is None:
            yield QuickFix(path=self.path, text=text, kind=kind, note=note)

    def rename(self, nodes: Iterable[ast.expr | ast.arg], old: str, new: str, kind: str) -> Iterator[QuickFix]:
        """Yield the fix that replaces the names at these nodes."""
        changes = [Change(*self.spot(node, len(old)), new) for node in nodes]
        if changes:
            yield from self.fix(self.with_changes(changes), kind, f"`{old}` becomes `{new}`")


def sources(files: Mapping[str, str]) -> dict[str, Source]:
    """Return the files that parse as Python."""
    python_files: dict[str, Source] = {}
    for path, text in files.items():
        tree = parse_quietly(text) if path.endswith(".py") else None
        if tree is not None:
            python_files[path] = Source(path, text, tree)
    return python_files


def place_of(test: str, error: ErrorInfo, files: Mapping[str, Source]) -> tuple[Source, int] | None:
    """Return the file and the line of an error, from the innermost frame that is in one of the files.

    Without such a frame, return the start of the file that the error is about, or None.
    """
    for path, line, _ in reversed(error.frames):
        if path in files:
            return files[path], line
    return (files[test], 0) if test in files else None


def near(word: str, words: Iterable[str]) -> list[str]:
    """Return the words that `word` may stand for, the likeliest first: equal except for case, or similar."""
    others = [other for other in dict.fromkeys(words) if other != word and len(other) > 1]
    letters = word.lower().replace("_", "")
    alike = [other for other in others if other.lower().replace("_", "") == letters]
    close: Sequence[str] = difflib.get_close_matches(word, others, n=_MOST_NEAR, cutoff=NEAR)
    return list(dict.fromkeys([*alike, *close]))[:_MOST_NEAR]


def _covers(node: Function | ast.ClassDef, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def _list_bound(nodes: list[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, Function | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).partition(".")[0]
        elif isinstance(node, ast.ExceptHandler) and node.name:
            yield node.name


def _members(owner: ast.ClassDef) -> Iterator[str]:
    for node in owner.body:
        if isinstance(node, Function):
            yield node.name
        elif isinstance(node, ast.Assign):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id
    for inner in ast.walk(owner):
        stored = isinstance(inner, ast.Attribute) and isinstance(inner.ctx, ast.Store)
        if stored and isinstance(inner, ast.Attribute) and isinstance(inner.value, ast.Name):
            yield inner.attr
