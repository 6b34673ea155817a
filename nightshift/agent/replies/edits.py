"""SEARCH/REPLACE sections and diffs: parses them into edits, and applies an edit to a file's text.

An edit is matched in three steps: (1) exactly; (2) with all lines indented more, or all lines indented less, by one and
the same amount; (3) without regard to blank lines. It is never matched by similarity. A step counts only if it matches
at exactly one position. An edit that matches nowhere is refused with the nearest real lines, found by voting: each line
of the search text votes for the position where the text would have to begin.

The lines that frame a SEARCH/REPLACE section consist of five to nine equal signs or angle brackets.
"""

from __future__ import annotations

import difflib
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from nightshift.agent.replies import names
from nightshift.agent.replies.values import Edit
from nightshift.core.errors import BadReply

_HUNK = re.compile(r"^@@(?: .*)?$")
CODEX = "*** Begin Patch"
_CODEX = re.compile(r"(?ms)(?:^|['\">])[ \t]*\*\*\* Begin Patch[ \t]*\n(.*?)(^\*\*\* End Patch|\Z)")
_CODEX_AS_JSON = re.compile(r'"(?:[^"\\\n]|\\.)*\*\*\* Begin Patch\\n(?:[^"\\\n]|\\.)*"')
_CODEX_FILE = re.compile(r"^\*\*\* (Update|Add|Delete) File: *(.+?) *$", re.IGNORECASE)
_MOVE = re.compile(r"^\*\*\* Move to: *(.+?) *$", re.IGNORECASE)
_MARK = re.compile(r"^@@(?: -\d[\d,]* \+\d[\d,]* @@)?[ \t]*(.+?)[ \t]*(?:@@)?$")
"""Matches the line of a hunk's header that quotes a line of the file (a function, for example) above the hunk."""
_ESCAPE = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})|\\')


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One SEARCH/REPLACE section. `path` is None if the section does not name its file; `fault` says what is wrong."""

    path: str | None
    search: str = ""
    replace: str = ""
    fault: str = ""


def sections(text: str) -> Iterator[Section]:
    """Yield the sections of a block, in order; a path line directly above a marker names the file."""
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
    return Section(path=path, search=_join_lines(lines[1:middle]), replace=_join_lines(lines[middle + 1 : -1]))


def _join_lines(lines: list[str]) -> str:
    return "".join(line + "\n" for line in lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """The part of a diff that is about one file. `moved` is the file's new name.

    The hunks are edits without a path; their line numbers are ignored.
    """

    path: str | None
    hunks: tuple[Edit, ...] = ()
    created: bool = False
    deleted: bool = False
    moved: str = ""


def patches(text: str) -> list[Patch]:
    """Return the files of a unified diff (`---`, `+++`, `@@` lines); an empty list if the text is not a diff."""
    lines = text.removesuffix("\n").split("\n")
    heads = [n for n in range(len(lines) - 1) if lines[n].startswith("--- ") and lines[n + 1].startswith("+++ ")]
    return [_patch(part) for part in _split(lines, heads)]


def codex_patches(text: str, *, is_cut: bool) -> tuple[list[Patch], str]:
    """Return the files of all patches in Codex's form (`*** Begin Patch`) in a text, and the text around the patches.

    If the text was cut off, the last file of a patch without an end is left out.
    """
    patches, text = list[Patch](), _CODEX_AS_JSON.sub(_unescape, text.replace("\r\n", "\n"))
    for body, end in _CODEX.findall(text):
        lines = re.sub(r"\n+(?=\*\*\* |@@|\Z)", "\n", body).removesuffix("\n").split("\n")
        heads = [n for n, line in enumerate(lines) if _CODEX_FILE.match(line)]
        parts = _split(lines, heads)
        patches += map(_codex_patch, parts[:-1] if is_cut and not end else parts)
    return patches, _CODEX.sub("", text)


def _unescape(string: re.Match[str]) -> str:
    proper = _ESCAPE.sub(lambda escape: escape[0] if escape[0] != "\\" else "\\\\", string[0])
    return f'"{json.loads(proper, strict=False)}"'


def _codex_patch(lines: list[str]) -> Patch:
    kind, path = _CODEX_FILE.findall(lines[0])[0]
    path, moved = names.tidy(path), names.tidy("".join(_MOVE.findall("".join(lines[1:2]))))
    if kind.lower() == "add":
        last = max((n for n, line in enumerate(lines) if line.startswith("+")), default=len(lines))
        text = _join_lines([line.removeprefix("+") for line in lines[1 : last + 1]])
        return Patch(path=path, hunks=(Edit(path="", search="", replace=text),), created=True)
    hunks, below = list[Edit](), tuple[str, ...]()
    for first, *part in _split(lines, [0, *(n for n, line in enumerate(lines) if line.startswith("@@"))]):
        mark = _MARK.match(first)
        below = (*below, mark[1]) if mark else below
        if any(line[:1] in {" ", "-", "+"} for line in part):
            edit = _hunk(part)
            at_end = any(line.startswith("*** End of File") for line in part) or not (edit.search.strip() or below)
            hunks.append(replace(edit, below=below, at_end=at_end))
    return Patch(path=path, hunks=tuple(hunks), deleted=kind.lower() == "delete", moved=moved)


def _split(lines: list[str], starts: list[int]) -> list[list[str]]:
    """Split lines into ranges that begin at each start and end at the next one."""
    return [lines[start:end] for start, end in zip(starts, [*starts[1:], len(lines)], strict=False)]


def _patch(lines: list[str]) -> Patch:
    old, new = (_diff_path(line) for line in lines[:2])
    starts = [n for n, line in enumerate(lines) if _HUNK.match(line)]
    hunks = tuple(_hunk(part[1:]) for part in _split(lines, starts))
    return Patch(path=new or old, hunks=hunks, created=old is None, deleted=new is None)


def _diff_path(line: str) -> str | None:
    path = line[4:].partition("\t")[0].strip()
    return None if path == "/dev/null" else re.sub(r"^[ab]/", "", path)


def _hunk(lines: list[str]) -> Edit:
    old = [line[1:] for line in lines if line[:1] in {" ", "-", ""}]
    new = [line[1:] for line in lines if line[:1] in {" ", "+", ""}]
    return Edit(path="", search=_join_lines(old), replace=_join_lines(new))


# Functions that apply an edit to a file's text.


_SHOWN = 24
_CANDIDATES = 200


class Refused(BadReply):
    """The edit matches nowhere, or at several positions; the message shows the nearest real lines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fit:
    """The lines of a file that an edit matches, from `start` to `end` (exclusive).

    `shift` is the indentation that is added to the edit's new lines, or removed from them if `less` is True.
    """

    start: int
    end: int
    shift: str = ""
    less: bool = False


