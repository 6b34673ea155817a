"""Computes the diff of two texts as hunks of highlighted lines in which changed words are marked.

One structure serves the unified view and the view side by side. Side by side, the first removed line of a block is
shown beside the first added line, and so on; words are compared within these pairs. All work is bounded: common lines
at the beginning and at the end are skipped, and texts that are too long are not compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import chain
from typing import Any, Literal

from nightshift.server.diffs import marking
from nightshift.server.diffs.marking import Line

CONTEXT = 3
MOST_CHARS = 400_000
MOST_LINES = 8_000
"""Limit on the lines between the common beginning and end of two texts. Comparing takes more than linear time."""
MOST_WORDS = 300
ALIKE = 0.4
"""Similarity threshold of two lines. Below it, no words are marked as changed."""

Kind = Literal["same", "added", "gone"]
SIGNS: Mapping[Kind, str] = {"same": " ", "added": "+", "gone": "-"}
"""Prefix of a line in a unified diff."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffLine:
    """A line of a diff.

    `old` and `new` are its line numbers in the old and in the new text, None if that text does not have the line.
    `parts` are pairs of class and text; the class `w` marks a changed word.
    """

    kind: Kind
    old: int | None
    new: int | None
    parts: Line


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunk:
    """Consecutive lines; `old` and `new` are the numbers of the first line in both texts, starting at 1."""

    old: int
    new: int
    lines: tuple[DiffLine, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Diff of two texts. `note` says why there are no hunks although the texts differ."""

    added: int = 0
    removed: int = 0
    hunks: tuple[Hunk, ...] = ()
    note: str = ""

    @property
    def size(self) -> int:
        """Number of lines in the hunks."""
        return sum(len(hunk.lines) for hunk in self.hunks)


def difference(before: str, after: str, path: str) -> Difference:
    """Compare two texts.

    The language for highlighting is chosen by `path`; with an empty path the lines are not highlighted.
    """
    if max(len(before), len(after)) > MOST_CHARS:
        return Difference(note=f"too long to be shown: {len(before):,} characters before, {len(after):,} after")
    old, new = _split(before), _split(after)
    head, tail = _common(old, new)
    if max(len(old), len(new)) - head - tail > MOST_LINES:
        return Difference(note=f"too long to be shown: {len(old):,} lines before, {len(new):,} after")
    opcodes = _opcodes(old, new, head, tail)
    added = sum(end - start for kind, _, _, start, end in opcodes if kind != "equal")
    removed = sum(end - start for kind, start, end, _, _ in opcodes if kind != "equal")
    sides = _Sides(old=marking.lines_of(before, path), new=marking.lines_of(after, path), texts=(old, new))
    hunks = tuple(_hunk(sides, group) for group in _group(opcodes)) if added or removed else ()
    return Difference(added=added, removed=removed, hunks=hunks, note=_unseen(before, after, hunks))


_Opcode = tuple[str, int, int, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sides:
    """The old and the new text, each as highlighted lines and as plain lines."""

    old: Sequence[Line]
    new: Sequence[Line]
    texts: tuple[list[str], list[str]]


def _split(text: str) -> list[str]:
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _unseen(before: str, after: str, hunks: tuple[Hunk, ...]) -> str:
    return "only the end of its last line differs" if before != after and not hunks else ""


def _common(old: list[str], new: list[str]) -> tuple[int, int]:
    """Count the common lines at the beginning of two texts, and then those at the end of the remaining lines."""
    most = min(len(old), len(new))
    head = next((at for at in range(most) if old[at] != new[at]), most)
    rest = most - head
    tail = next((at for at in range(rest) if old[-1 - at] != new[-1 - at]), rest)
    return head, tail


def _opcodes(old: list[str], new: list[str], head: int, tail: int) -> list[_Opcode]:
    inner = SequenceMatcher(None, old[head : len(old) - tail], new[head : len(new) - tail]).get_opcodes()
    moved = [(kind, a + head, b + head, c + head, d + head) for kind, a, b, c, d in inner]
    ends = (len(old) - tail, len(old), len(new) - tail, len(new))
    first = [("equal", 0, head, 0, head)] if head else []
    return [*first, *moved, *([("equal", *ends)] if tail else [])]


class _Known(SequenceMatcher[str]):
    """A matcher that is given its opcodes and is used only to group them."""

    def __init__(self, opcodes: list[_Opcode]) -> None:
        super().__init__()
        self._opcodes = opcodes

    def get_opcodes(self) -> list[Any]:
        """Return the opcodes that were passed to the constructor."""
        return self._opcodes


def _group(opcodes: list[_Opcode]) -> list[list[_Opcode]]:
    """Group the changes into hunks, with up to `CONTEXT` unchanged lines around each change."""
    return [
        [(kind, a, b, c, d) for kind, a, b, c, d in group] for group in _Known(opcodes).get_grouped_opcodes(CONTEXT)
    ]


def _hunk(sides: _Sides, group: list[_Opcode]) -> Hunk:
    lines = tuple(chain.from_iterable(_lines(sides, code) for code in group))
    return Hunk(old=group[0][1] + 1, new=group[0][3] + 1, lines=lines)


def _lines(sides: _Sides, code: _Opcode) -> list[DiffLine]:
    kind, start, end, new_start, new_end = code
    if kind == "equal":
        return [
            DiffLine(kind="same", old=at + 1, new=new_start + at - start + 1, parts=_at(sides.old, at))
            for at in range(start, end)
        ]
    marks = [_find_changes(sides, start + n, new_start + n) for n in range(min(end - start, new_end - new_start))]
    gone = [_mark("gone", sides.old, at, marks, at - start, 0) for at in range(start, end)]
    added = [_mark("added", sides.new, at, marks, at - new_start, 1) for at in range(new_start, new_end)]
    return [*gone, *added]


_Marks = tuple[list[tuple[int, int]], list[tuple[int, int]]]


def _mark(kind: Kind, lines: Sequence[Line], at: int, marks: list[_Marks], number: int, side: int) -> DiffLine:
    ranges = marks[number][side] if number < len(marks) else []
    numbers = (at + 1, None) if side == 0 else (None, at + 1)
    return DiffLine(kind=kind, old=numbers[0], new=numbers[1], parts=marking.cut_at(_at(lines, at), ranges, "w"))


def _at(lines: Sequence[Line], at: int) -> Line:
    return lines[at] if at < len(lines) else ()


def _find_changes(sides: _Sides, old: int, new: int) -> _Marks:
    """Return the ranges of characters in which an old and a new line differ.

    Both lists are empty if the lines have too little in common or too many words.
    """
    first, second = marking.words(sides.texts[0][old]), marking.words(sides.texts[1][new])
    if max(len(first), len(second)) > MOST_WORDS:
        return [], []
    matcher = SequenceMatcher(None, first, second, autojunk=False)
    if matcher.quick_ratio() < ALIKE or matcher.ratio() < ALIKE:
        return [], []
    changes = [code for code in matcher.get_opcodes() if code[0] != "equal"]
    return _ranges(first, [code[1:3] for code in changes]), _ranges(second, [code[3:5] for code in changes])


def _ranges(words: list[str], spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Convert spans of word indices to ranges of character positions."""
    starts = [0]
    for word in words:
        starts.append(starts[-1] + len(word))
    return [(starts[first], starts[last]) for first, last in spans if first < last]
