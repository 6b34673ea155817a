"""The port through which the files of a commit are read, as bytes or as text; verdicts name it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import BinaryIO, Protocol, runtime_checkable

from nightshift.core.code.paths import at_or_below, top_module
from nightshift.core.text.encoding import decode

MOST_LINKS = 10


class Tree(Protocol):
    """The files of one commit, read without a checkout."""

    @property
    def commit(self) -> str:
        """Full id of the commit."""
        ...

    def __hash__(self) -> int:
        """Let what is read of all its files be remembered for it."""
        return object.__hash__(self)

    def entries(self) -> Mapping[str, str]:
        """Path to the id of its content, for each regular file, in path order."""
        ...

    def unwritable(self) -> frozenset[str]:
        """Paths that hold a link or a submodule: nothing may be written there or below."""
        ...

    def read(self, path: str) -> bytes:
        """A file's bytes.

        Raises:
            KeyError: there is no such file.
        """
        ...


@runtime_checkable
class Tagged(Protocol):
    """A tree whose commit has a history with tags."""

    def describe(self) -> str:
        """The nearest tag with a digit, how many commits ago it was and the commit, as `git describe --long` has them.

        Empty where there is no such tag.
        """
        ...


@runtime_checkable
class Linked(Protocol):
    """A tree that tells where its symbolic links lead, and which files may be executed."""

    def links(self) -> Mapping[str, str]:
        """Path of each link to the path that it names; links that lead out of the tree are left out."""
        ...

    def programs(self) -> frozenset[str]:
        """The files that may be executed."""
        ...


@runtime_checkable
class Joined(Protocol):
    """A tree with submodules."""

    def submodules(self) -> Mapping[str, Tree | None]:
        """The tree of each submodule at its commit; None where nobody here has it."""
        ...


@lru_cache(maxsize=2)
def list_modules(tree: Tree) -> frozenset[str]:
    """List the modules and folders by which files of a tree are imported, with or without `src`."""
    return frozenset(map(top_module, tree.entries()))


def list_submodules(tree: Tree) -> tuple[str, ...]:
    """The folders of submodules, whether or not their files are here: no package index has what they hold."""
    return tuple(tree.submodules()) if isinstance(tree, Joined) else ()


def read_submodules(tree: Tree) -> dict[str, bytes]:
    """The files of all submodules that are here, by their paths in the tree."""
    submodules = tree.submodules() if isinstance(tree, Joined) else {}
    return {f"{path}/{name}": sub.read(name) for path, sub in submodules.items() if sub for name in sub.entries()}


def follow_links(tree: Tree, path: str) -> str:
    """The path of the file or folder that a path leads to, behind at most `MOST_LINKS` links; else an empty text."""
    links = tree.links() if isinstance(tree, Linked) else {}
    for _ in range(MOST_LINKS):
        if not (path_and_link := at_or_below((path,), links)):
            return path
        path = links[path_and_link[1]] + path[len(path_and_link[1]) :]
    return ""


@runtime_checkable
class Streamed(Protocol):
    """A tree that writes a file of any size without holding all of it in memory."""

    def save(self, path: str, target: BinaryIO) -> None:
        """Write a file's bytes into an empty file; raises KeyError."""
        ...


def save(tree: Tree, path: str, target: BinaryIO) -> None:
    """Write a file's bytes into an empty file.

    Raises:
        KeyError: there is no such file.
    """
    if isinstance(tree, Streamed):
        tree.save(path, target)
    else:
        target.write(tree.read(path))


def read_text(tree: Tree, path: str) -> str:
    """The text of a file, as `core.text.encoding` reads its bytes.

    Raises:
        KeyError: there is no such file.
    """
    return decode(tree.read(path))


def text_of(tree: Tree, path: str) -> str | None:
    """The text of a file; None where there is no such file."""
    return read_text(tree, path) if path in tree.entries() else None