def apply_edit(text: str, edit: Edit) -> str:
    """Return the text with the edit applied.

    Raises:
        Refused: the search text is missing, ambiguous or empty, or the edit changes nothing.
    """
    if edit.search == edit.replace:
        raise Refused(f"{edit.path}: the block changes nothing: its two texts are the same.")
    if "\r" not in text:
        search, new = (part.replace("\r\n", "\n") for part in (edit.search, edit.replace))
        edit = replace(edit, search=search, replace=new)
    return _apply_edit(text, edit, _lines(edit.search))


def _apply_edit(text: str, edit: Edit, search: list[str]) -> str:
    lines = _lines(text)
    if not any(line.strip() for line in search):
        if text.strip() and not edit.at_end:
            raise Refused(f"{edit.path}: the SEARCH text is empty; quote the lines that are to be replaced.")
        return (_join_lines(lines) if text.strip() else "") + edit.replace
    floor = _floor(lines, edit.below)
    for ladder in (_exact, _find_shifted, _across_blanks):
        fits = list(ladder(lines, search))
        last = [fit for fit in fits if edit.at_end and fit.end == len(lines)]
        fits = last or [fit for fit in fits if fit.start >= floor][:1] or fits
        if len(fits) > 1:
            raise Refused(_ambiguous(edit, fits))
        if fits:
            return _replace_lines(lines, fits[0], edit, ended=text.endswith("\n"))
    raise Refused(_nowhere(edit, lines, search))


