"""Composes the new objects of a commit from those of its parent: blobs, and the trees that contain them. No I/O."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

from nightshift.core.code.tree import IdFormat, ObjectKind, id_of, with_head
from nightshift.core.errors import GitError
from nightshift.core.text.encoding import encode
from nightshift.git.objects import ENTRY, FOLDER, Edit, sort_key

_FOLDER = FOLDER.encode()


class NewObjects:
    """Git objects to be stored together.

    Args:
        id_format: The hash algorithm of the objects' ids.
        load: Returns the bytes of a stored tree.

    Attributes:
        objects: Maps ids to stored bytes, which begin with git's header of type and size.
    """

    def __init__(self, id_format: IdFormat, load: Callable[[str], bytes]) -> None:
        self._id_format, self._load = id_format, load
        self._id_bytes = 32 if id_format == "sha256" else 20
        self.objects: dict[str, bytes] = {}

    def add(self, kind: ObjectKind, data: bytes) -> str:
        """Add an object and return its id."""
        stored = with_head(kind, data)
        id_ = id_of(stored, self._id_format)
        self.objects[id_] = stored
        return id_

    def tree(self, root: str, edits: Iterable[Edit]) -> str:
        """Compose a tree with edits applied and return the id of the new tree.

        Args:
            root: The id of the tree; empty for a tree without files.
            edits: The edits. Removals are applied first, so that files can be written in their place.
        """
        entries = {
            encode(edit.path): None
            if edit.data is None
            else (edit.mode.encode(), bytes.fromhex(self.add("blob", edit.data)))
            for edit in edits
        }
        return self._tree(root, entries) or self.add("tree", b"")

    def _tree(self, root: str, edits: Mapping[bytes, tuple[bytes, bytes] | None]) -> str:
        """Compose a tree like `tree`; return an empty id if no file is left."""
        entries = self._read_entries(root)
        here, below = dict[bytes, bytes](), defaultdict[bytes, dict[bytes, tuple[bytes, bytes] | None]](dict)
        for path, edit in edits.items():
            name, is_below, rest = path.partition(b"/")
            if is_below:
                below[name][rest] = edit
            else:
                here[name] = b"" if edit is None else b"%s %s\0%s" % (edit[0], name, edit[1])
        for name, inside in below.items():
            folder = entries.get(sort_key(name, is_folder=True), b"")
            now = self._tree(folder[-self._id_bytes :].hex(), inside)
            if now or not here.get(name):  # Otherwise a new file replaces the emptied folder
                here[name] = b"%s %s\0%s" % (_FOLDER, name, bytes.fromhex(now)) if now else b""
        for name, entry in here.items():
            for is_folder in (False, True):
                entries.pop(sort_key(name, is_folder=is_folder), None)
            if entry:
                entries[sort_key(name, is_folder=entry.startswith(_FOLDER + b" "))] = entry
        data = b"".join(entries[key] for key in sorted(entries))
        return self.add("tree", data) if data else ""

    def _read_entries(self, root: str) -> dict[bytes, bytes]:
        """Map the sort key of each entry of a stored tree to the entry's bytes."""
        raw = self._load(root) if root else b""
        entries = list(ENTRY[self._id_bytes].finditer(raw))
        if sum(len(entry[0]) for entry in entries) != len(raw):
            raise GitError(f"the tree {root} is not a git tree")
        return {sort_key(entry[2], is_folder=entry[1] == _FOLDER): entry[0] for entry in entries}
