"""Index of the files of a tree by name and by folder, updated when files are added or removed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator


def discard(sets: dict[str, set[str]], key: str, item: str) -> None:
    """Remove an item from the set under a key; remove the key too if its set is empty then, to save memory."""
    sets[key].discard(item)
    if not sets[key]:
        del sets[key]


class Names:
    """Looks up files and folders by the last part of their path."""

    def __init__(self, paths: Iterable[str] = ()) -> None:
        self._files: defaultdict[str, set[str]] = defaultdict(set)
        self._folders: defaultdict[str, set[str]] = defaultdict(set)
        self._within: defaultdict[str, set[str]] = defaultdict(set)
        for path in paths:
            self.add(path)

    def add(self, path: str) -> None:
        """Add a file."""
        self._files[last_of(path)].add(path)
        for folder in folders_above(path):
            self._within[folder].add(path)
            self._folders[last_of(folder[:-1])].add(folder)

    def remove(self, path: str) -> None:
        """Remove a file, and each folder that contains no other file."""
        discard(self._files, last_of(path), path)
        for folder in folders_above(path):
            discard(self._within, folder, path)
            if folder not in self._within:
                discard(self._folders, last_of(folder[:-1]), folder)

    def named(self, mention: str) -> Iterator[str]:
        """Yield the files that a string names, directly or through the name of a folder that contains them."""
        yield from (path for path in self._files.get(last_of(mention), ()) if _ends_with(path, mention))
        for folder in self._folders.get(last_of(mention), ()):
            if folder and _ends_with(folder[:-1], mention):
                yield from self._within[folder]

    def within(self, folder: str) -> Iterable[str]:
        """Return the files below a folder. The folder's name ends with a slash; the empty text means the root."""
        return self._within.get(folder, ())


def folders_above(path: str) -> Iterator[str]:
    """Yield the folders that contain a file, the nearest first.

    Each folder's name ends with a slash; the root is the empty text.
    """
    end = path.rfind("/")
    while end >= 0:
        yield path[: end + 1]
        end = path.rfind("/", 0, end)
    yield ""


def _ends_with(path: str, mention: str) -> bool:
    return path == mention or path.endswith("/" + mention)


def last_of(path: str) -> str:
    """Return the last part of a path."""
    return path.rpartition("/")[2]
