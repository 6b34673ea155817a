"""SEARCH/REPLACE sections and unified diffs: text into edits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from agent.replies import names
from agent.replies.markers import divider_width, is_end, is_search, search_mark

_HUNK = re.compile(r"^@@(?: .*)?$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One SEARCH/REPLACE section. `path` is None where only its surroundings can tell; `fault` says what is wrong."""

    path: str | None
    search: str = ""
    replace: str = ""
    fault: str = ""


def sections(text: str) -> Iterator[Section]:
    """The sections of a block, in order; a path line directly above a marker names the file."""
    lines = text.split("\n")
    at, above = 0, ""
    while at < len(lines):
        if is_search(lines[at]):
            end = next((n for n in range(at, len(lines)) if is_end(lines[n])), None)
            name = names.from_label(search_mark(lines[at])[1]) or names.from_label(above)
            path = name.path if name else None
            yield (
                Section(path=path, fault="never ends: its `>>>>>>> REPLACE` line is missing")
                if end is None
                else (_section(lines[at : end + 1], path))
            )
            at, above = len(lines) if end is None else end + 1, ""
        else:
            above = lines[at] if lines[at].strip() else above
            at += 1


def _section(lines: list[str], path: str | None) -> Section:
    width, _ = search_mark(lines[0])
    dividers = {n: divider_width(line) for n, line in enumerate(lines) if divider_width(line)}
    fitting = [n for n, wide in dividers.items() if wide == width] or list(dividers)
    if not fitting:
        return Section(path=path, fault="has no `=======` line between the two texts")
    if len(fitting) > 1:
        return Section(path=path, fault="holds several `=` lines of that width; use markers of another width, 5 to 9")
    middle = fitting[0]
    return Section(path=path, search=_joined(lines[1:middle]), replace=_joined(lines[middle + 1 : -1]))


def _joined(lines: list[str]) -> str:
    return "".join(line + "\n" for line in lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """One file of a unified diff. Line numbers are not used: each hunk's lines must stand in the file once."""

    path: str | None
    hunks: tuple[tuple[str, str], ...] = ()
    created: bool = False
    deleted: bool = False


def patches(text: str) -> list[Patch]:
    """The files of a unified diff (`---`, `+++`, `@@` lines); an empty list when the text is none."""
    lines = text.split("\n")
    if lines and lines[-1] == "":
        lines.pop()
    heads = [n for n in range(len(lines) - 1) if lines[n].startswith("--- ") and lines[n + 1].startswith("+++ ")]
    return [_patch(part) for part in _split(lines, heads)]


def _split(lines: list[str], starts: list[int]) -> list[list[str]]:
    """The stretches that begin at each start and end at the next."""
    return [lines[start:end] for start, end in zip(starts, [*starts[1:], len(lines)], strict=False)]


def _patch(lines: list[str]) -> Patch:
    old, new = (_diff_path(line) for line in lines[:2])
    starts = [n for n, line in enumerate(lines) if _HUNK.match(line)]
    hunks = tuple(_hunk(part[1:]) for part in _split(lines, starts))
    return Patch(path=new or old, hunks=hunks, created=old is None, deleted=new is None)


def _diff_path(line: str) -> str | None:
    path = line[4:].partition("\t")[0].strip()
    return None if path == "/dev/null" else re.sub(r"^[ab]/", "", path)


def _hunk(lines: list[str]) -> tuple[str, str]:
    old = [line[1:] for line in lines if line[:1] in {" ", "-", ""}]
    new = [line[1:] for line in lines if line[:1] in {" ", "+", ""}]
    return _joined(old), _joined(new)
