"""Computes the changes of a task or a step from two states of files.

A state is a commit with changed texts on top. A case file holds only the texts that differ from its base commit, so the
earlier text of a file may have to be read from git. Reading fails if the repository was moved or the commit is gone.
The files are then compared with nothing, and a note says so. This module writes nothing, and the size of its answers is
limited.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from nightshift.core.code.tree import Tree
from nightshift.core.errors import GitError
from nightshift.core.tasks.verdicts import TriedMutant
from nightshift.server.diffs import hunks, marking
from nightshift.server.diffs.hunks import Difference, Hunk
from nightshift.server.diffs.marking import Line
from nightshift.server.formatting import Mask, full_text
from nightshift.server.schemas import Answer

MOST_FILES = 200
MOST_LINES = 3_000
"""Limit on lines in one answer. Files beyond the limit are only named; a request for one path returns its diff."""
MOST_COLOURED = 60_000
"""Limit on characters that are highlighted in one answer. Old and new texts both count."""

OpenTree = Callable[[], Tree]


class FileDiff(Answer):
    """Diff of one file.

    `told` says why there are no hunks: the file is binary, is too long, or must be requested separately. `test` is true
    if the agent wrote the file as a test. `added` and `removed` count lines; they are null if the lines were not
    compared. `mutants` are small faults (mutations) that the verdict's run tried in lines of this file; they are left
    out if the file has changed since. If a line has no mutant, no fault was tried there.
    """

    path: str
    status: Literal["added", "changed", "removed"]
    test: bool
    added: int | None
    removed: int | None
    told: str
    hunks: tuple[Hunk, ...]
    mutants: tuple[TriedMutant, ...] = ()


class Diff(Answer):
    """The diff of two states.

    `before` and `after` are the names of the states. `note` says what could not be read. `left_out` counts the files
    after the first two hundred. `commit` is the commit that is shown, null if the change was never committed.
    """

    of: Literal["task", "step"]
    before: str
    after: str
    commit: str | None
    note: str
    files: list[FileDiff]
    left_out: int


@dataclass(slots=True, kw_only=True)
class State:
    """State of a set of files, used for one request.

    The files are those of a commit, with the changes in `texts` on top. A text of None means that the file was removed.
    `fault` is set if the commit could not be read; then only the files in `texts` are known.
    """

    name: str
    texts: Mapping[str, str | None]
    tests: frozenset[str] = frozenset()
    open_tree: OpenTree | None = None
    fault: str = ""
    _entries: Mapping[str, str] | None = field(default=None, init=False)
    _tree: Tree | None = field(default=None, init=False)

    def entries(self) -> Mapping[str, str]:
        """Map each path of the commit to the id of its content; empty if the commit cannot be read."""
        if self._entries is None:
            self._entries = {}
            try:
                self._tree = self.open_tree() if self.open_tree else None
                self._entries = self._tree.entries() if self._tree else {}
            except GitError as error:
                self.fault = str(error)
        return self._entries

    def read(self, path: str) -> bytes | None:
        """Return a file's bytes; None if it does not exist."""
        if path in self.texts:
            text = self.texts[path]
            return None if text is None else text.encode("utf-8", "replace")
        if path not in self.entries() or self._tree is None:
            return None
        try:
            return self._tree.read(path)
        except (GitError, KeyError) as error:
            self.fault = self.fault or str(error)
            return None


_ASK_ALONE = Difference(note="ask for this file alone to see it")


def compare(before: State, after: State, mask: Mask, *, only: str | None = None) -> tuple[list[FileDiff], int]:
    """Return the diffs of the changed files, sorted by path, and the number of files that were left out.

    Args:
        before: the earlier state.
        after: the later state.
        mask: removes secrets from texts.
        only: a single path to compare. The limits for answers on several files then do not apply.
    """
    paths = [only] if only is not None else _candidates(before, after)
    diffs, lines, coloured = list[FileDiff](), 0, 0
    pairs = ((path, before.read(path), after.read(path)) for path in paths)
    differing = [(path, old, new) for path, old, new in pairs if old != new]
    for path, old, new in differing[:MOST_FILES]:
        size = len(old or b"") + len(new or b"")
        is_uncoloured = only is None and coloured + size > MOST_COLOURED
        coloured += 0 if is_uncoloured else size
        full = only is None and lines >= MOST_LINES
        difference = _ASK_ALONE if full else _difference(old, new, "" if is_uncoloured else path, mask)
        lines += difference.size
        diffs.append(_file(path, old, new, difference, after.tests | before.tests, mask))
    return diffs, max(0, len(differing) - MOST_FILES)


def _candidates(before: State, after: State) -> list[str]:
    """List the paths at which the states may differ."""
    paths = before.texts.keys() | after.texts.keys()
    if not after.texts:  # a commit, which does not list its changes as a case file does
        old, new = before.entries(), after.entries()
        paths |= {path for path in old.keys() | new.keys() if old.get(path) != new.get(path)}
    return sorted(paths)


def _difference(old: bytes | None, new: bytes | None, path: str, mask: Mask) -> Difference:
    sides = [side or b"" for side in (old, new)]
    if any(b"\0" in side[:8000] for side in sides):
        return Difference(note=f"binary: {len(sides[0]):,} bytes before, {len(sides[1]):,} after")
    if max(map(len, sides)) > hunks.MOST_CHARS:
        return Difference(note=f"too long to be shown: {len(sides[0]):,} bytes before, {len(sides[1]):,} after")
    before, after = (full_text(side.decode("utf-8", "replace"), mask) for side in sides)
    if before == after:
        return Difference(note="differs only in what is not shown: line ends, or masked secrets")
    return hunks.difference(before, after, path)


def _file(
    path: str, old: bytes | None, new: bytes | None, difference: Difference, tests: frozenset[str], mask: Mask
) -> FileDiff:
    status: Literal["added", "changed", "removed"] = "added" if old is None else "removed" if new is None else "changed"
    counted = bool(difference.hunks)
    return FileDiff.from_values(
        difference,
        path=full_text(path, mask),
        status=status,
        test=path in tests,
        added=difference.added if counted else None,
        removed=difference.removed if counted else None,
        told=difference.note,
    )


class FileText(Answer):
    """A file as lines of (class, text) pairs. `told` says why there are no lines."""

    path: str
    of: str
    chars: int
    told: str
    lines: list[Line]


def file_text(path: str, raw: bytes, of: str, mask: Mask) -> FileText:
    """Return a file for display. Binary and very long files have no lines; a note gives their size."""
    note = ""
    if b"\0" in raw[:8000]:
        note = f"binary: {len(raw):,} bytes"
    elif len(raw) > hunks.MOST_CHARS:
        note = f"too long to be shown: {len(raw):,} bytes"
    text = "" if note else full_text(raw.decode("utf-8", "replace"), mask)
    lines = [] if note else list(marking.lines_of(text, path))
    return FileText(path=full_text(path, mask), of=of, chars=len(text) or len(raw), told=note, lines=lines)
