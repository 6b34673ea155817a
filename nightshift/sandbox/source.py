"""Edits Python source by positions in its syntax tree, so that comments, layout and all other lines stay unchanged.

Generating the source from a changed tree is no alternative: it would move lines, and would write f-strings in a form
that older interpreters cannot read.
"""

from __future__ import annotations

import ast
import codecs
import io
import tokenize
from collections.abc import Sequence
from dataclasses import dataclass

from nightshift.core.code.parsing import parse
from nightshift.core.text.encoding import decode, encode

_USUAL = "utf-8"


@dataclass(frozen=True, slots=True)
class Edit:
    """Replacement of the bytes from `start` to `end` by `text`."""

    start: int
    end: int
    text: str


class Source:
    """The source text of a module, with its syntax tree.

    Positions count bytes of UTF-8, whatever the file's encoding is.

    Attributes:
        text: the text of the file, as decoded by `core.text.encoding`.
        tree: the syntax tree.
        is_utf8: True if the file means the same in UTF-8, whatever encoding its first lines declare (PEP 263).

    Raises:
        SyntaxError: the text is not Python.
    """

    def __init__(self, text: str) -> None:
        self.text = text.replace("\r\n", "\n").replace("\r", "\n")
        raw = encode(self.text)
        try:
            named = tokenize.detect_encoding(io.BytesIO(raw).readline)[0]
            self._encoding = codecs.lookup(named.removesuffix("-sig")).name
            self._bytes = raw if self._encoding == _USUAL else raw.decode(self._encoding).encode()
            self.is_utf8 = self._bytes == raw
            self.tree = parse(raw)
        except (ValueError, LookupError, RecursionError) as error:
            raise SyntaxError(str(error)) from error
        self._starts = [0]
        for line in self._bytes.split(b"\n"):
            self._starts.append(self._starts[-1] + len(line) + 1)

    @property
    def size(self) -> int:
        """Length of the text in bytes."""
        return len(self._bytes)

    def line_start(self, line: int) -> int:
        """Return the position of a line's beginning, counting lines from 1."""
        return self._starts[line - 1]

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """Return the start and end positions of a node."""
        end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
        return self._starts[node.lineno - 1] + node.col_offset, self._starts[end_line - 1] + end_column

    def segment(self, node: ast.expr | ast.stmt) -> str:
        """Return the source text of a node."""
        return self.slice(*self.span(node))

    def slice(self, start: int, end: int) -> str:
        """Return the text between two positions."""
        return decode(self._bytes[start:end])

    def replace(self, node: ast.expr | ast.stmt, text: str) -> Edit:
        """Return the edit that replaces a node by `text`."""
        return Edit(*self.span(node), text)

    def name_of(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[int, int] | None:
        """Return the span of a function's name; None if it is not on the first line of the definition."""
        start = self.span(node)[0]
        line_end = self._starts[node.lineno]
        name = node.name.encode()
        header = self._bytes[start:line_end]
        at = header.find(b" " + name + b"(")
        return (start + at + 1, start + at + 1 + len(name)) if at >= 0 else None

    def edit(self, edits: list[Edit]) -> str:
        """Return the text after these edits. Characters that the file's encoding lacks are escaped."""
        text = edit(self._bytes, edits)
        return text if self._encoding == _USUAL else decode(text.encode(self._encoding, "backslashreplace"))


def edit(raw: bytes, edits: Sequence[Edit]) -> str:
    """Return a text after these edits.

    Of two edits that overlap, the first one wins. Insertions at the same position keep their order.
    """
    chosen: list[Edit] = []
    for edit in edits:
        if edit not in chosen and all(edit.end <= other.start or edit.start >= other.end for other in chosen):
            chosen.append(edit)
    for _, edit in sorted(enumerate(chosen), key=lambda pair: (pair[1].start, pair[1].end, pair[0]), reverse=True):
        raw = raw[: edit.start] + encode(edit.text) + raw[edit.end :]
    return decode(raw)
