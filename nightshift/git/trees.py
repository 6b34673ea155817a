"""Reads git objects, and gives access to the files of a commit without a checkout."""

from __future__ import annotations

import posixpath
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import BinaryIO

from nightshift.core.code.listing import Listing
from nightshift.core.errors import GitError
from nightshift.core.text.encoding import decode
from nightshift.git.commands import Git
from nightshift.git.objects import LINK, PROGRAM, REGULAR, SUBMODULE, Record, differing, is_text
from nightshift.git.processes import Output
from nightshift.git.session import Session

MAX_KEPT_BYTES, MAX_BLOB_BYTES = 8 << 20, 64 << 10
PART_BYTES = 1 << 20
_ID = re.compile(r"[0-9a-f]{4,64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """All entries below a tree, and the ids of those that are regular files with names in UTF-8."""

    root: str = ""
    records: Listing[Record] = field(default_factory=Listing)
    regular: Listing[str] = field(default_factory=Listing)


class Reader:
    """Reads objects through one `cat-file` process that stays open; it handles one request at a time."""

    def __init__(self, git: Git) -> None:
        self._session = Session(git, "cat-file", "--batch")
        self._objects = OrderedDict[str, bytes]()
        self._object_bytes = 0
        self._lock = threading.Lock()
        self._listed = Listed()

    def get(self, id_: str) -> tuple[str, bytes]:
        """Return an object's type and bytes.

        Raises:
            KeyError: The repository does not have the object.
        """
        if not _ID.fullmatch(id_):
            raise KeyError(id_)
        return self._session.ask(id_.encode() + b"\n", _answer)

    def save(self, id_: str, target: BinaryIO) -> None:
        """Write the bytes of a blob into the empty file `target`, piece by piece.

        Raises:
            GitError: The repository does not have the blob.
        """

        def copy(answer: Output) -> None:
            target.seek(0)
            target.truncate()  # The process may have died midway and been restarted
            target.writelines(_parts(answer))

        try:
            self._session.ask(id_.encode() + b"\n", copy)
        except KeyError:
            raise _missing(id_) from None

    def tree(self, id_: str) -> bytes:
        """Return a tree object's bytes."""
        return self._recent(id_, MAX_KEPT_BYTES)

    def blob(self, id_: str) -> bytes:
        """Return the bytes of a blob."""
        return self._recent(id_, MAX_BLOB_BYTES)

    def _recent(self, id_: str, most_bytes: int) -> bytes:
        """Return an object's bytes.

        The last ones are cached, because trees and small files recur from commit to commit. The size of the cache is
        limited in bytes, because the root tree of a repository with many top-level files is large, and every commit has
        another root tree.
        """
        with self._lock:
            if (cached := self._objects.get(id_)) is not None:
                self._objects.move_to_end(id_)
                return cached
        content = self.require(id_)
        if len(content) <= most_bytes:
            self.keep(id_, content)
        return content

    def keep(self, id_: str, data: bytes) -> None:
        """Cache the bytes of a tree or a small file, as if they had been read."""
        with self._lock:
            self._object_bytes += 0 if id_ in self._objects else len(data)
            self._objects[id_] = data
            while self._object_bytes > MAX_KEPT_BYTES:
                self._object_bytes -= len(self._objects.popitem(last=False)[1])

    def list_files(self, root: str) -> Listed:
        """Return the files below a tree.

        The list is the previous call's list with the differences applied, because two trees in a row usually differ by
        only one commit.
        """
        listing = self._listed
        if listing.root != root:
            differences = differing(listing.root, root, self.tree)
            regular = {
                path: record.id if record and record.mode in REGULAR and is_text(path) else None
                for path, record in differences.items()
            }
            listing = Listed(
                root=root, records=listing.records.patch(differences), regular=listing.regular.patch(regular)
            )
            self._listed = listing
        return listing

    def require(self, id_: str) -> bytes:
        """Return the bytes of an object that another object refers to.

        Raises:
            GitError: The object is missing, as in a partial clone.
        """
        try:
            return self.get(id_)[1]
        except KeyError:
            raise _missing(id_) from None

    def close(self) -> None:
        """End the process and clear the caches; the next request starts another process."""
        self._session.close()
        with self._lock:
            self._objects.clear()
            self._object_bytes, self._listed = 0, Listed()


def _missing(id_: str) -> GitError:
    return GitError(f"object {id_} is missing; a partial clone needs `git fetch --refetch --no-filter`")


def _answer(answer: Output) -> tuple[str, bytes]:
    kind, size = _head(answer)
    data = answer.read(size + 1)
    if len(data) != size + 1:
        raise EOFError("cut off")
    return kind, data[:-1]


def _head(answer: Output) -> tuple[str, int]:
    head = answer.readline().split()
    if len(head) == 2:  # Git answers "missing" or "ambiguous"
        raise KeyError(head[0].decode())
    if not head:
        raise EOFError("cut off")
    return head[1].decode(), int(head[2])


def _parts(answer: Output) -> Iterator[bytes]:
    """Yield the bytes of an object as they arrive."""
    left = _head(answer)[1]
    while left:
        part = answer.read(min(left, PART_BYTES))
        if not part:
            raise EOFError("cut off")
        left -= len(part)
        yield part
    answer.read(1)


class GitTree:
    """The files of one commit, read from git's objects (core.code.tree.Tree).

    `entries` contains the regular files with names in UTF-8. Links, submodules and other names are only in `records`:
    no suite sees them, and every commit keeps them. Tags are available too (core.code.tree.Tagged).
    """

    def __init__(self, commit: str, tree: str, reader: Reader, describe: Callable[[str], str]) -> None:
        self.id, self.commit, self._reader = tree, commit, reader
        self._describe = describe
        self._described: str | None = None
        self._listing: Listed | None = None

    def describe(self) -> str:
        """Return the nearest tag of the commit (`core.code.tree.Tagged`)."""
        if self._described is None:
            self._described = self._describe(self.commit)
        return self._described

    @property
    def records(self) -> Mapping[str, Record]:
        """All entries below the tree, sorted by path."""
        return self._listed.records

    def entries(self) -> Mapping[str, str]:
        """Map the path of each regular file to the id of its content, in path order."""
        return self._listed.regular

    @property
    def _listed(self) -> Listed:
        if self._listing is None:
            self._listing = self._reader.list_files(self.id)
        return self._listing

    def unwritable(self) -> frozenset[str]:
        """Return the paths of links and submodules. Nothing may be written at or below these paths."""
        if len(self.records) == len(self._listed.regular):
            return frozenset()
        return frozenset(path for path, record in self.records.items() if not record.regular)

    def links(self) -> Mapping[str, str]:
        """Map the path of each link to its target (`core.code.tree.Linked`)."""
        if len(self.records) == len(self._listed.regular):
            return {}
        named = {
            path: posixpath.normpath(posixpath.join(posixpath.dirname(path), decode(self._reader.blob(record.id))))
            for path, record in self.records.items()
            if record.mode == LINK
        }
        return {path: target for path, target in named.items() if not target.startswith(("/", ".."))}

    def programs(self) -> frozenset[str]:
        """Return the paths of executable files (`core.code.tree.Linked`)."""
        return frozenset(path for path, record in self.records.items() if record.mode == PROGRAM)

    def submodules(self) -> dict[str, GitTree | None]:
        """Map each submodule to its tree at its commit.

        The tree is None if the owner does not have that commit (`core.code.tree.Joined`).
        """
        if len(self.records) == len(self._listed.regular):
            return {}
        return {path: self._read_submodule(each.id) for path, each in self.records.items() if each.mode == SUBMODULE}

    def _read_submodule(self, commit: str) -> GitTree | None:
        try:
            _, raw = self._reader.get(commit)
        except KeyError:
            return None
        return GitTree(commit, raw.split(b"\n", 1)[0].removeprefix(b"tree ").decode(), self._reader, self._describe)

    def read(self, path: str) -> bytes:
        """Return a file's bytes.

        Raises:
            KeyError: The file does not exist.
        """
        return self._reader.blob(self.entries()[path])

    def save(self, path: str, target: BinaryIO) -> None:
        """Write the bytes of the file at `path` into the empty file `target` (`core.code.tree.Streamed`)."""
        self._reader.save(self.entries()[path], target)
