"""Git's objects as values: reads trees, composes commits, and checks edits. No I/O."""

from __future__ import annotations

import re
import sys
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

from nightshift.core.code.paths import Spellings, folders_of, git_folder, is_git_folder, path_fault
from nightshift.core.code.tree import IdFormat, blob_id, format_of
from nightshift.core.errors import GitError
from nightshift.core.tasks.task import Change
from nightshift.core.text.encoding import decode, encode, is_encodable, is_utf8

REGULAR = frozenset({"100644", "100755", "100664"})
FOLDER, LINK, PROGRAM, SUBMODULE = "40000", "120000", "100755", "160000"
_NEVER = frozenset({"", ".", "..", ".git"})


class Record(NamedTuple):
    """Entry of a tree: git's mode, and the id of the content.

    This is a named tuple, which is cheap to make, because each commit that is read needs one for every file.
    """

    mode: str
    id: str

    @property
    def regular(self) -> bool:
        """True for a plain file, False for a link or a submodule."""
        return self.mode in REGULAR


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """One path to write, or to remove if `data` is None."""

    path: str
    mode: str
    data: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RawCommit:
    """A commit as git stores it. `author` and `committer` are git's lines of name, address and time."""

    tree: str
    parents: tuple[str, ...]
    author: bytes
    committer: bytes
    message: bytes

    def encode(self) -> bytes:
        """Return the commit's bytes, which git hashes."""
        lines = [b"tree " + self.tree.encode(), *(b"parent " + parent.encode() for parent in self.parents)]
        return b"\n".join([*lines, b"author " + self.author, b"committer " + self.committer, b"", self.message])

    @property
    def committed_at(self) -> datetime:
        """The commit time by the committer's clock, in UTC with a time zone; the epoch if the line cannot be parsed."""
        seconds = self.committer.rpartition(b"> ")[2].split(b" ")[0]
        return datetime.fromtimestamp(int(seconds) if seconds.isdigit() else 0, UTC)


def parse_commit(raw: bytes) -> RawCommit:
    """Parse a commit object; headers that are not needed here (signatures, encodings) are skipped."""
    head, _, message = raw.partition(b"\n\n")
    fields: dict[bytes, list[bytes]] = {}
    for line in head.split(b"\n"):
        name, _, value = line.partition(b" ")
        fields.setdefault(name, []).append(value)
    return RawCommit(
        tree=fields[b"tree"][0].decode(),
        parents=tuple(parent.decode() for parent in fields.get(b"parent", [])),
        author=fields[b"author"][0],
        committer=fields[b"committer"][0],
        message=message,
    )


def person(name: str, email: str, at: datetime) -> bytes:
    """Return git's line of name, address and time, without characters that would break the line."""
    clean = ["".join(c for c in text if c.isprintable() and c not in "<>").strip() for text in (name, email)]
    return f"{clean[0]} <{clean[1]}> {int(at.timestamp())} +0000".encode()


def parse_tree(raw: bytes, id_bytes: int) -> Iterator[tuple[str, str, str]]:
    """Yield mode, name and id of each entry of one tree object; `id_bytes` is 20 for SHA-1 and 32 for SHA-256.

    A name that is not UTF-8 keeps its bytes as surrogate escapes.
    """
    at = 0
    while at < len(raw):
        end = raw.index(b"\0", at)
        mode, _, name = raw[at:end].partition(b" ")
        at = end + 1 + id_bytes
        yield sys.intern(mode.decode()), decode(name), raw[end + 1 : at].hex()


_Entry = tuple[str, str, str]
ENTRY = {size: re.compile(rb"(\d+) ([^\0]*)\0.{%d}" % size, re.DOTALL) for size in (20, 32)}
"""Pattern of one entry of a tree object, by the number of bytes of an id; its groups are mode and name."""


def differing(old: str, new: str, load: Callable[[str], bytes]) -> dict[str, Record | None]:
    """Find the paths at which two trees differ; map them to their records in the new tree, or to None if removed.

    Only the trees that contain a difference are read. Names that could lead out of a folder (in a tree that git did
    not write) are left out.

    Args:
        old: The id of a tree; empty for a tree without files.
        new: The id of another tree.
        load: Returns the bytes of a tree object.
    """
    records = dict[str, Record | None]()
    waiting = [("", old, new)]
    while waiting:
        folder, before, after = waiting.pop()
        if before == after:
            continue
        folders = dict[str, list[str]]()
        for side, entries in enumerate(_apart(before, after, load)):
            for mode, name, id_ in entries:
                if "/" in name or name.casefold() in _NEVER:
                    continue
                if mode == FOLDER:
                    folders.setdefault(name, ["", ""])[side] = id_
                else:
                    records[folder + name] = Record(mode, id_) if side else None
        waiting += [(f"{folder}{name}/", was, now) for name, (was, now) in folders.items()]
    return records


