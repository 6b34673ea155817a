"""Composes the new objects of a commit from those of its parent: blobs, and the trees that contain them. No I/O."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

from nightshift.core.code.tree import IdFormat, ObjectKind, id_of, with_head
from nightshift.core.errors import GitError
from nightshift.core.text.encoding import encode
from nightshift.git.objects import ENTRY, FOLDER, RUN, Edit, sort_key

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
        """Compose a tree like `tree`; return an empty id if no file is left.

        The bytes of a large tree are spliced: only the edited entries are looked up, by binary search.
        """
        raw = self._load(root) if root else b""
        if RUN[self._id_bytes].match(raw).end() != len(raw):  # type: ignore[union-attr] # none at all matches too
            raise GitError(f"the tree {root} is not a git tree")
        here, below = dict[bytes, bytes](), defaultdict[bytes, dict[bytes, tuple[bytes, bytes] | None]](dict)
        for path, edit in edits.items():
            name, is_below, rest = path.partition(b"/")
            if is_below:
                below[name][rest] = edit
            else:
                here[name] = b"" if edit is None else b"%s %s\0%s" % (edit[0], name, edit[1])
        for name, inside in below.items():
            start, end = self._find_entry(raw, name, is_folder=True)
            now = self._tree(raw[end - self._id_bytes : end].hex() if end > start else "", inside)
            if now or not here.get(name):  # Otherwise a new file replaces the emptied folder
                here[name] = b"%s %s\0%s" % (_FOLDER, name, bytes.fromhex(now)) if now else b""
        splices = list[tuple[int, bytes, int, bytes]]()
        for name, entry in here.items():
            for is_folder in (False, True):
                start, end = self._find_entry(raw, name, is_folder=is_folder)
                new = entry if entry.startswith(_FOLDER + b" ") == is_folder else b""
                splices.append((start, sort_key(name, is_folder=is_folder), end, new))
        parts, at = list[bytes](), 0
        for start, _, end, new in sorted(splices):
            parts += (raw[at:start], new)
            at = end
        data = b"".join((*parts, raw[at:]))
        return self.add("tree", data) if data else ""

    def _find_entry(self, raw: bytes, name: bytes, *, is_folder: bool) -> tuple[int, int]:
        """Return the start and the end of an entry in a tree object; both are the insertion point if it is missing."""
        entry, run = ENTRY[self._id_bytes], RUN[self._id_bytes]
        wanted, low, high = sort_key(name, is_folder=is_folder), 0, len(raw)
        while low < high:
            middle = run.match(raw, low, (low + high) // 2).end()  # type: ignore[union-attr] # none at all matches too
            match = entry.match(raw, middle)
            if match is None or sort_key(match[2], is_folder=match[1] == _FOLDER) >= wanted:
                high = middle
            else:
                low = match.end()
        match = entry.match(raw, low)
        is_it = match is not None and match[2] == name and (match[1] == _FOLDER) == is_folder
        return low, match.end() if match and is_it else low