def _floor(lines: list[str], below: tuple[str, ...]) -> int:
    """Return the number of the line at which the search begins; it is the line that `below` identifies.

    If `below` identifies no line, the number of all lines is returned.
    """
    if not below:
        return len(lines)
    hits = [n for n, line in enumerate(lines) if re.match(rf"\s*{re.escape(below[-1])}(?!\w)", line)]
    if len(hits) == 1:
        return hits[0]
    outer = _floor(lines, below[:-1])
    return next((n for n in hits if n > outer), outer)


def is_applied(text: str, before: str, edit: Edit) -> bool:
    """Check whether an edit was already made: its new text is at its position, and was not there before.

    Args:
        text: the file's current text.
        before: the file's text before any edit.
        edit: the repeated edit.
    """
    lines, was, search, new = map(_lines, (text, before, edit.search, edit.replace))
    if search == new or not any(line.strip() for line in new):
        return False
    is_below = _floor(lines, edit.below) < len(lines)
    lines, was = (each[_floor(each, edit.below) :] or each for each in (lines, was))
    places, fits = list(_find_shifted(lines, new)), list(_find_shifted(lines, search))
    added = len(places) > len(list(_find_shifted(was, new)))
    if not fits:
        return len(places) == 1 and (added or any(True for _ in _find_shifted(was, search)))
    if edit.at_end or is_below:
        return added and (places[-1].end == len(lines) if edit.at_end else places[0].start <= fits[0].start)
    return added and len(fits) == 1 and any(at.start <= fits[0].start and fits[0].end <= at.end for at in places)


def _lines(text: str) -> list[str]:
    """Return the lines without newlines; a missing newline at the end makes no difference."""
    return text.removesuffix("\n").split("\n") if text else []


def _replace_lines(lines: list[str], fit: _Fit, edit: Edit, *, ended: bool) -> str:
    new = [_shift(line, fit, edit) for line in _lines(edit.replace)]
    text = "".join(line + "\n" for line in [*lines[: fit.start], *new, *lines[fit.end :]])
    return text if ended or fit.end == len(lines) else text[:-1]


def _shift(line: str, fit: _Fit, edit: Edit) -> str:
    if not line.strip() or not fit.shift:
        return line
    if not fit.less:
        return fit.shift + line
    if not line.startswith(fit.shift):
        raise Refused(f"{edit.path}: the indentation differs from the file's; quote the lines as they stand there.")
    return line.removeprefix(fit.shift)


def _occurrences(lines: Sequence[str], search: Sequence[str]) -> Iterator[int]:
    """Yield the positions at which consecutive lines occur.

    A single string is searched, which keeps the time linear.
    """
    hay, needle = "\n" + "\n".join(lines) + "\n", "\n" + "\n".join(search) + "\n"
    at, line = hay.find(needle), 0
    counted = 0
    while at >= 0:
        line += hay.count("\n", counted, at)
        counted = at
        yield line
        at = hay.find(needle, at + 1)


def _exact(lines: list[str], search: list[str]) -> Iterator[_Fit]:
    for start in islice(_occurrences(lines, search), _CANDIDATES):
        yield _Fit(start=start, end=start + len(search))


def _find_shifted(lines: list[str], search: list[str]) -> Iterator[_Fit]:
    for start in islice(_occurrences([s.strip() for s in lines], [s.strip() for s in search]), _CANDIDATES):
        end = start + len(search)
        shift = _uniform_shift(lines[start:end], search)
        if shift is not None:
            yield _Fit(start=start, end=end, shift=shift[0], less=shift[1])


def _across_blanks(lines: list[str], search: list[str]) -> Iterator[_Fit]:
    places = [n for n, line in enumerate(lines) if line.strip()]
    solid = [lines[n] for n in places]
    wanted = [line for line in search if line.strip()]
    for at in islice(_occurrences([s.strip() for s in solid], [s.strip() for s in wanted]), _CANDIDATES):
        shift = _uniform_shift(solid[at : at + len(wanted)], wanted)
        if shift is not None:
            yield _Fit(start=places[at], end=places[at + len(wanted) - 1] + 1, shift=shift[0], less=shift[1])


