"""Composes the objects of a commit from those of its parent: its blobs, and the trees on the way to them. No I/O."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

from nightshift.core.code.git_ids import IdFormat, ObjectKind, id_of, with_head
from nightshift.core.errors import GitError
from nightshift.core.text.encoding import encode
from nightshift.git.objects import FOLDER, Edit, sorted_by

_FOLDER = FOLDER.encode() + b" "
_ENTRY = {20: re.compile(rb"(\d+ ([^\0]+)\0.{20})", re.DOTALL), 32: re.compile(rb"(\d+ ([^\0]+)\0.{32})", re.DOTALL)}


class NewObjects:
    """Objects to be stored together.

    Args:
        id_format: how they are named.
        load: gives the bytes of a tree that is stored already.

    Attributes:
        made: ids and what they stand for, with git's head of type and size.
    """

    def __init__(self, id_format: IdFormat, load: Callable[[str], bytes]) -> None:
        self._id_format, self._load = id_format, load
        self._id_bytes = 32 if id_format == "sha256" else 20
        self.made: dict[str, bytes] = {}

    def add(self, kind: ObjectKind, data: bytes) -> str:
        """Take one in; gives its id."""
        stored = with_head(kind, data)
        id_ = id_of(stored, self._id_format)
        self.made[id_] = stored
        return id_

    def tree(self, root: str, edits: Iterable[Edit]) -> str:
        """Compose a tree with edits made in it; gives its id.

        Args:
            root: id of the tree; empty for one without files.
            edits: those that remove files make room for those that write.
        """
        entries = {
            encode(edit.path): None
            if edit.data is None
            else (edit.mode.encode(), bytes.fromhex(self.add("blob", edit.data)))
            for edit in edits
        }
        return self._tree(root, entries) or self.add("tree", b"")

    def _tree(self, root: str, edits: Mapping[bytes, tuple[bytes, bytes] | None]) -> str:
        """As `tree`; empty when no file is left."""
        entries = self._entries(root)
        here, below = dict[bytes, bytes](), defaultdict[bytes, dict[bytes, tuple[bytes, bytes] | None]](dict)
        for path, one in edits.items():
            name, is_below, rest = path.partition(b"/")
            if is_below:
                below[name][rest] = one
            elif one is None:
                entries.pop(name, None)
            else:
                here[name] = b"%s %s\0%s" % (one[0], name, one[1])
        for name, inside in below.items():
            old = entries.get(name, b"")
            was = old[-self._id_bytes :].hex() if old.startswith(_FOLDER) else ""
            if now := self._tree(was, inside):
                entries[name] = b"%s%s\0%s" % (_FOLDER, name, bytes.fromhex(now))
            elif was:
                del entries[name]
        entries |= here
        return self.add("tree", b"".join(entry for _, entry in sorted(entries.items(), key=_order))) if entries else ""

    def _entries(self, root: str) -> dict[bytes, bytes]:
        """The entries of one tree object by name."""
        raw = self._load(root) if root else b""
        found = _ENTRY[self._id_bytes].findall(raw)
        if sum(len(entry) for entry, _ in found) != len(raw):
            raise GitError(f"the tree {root} is no tree of git's")
        return {name: entry for entry, name in found}


def _order(item: tuple[bytes, bytes]) -> bytes:
    name, entry = item
    return sorted_by(name, is_folder=entry.startswith(_FOLDER))
