"""The fix of a lesson as rows: a unified diff, as it was stored, with line numbers and highlighted pieces."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from nightshift.server.diffs import marking
from nightshift.server.diffs.marking import Line

MOST_ROWS = 600
_HEAD = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_NONE = "/dev/null"

RowKind = Literal["same", "added", "gone", "place"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FixRow:
    """A line with its numbers in the old and in the new text; `place` stands between hunks."""

    kind: RowKind
    old: int | None
    new: int | None
    parts: Line


@dataclass(slots=True, kw_only=True)
class FixedFile:
    """Changes of a fix in one file."""

    path: str
    rows: list[FixRow] = field(default_factory=list)


def fixed_files(diff: str) -> list[FixedFile]:
    """The files of a unified diff, `MOST_ROWS` rows at most. What is no diff is one file without a name."""
    files, left = list[FixedFile](), MOST_ROWS
    for path, lines in _by_file(diff.split("\n")):
        rows = list(_rows(lines[:left], path))
        left -= len(rows)
        files.append(FixedFile(path=path, rows=rows))
        if left <= 0:
            break
    return files


def _by_file(lines: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield each file's path, and its lines without the two that name it."""
    path, held = "", list[str]()
    at = 0
    while at < len(lines):
        named = lines[at].startswith("--- ") and at + 1 < len(lines) and lines[at + 1].startswith("+++ ")
        if not named:
            held.append(lines[at])
            at += 1
            continue
        if held:
            yield path, held
        path, held = _path(lines[at][4:], lines[at + 1][4:]), []
        at += 2
    if held or path:
        yield path, held


def _path(old: str, new: str) -> str:
    return (old if new == _NONE else new)[2:]


def _rows(lines: Sequence[str], path: str) -> Iterator[FixRow]:
    old_text = marking.lines_of("\n".join(line[1:] for line in lines if line[:1] in {"-", " "}), path)
    new_text = marking.lines_of("\n".join(line[1:] for line in lines if line[:1] in {"+", " "}), path)
    old_at = new_at = 0
    old = new = 1
    for line in lines:
        kind, text = line[:1], line[1:]
        if head := _HEAD.match(line):
            old, new = int(head[1]), int(head[2])
            yield FixRow(kind="place", old=None, new=None, parts=(("", line),))
        elif kind == "-":
            yield FixRow(kind="gone", old=old, new=None, parts=_at(old_text, old_at, text))
            old, old_at = old + 1, old_at + 1
        elif kind == "+":
            yield FixRow(kind="added", old=None, new=new, parts=_at(new_text, new_at, text))
            new, new_at = new + 1, new_at + 1
        elif kind == " ":
            yield FixRow(kind="same", old=old, new=new, parts=_at(new_text, new_at, text))
            old, new, old_at, new_at = old + 1, new + 1, old_at + 1, new_at + 1
        elif line:
            yield FixRow(kind="place", old=None, new=None, parts=(("", line),))


def _at(lines: Sequence[Line], at: int, text: str) -> Line:
    """The highlighted line; the plain text where highlighting found another number of lines."""
    found = lines[at] if at < len(lines) else ()
    return found if "".join(part for _, part in found) == text else (("", text),)