def _uniform_shift(real: Sequence[str], search: Sequence[str]) -> tuple[str, bool] | None:
    """Return the indentation by which all file lines differ from the search lines; None if the lines differ unequally.

    The second value is False if the file's lines are indented more, and True if they are indented less.
    """
    shifts = set()
    for ours, theirs in zip(real, search, strict=True):
        if ours.strip():
            a, b = _indent(ours), _indent(theirs)
            if not (a.endswith(b) or b.endswith(a)):
                return None
            shifts.add((a[: len(a) - len(b)], False) if len(a) >= len(b) else (b[: len(b) - len(a)], True))
    return shifts.pop() if len(shifts) == 1 else None


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def _ambiguous(edit: Edit, fits: list[_Fit]) -> str:
    places = ", ".join(str(fit.start + 1) for fit in fits[:4])
    return f"{edit.path}: the SEARCH text stands at several places (lines {places}); quote more lines around the one."


def _nowhere(edit: Edit, lines: list[str], search: list[str]) -> str:
    new = _lines(edit.replace)
    if any(line.strip() for line in new) and len(list(islice(_occurrences(lines, new), 2))) == 1:
        return f"{edit.path}: this block seems applied already: its SEARCH text is gone, its REPLACE text there."
    start = _nearest(lines, search)
    if start is None:
        return f"{edit.path}: the SEARCH text is not in the file, and nothing there is like it:\n{_quote(search, None)}"
    end = min(len(lines), start + min(len(search) + 2, _SHOWN))
    return (
        f"{edit.path}: the SEARCH text is not in the file:\n{_quote(search, None)}\n"
        f"The nearest real lines are:\n{_quote(lines[start:end], start)}"
    )


def _quote(lines: Sequence[str], start: int | None) -> str:
    shown = [line if start is None else f"{start + n + 1:5}  {line}" for n, line in enumerate(lines[:_SHOWN])]
    return "\n".join("    " + line[:300] for line in shown) + ("\n    …" if len(lines) > _SHOWN else "")


def _nearest(lines: list[str], search: list[str]) -> int | None:
    places: dict[str, list[int]] = {}
    for n, line in enumerate(lines):
        if line.strip():
            places.setdefault(line.strip(), []).append(n)
    votes = Counter(max(0, n - m) for m, line in enumerate(search[:400]) for n in places.get(line.strip(), [])[:20])
    if votes:
        return votes.most_common(1)[0][0]
    for m, line in enumerate(search[:3]):
        close = difflib.get_close_matches(line.strip()[:200], [p[:200] for p in list(places)[:2000]], n=1, cutoff=0.6)
        if close:
            return max(0, next(n for key, ns in places.items() if key[:200] == close[0] for n in ns[:1]) - m)
    return None


# Functions that recognise the marker lines around the texts of a SEARCH/REPLACE section.


_SEARCH = re.compile(r"^[ \t]{0,8}(<{5,9})[ \t]*(?:SEARCH|ORIGINAL)\b[ \t]*:?(.{0,400})$", re.IGNORECASE)
_DIVIDER = re.compile(r"^[ \t]{0,8}(={5,9})[ \t\r]*$")
_END = re.compile(r"^[ \t]{0,8}(>{5,9})[ \t]*(?:REPLACE|UPDATED)[ \t\r]*$", re.IGNORECASE)


def is_search(line: str) -> bool:
    """Check whether the line opens a section."""
    return "<<<<<" in line[:16] and _SEARCH.match(line) is not None


def is_end(line: str) -> bool:
    """Check whether the line ends a section."""
    return ">>>>>" in line[:16] and _END.match(line) is not None


def search_mark(line: str) -> tuple[int, str]:
    """Return the width of an opening marker, and the text after it (a path, in some dialects)."""
    match = _SEARCH.match(line)
    assert match is not None
    return len(match.group(1)), match.group(2).strip()


def divider_width(line: str) -> int:
    """Return the width of a divider, 0 for any other line."""
    match = _DIVIDER.match(line) if "=====" in line[:16] else None
    return len(match.group(1)) if match else 0
