"""The ports through which the files of a commit are read, as bytes or as text, and the ids of their contents."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import BinaryIO, Literal, Protocol, runtime_checkable

from nightshift.core.code.paths import at_or_below, top_module
from nightshift.core.text.encoding import decode, encode

MOST_LINKS = 10


class Tree(Protocol):
    """The files of one commit, read without a checkout."""

    @property
    def commit(self) -> str:
        """Full id of the commit."""
        ...

    def __hash__(self) -> int:
        """Return a hash, so that results computed from all files of the tree can be cached under it."""
        return object.__hash__(self)

    def entries(self) -> Mapping[str, str]:
        """Map the path of each regular file to the id of its content, in path order."""
        ...

    def unwritable(self) -> frozenset[str]:
        """Return the paths of links and submodules. Nothing may be written at or below these paths."""
        ...

    def read(self, path: str) -> bytes:
        """Return a file's bytes.

        Raises:
            KeyError: The file does not exist.
        """
        ...


@runtime_checkable
class Tagged(Protocol):
    """A tree whose commit has a history with git tags."""

    def describe(self) -> str:
        """Return the nearest tag that contains a digit, the number of commits since that tag, and the commit.

        The format is that of `git describe --long`. Empty if there is no such tag.
        """
        ...


@runtime_checkable
class Linked(Protocol):
    """A tree that knows the targets of its symbolic links, and which files are executable."""

    def links(self) -> Mapping[str, str]:
        """Map the path of each link to its target; links that lead out of the tree are left out."""
        ...

    def programs(self) -> frozenset[str]:
        """Return the paths of the executable files."""
        ...


@runtime_checkable
class Joined(Protocol):
    """A tree with submodules."""

    def submodules(self) -> Mapping[str, Tree | None]:
        """Map each submodule to its tree at its commit; None if no repository on this machine has that commit."""
        ...


@lru_cache(maxsize=2)
def list_modules(tree: Tree) -> frozenset[str]:
    """List the modules and top-level folders by which files of a tree are imported; a leading `src` is ignored."""
    return frozenset(map(top_module, tree.entries()))


def list_submodules(tree: Tree) -> tuple[str, ...]:
    """Return the folders of submodules, including those whose files are missing. No package index has their content."""
    return tuple(tree.submodules()) if isinstance(tree, Joined) else ()


def read_submodules(tree: Tree) -> dict[str, bytes]:
    """Return the files of all available submodules, by their paths in the tree."""
    submodules = tree.submodules() if isinstance(tree, Joined) else {}
    return {f"{path}/{name}": sub.read(name) for path, sub in submodules.items() if sub for name in sub.entries()}


def follow_links(tree: Tree, path: str) -> str:
    """Resolve a path through at most `MOST_LINKS` links; return an empty text if there are more."""
    links = tree.links() if isinstance(tree, Linked) else {}
    for _ in range(MOST_LINKS):
        if not (path_and_link := at_or_below((path,), links)):
            return path
        path = links[path_and_link[1]] + path[len(path_and_link[1]) :]
    return ""


@runtime_checkable
class Streamed(Protocol):
    """A tree that can write a file of any size without holding the whole file in memory."""

    def save(self, path: str, target: BinaryIO) -> None:
        """Write the bytes of the file at `path` into the empty file `target`.

        Raises KeyError if there is no such file.
        """
        ...


def save(tree: Tree, path: str, target: BinaryIO) -> None:
    """Write the bytes of the file at `path` into the empty file `target`.

    Raises:
        KeyError: The file does not exist.
    """
    if isinstance(tree, Streamed):
        tree.save(path, target)
    else:
        target.write(tree.read(path))


def read_text(tree: Tree, path: str) -> str:
    """Return the text of a file, decoded as in `core.text.encoding`.

    Raises:
        KeyError: The file does not exist.
    """
    return decode(tree.read(path))


def text_of(tree: Tree, path: str) -> str | None:
    """Return the text of a file; None if the file does not exist."""
    return read_text(tree, path) if path in tree.entries() else None


IdFormat = Literal["sha1", "sha256"]
ObjectKind = Literal["blob", "tree", "commit"]


def with_head(kind: ObjectKind, data: bytes) -> bytes:
    """Return an object's bytes with the header that git hashes and stores with them."""
    return b"%s %d\0%s" % (kind.encode(), len(data), data)


def id_of(stored: bytes, id_format: IdFormat) -> str:
    """Return the id of an object, given the bytes that git stores for it, including the header."""
    return hashlib.new(id_format, stored, usedforsecurity=False).hexdigest()


def blob_id(data: bytes, id_format: IdFormat) -> str:
    """Return the id of a file's content."""
    return id_of(with_head("blob", data), id_format)


def format_of(id_: str) -> IdFormat:
    """Return the hash algorithm of an id."""
    return "sha256" if len(id_) == 64 else "sha1"


@dataclass(frozen=True, slots=True, eq=False)
class FileTree:
    """Files in memory as a `Tree`; content ids are computed as git does."""

    files: Mapping[str, str]
    commit: str = field(default="0" * 40)

    def entries(self) -> Mapping[str, str]:
        """Return the blob id of each file, by path and in path order."""
        return {path: blob_id(encode(text), "sha1") for path, text in sorted(self.files.items())}

    def unwritable(self) -> frozenset[str]:
        """Return an empty set: files in memory hold no links."""
        return frozenset()

    def read(self, path: str) -> bytes:
        """Return a file's bytes; raises KeyError if there is no such file."""
        return encode(self.files[path])
