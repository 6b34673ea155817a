"""The files in which a repository declares its dependencies, as a run sees them: the base with a change on top.

A task may belong to a project that is a folder of a larger repository; the task then sees this folder as the root.
Dependency files above the folder count as well, because a lock may be at the root of the repository. So paths in this
module are relative to the whole repository.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property

from nightshift.core.code.listing import Listing, last_of, listing_of
from nightshift.core.code.tree import Tagged, Tree
from nightshift.core.tasks.projects import place_of
from nightshift.core.tasks.task import Change
from nightshift.core.text.encoding import decode

MOST_BYTES = 32 << 20
"""Maximum size of a file in bytes; larger files are ignored."""
_DEPTH = 2


class DeclaredFiles:
    """Reads files that may declare dependencies.

    Args:
        tree: the base, or the part of it that belongs to a project.
        change: the change on top, with paths relative to `tree`.
    """

    def __init__(self, tree: Tree, change: Change | None = None) -> None:
        self._part, (self._tree, self.folder) = tree, place_of(tree)
        self._over: Mapping[str, str | None] = {f"{self.folder}{path}": text for path, text in (change or {}).items()}

    @property
    def repository_tree(self) -> Tree:
        """The base of the whole repository."""
        return self._tree

    @cached_property
    def paths(self) -> Listing[str]:
        """All paths of the repository with the change on top."""
        return over(self._tree, self._over)

    @property
    def describe(self) -> str:
        """The tag nearest to the base, as in `core.code.tree.Tagged`; empty if there is none."""
        return self._tree.describe() if isinstance(self._tree, Tagged) else ""

    def text(self, path: str) -> str | None:
        """Return the text of a file; None if it is missing or too large."""
        if path in self._over:
            return self._over[path]
        if path not in self._tree.entries():
            return None
        content = self._tree.read(path)
        return decode(content) if len(content) <= MOST_BYTES else None

    def nearest(self, names: Collection[str]) -> str | None:
        """Return the nearest folder with a file of one of these names, with a trailing slash; empty for the root.

        The project's own folder is checked first, then the root of the repository. If neither contains such a file, the
        folders up to two levels below the project's folder are searched. A folder found there is returned if it is the
        only one; otherwise the result is None.
        """
        for folder in dict.fromkeys((self.folder, "")):
            if any(f"{folder}{name}" in self.paths for name in names):
                return folder
        alike = listing_of(self._part.entries()).having(last_of, *names)
        folders = {path.rpartition("/")[0] for path in alike if path.count("/") <= _DEPTH}
        return f"{self.folder}{folders.pop()}/" if len(folders) == 1 else None


def over(tree: Tree, change: Change) -> Listing[str]:
    """Return the paths of a tree with a change on top."""
    return listing_of(tree.entries()).patch({path: text if text is None else "" for path, text in change.items()})