def _apart(old: str, new: str, load: Callable[[str], bytes]) -> tuple[list[_Entry], list[_Entry]]:
    """Return the entries that only the old tree has, and those that only the new tree has; changed ones are in both.

    If a tree that git did not write repeats a name, the last entry counts.
    """
    were, are = (
        {(entry[1], entry[0] == FOLDER): entry for entry in parse_tree(load(id_), len(id_) // 2)} if id_ else {}
        for id_ in (old, new)
    )
    return (
        [entry for key, entry in were.items() if are.get(key) != entry],
        [entry for key, entry in are.items() if were.get(key) != entry],
    )


def folders_in(raw: bytes, id_bytes: int) -> list[str]:
    """Return the ids of the folders directly in a tree object; see `parse_tree`."""
    folder = FOLDER.encode()
    return [entry[0][-id_bytes:].hex() for entry in ENTRY[id_bytes].finditer(raw) if entry[1] == folder]


def sort_key(name: bytes, *, is_folder: bool) -> bytes:
    """Return git's sort key for the entries of a tree: a folder's name gets a final slash."""
    return name + b"/" if is_folder else name


def find(root: str, path: str, load: Callable[[str], bytes]) -> str | None:
    """Return the id of the file at a path below a tree; None if there is no such file.

    Only the trees on the way to the file are read.
    """
    id_ = root
    parts = path.split("/")
    for depth, part in enumerate(parts):
        entries = parse_tree(load(id_), len(id_) // 2)
        mode, id_ = next(((mode, child) for mode, name, child in entries if name == part), ("", ""))
        if not id_ or (mode == FOLDER) == (depth == len(parts) - 1):
            return None
    return id_


def find_planted(old: str, new: str, load: Callable[[str], bytes]) -> str | None:
    """Return the first folder that differs between two trees and that git may treat as a repository in the new tree.

    Args:
        old: The id of the earlier tree.
        new: The id of the later tree.
        load: Returns the bytes of a tree object.
    """
    waiting = [("", old, new)]
    while waiting:
        path, before, after = waiting.pop()
        if before == after:
            continue
        entries = list(parse_tree(load(after), len(after) // 2))
        folders = {name: id_ for mode, name, id_ in entries if mode == FOLDER}
        if is_git_folder((name for mode, name, _ in entries if mode != FOLDER), folders):
            return path.rstrip("/")
        earlier = parse_tree(load(before), len(before) // 2) if before else ()
        were = {name: id_ for mode, name, id_ in earlier if mode == FOLDER}
        waiting += [(f"{path}{name}/", were.get(name, ""), id_) for name, id_ in folders.items()]
    return None


def is_text(name: str) -> bool:
    """Return True if a file's name is valid UTF-8; other names cannot be shown, stored or sent."""
    return is_utf8(name)


def edits_for(change: Change, before: Mapping[str, Record]) -> list[Edit]:
    """Convert a change to edits, with removals first; a path whose content stays the same gets no edit.

    Existing files keep their modes; a new file that begins with `#!` is executable, as in the sandbox.

    Raises:
        GitError: A path may not be written, because its name is forbidden, it is a link or a submodule, or a file would
            replace a folder.
    """
    id_format: IdFormat = next((format_of(record.id) for record in before.values()), "sha1")
    paths = list(before)
    spellings = _spellings(change, before)
    _check_folders(change, before)
    removals, writes = [], []
    for path, text in sorted(change.items()):
        _check_path(path, text, change, before, paths)
        if text is not None and path not in before:
            _check_spelling(path, spellings)
        old = before.get(path)
        if text is None and old:
            removals.append(Edit(path=path, mode=old.mode, data=None))
        elif text is not None:
            data = _encode(path, text)
            if old is None or old.id != blob_id(data, id_format):
                is_program = old.mode == "100755" if old else data.startswith(b"#!")
                writes.append(Edit(path=path, mode="100755" if is_program else "100644", data=data))
    return removals + writes


def _check_folders(change: Change, before: Mapping[str, Record]) -> None:
    written = [path for path, text in change.items() if text is not None]
    after = [*written, *(path for path in before if path not in change)]
    if (folder := git_folder(written, after)) is not None:
        raise GitError(f"the folder {folder or '.'!r} may not be written to: git would take it for a repository")


def _spellings(change: Change, before: Mapping[str, Record]) -> Spellings:
    """Return the existing names, to compare new files with them; empty if no file is new."""
    is_new = any(text is not None and path not in before for path, text in change.items())
    return Spellings(path for path in before if change.get(path, "") is not None) if is_new else Spellings()


def _check_spelling(path: str, spellings: Spellings) -> None:
    if other := spellings.clash(path):
        raise GitError(f"{path!r} cannot be written: some file systems do not distinguish it from {other!r}")
    spellings.add(path)


def _encode(path: str, text: str) -> bytes:
    if not is_encodable(text):
        raise GitError(f"{path}: holds half of a surrogate pair, which is no text; it was not committed")
    return encode(text)


def _check_path(path: str, text: str | None, change: Change, before: Mapping[str, Record], paths: list[str]) -> None:
    if fault := path_fault(path):
        raise GitError(f"{path!r} {fault}")
    if path in before and not before[path].regular:
        raise GitError(f"{path!r} is a symbolic link or a submodule; those are never written")
    if text is None:
        return
    for folder in folders_of(path):
        stays = folder in before and folder not in change
        if stays or change.get(folder) is not None or (folder in before and not before[folder].regular):
            raise GitError(f"{path!r} cannot be written: {folder!r} is not a folder")
    below = f"{path}/"
    for inside in paths[bisect_left(paths, below) :]:
        if not inside.startswith(below):
            return
        if inside not in change or change[inside] is not None:
            raise GitError(f"{path!r} cannot be written: it is a folder")
