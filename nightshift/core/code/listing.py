"""The paths of a tree in order, each with a value. Similar trees share their common part.

Most trees are one commit away from a tree that was seen before. A listing gives the differences from an earlier listing
(`since`), or the files with a given folder, name or suffix, without going through all paths.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Generic, TypeVar


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


V = TypeVar("V")
MOST_APART = 1000
"""Maximum number of paths in which a listing may differ from its shared part. A listing that differs more is copied."""
_LAST = "\U0010ffff"


class _Part(Generic[V]):
    """A part of a listing, which others may share: values by path, sorted, and the same paths sorted by other keys."""

    def __init__(self, values: dict[str, V]) -> None:
        self.values = values
        self.paths = list(values)
        self._sorted: dict[Callable[[str], str], list[str]] = {}

    def having(self, key: Callable[[str], str], value: str) -> list[str]:
        paths = self._sorted.get(key)
        if paths is None:
            paths = self._sorted[key] = sorted(self.paths, key=key)
        return paths[bisect_left(paths, value, key=key) : bisect_right(paths, value, key=key)]

    def below(self, start: str) -> list[str]:
        return self.paths[bisect_left(self.paths, start) : bisect_left(self.paths, start + _LAST)]


class Listing(Mapping[str, V]):
    """Immutable mapping of paths to values, in path order; no value is None."""

    __slots__ = ("_added", "_gone", "_length", "_over", "_shared")

    def __init__(
        self, values: Mapping[str, V] | _Part[V] | None = None, over: dict[str, V | None] | None = None
    ) -> None:
        self._shared = values if isinstance(values, _Part) else _Part(dict(sorted((values or {}).items())))
        self._over, before = over or {}, self._shared.values
        new = {path: value for path, value in self._over.items() if value is not None and path not in before}
        self._added = _Part(dict(sorted(new.items())))
        self._gone = {path for path, value in self._over.items() if value is None}
        self._length = len(before) + len(new) - len(self._gone)

    def __getitem__(self, path: str) -> V:
        if path in self._over:
            if (value := self._over[path]) is None:
                raise KeyError(path)
            return value
        return self._shared.values[path]

    def __contains__(self, path: object) -> bool:
        return self._over[path] is not None if path in self._over else path in self._shared.values

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[str]:
        return iter(self._with_added(self._shared.paths, self._added.paths))

    def patch(self, differences: Mapping[str, V | None]) -> Listing[V]:
        """Return a listing in which some paths have other values; None removes a path."""
        before, over = self._shared.values, {**self._over, **differences}
        over = {path: value for path, value in over.items() if before.get(path) != value}
        if len(over) > MOST_APART:
            return Listing({path: value for path, value in {**before, **over}.items() if value is not None})
        return Listing(self._shared, over)

    def is_kin(self, other: Listing[V]) -> bool:
        """Return True if both listings have the same shared part, so that `since` only processes differences."""
        return self._shared is other._shared

    def since(self, old: Listing[V]) -> dict[str, V | None]:
        """Return the differences from an older listing.

        They map each path to its new value, or to None if only the older listing has the path.
        """
        entries, other = (self._over, old._over) if self.is_kin(old) else (self, old)
        paths = sorted({*entries, *other})
        return {path: value for path in paths if (value := self.get(path)) != old.get(path)}

    def below(self, start: str) -> list[str]:
        """Return the paths that begin with a text, such as a folder followed by a slash."""
        return self._with_added(self._shared.below(start), self._added.below(start))

    def having(self, key: Callable[[str], str], *values: str) -> list[str]:
        """Return the paths for which a function gives one of these values.

        Use few different functions, because a sorted order is cached for each of them.
        """
        shared_paths = sorted(path for value in values for path in self._shared.having(key, value))
        return self._with_added(shared_paths, [path for value in values for path in self._added.having(key, value)])

    def _with_added(self, shared_paths: list[str], added: list[str]) -> list[str]:
        remaining = [path for path in shared_paths if path not in self._gone] if self._gone else shared_paths
        return sorted((*remaining, *added)) if added else remaining


def listing_of(values: Mapping[str, V]) -> Listing[V]:
    """Turn a mapping into a listing."""
    return values if isinstance(values, Listing) else Listing(values)


def ending_of(path: str) -> str:
    """Return the suffix of a file's name, starting with its last dot; empty without a dot."""
    name = path.rpartition("/")[2]
    return name[name.rfind(".") :] if "." in name else ""


def discard(sets: dict[str, set[str]], key: str, item: str) -> None:
    """Remove an item from the set under a key; remove the key too if its set is empty then, to save memory."""
    sets[key].discard(item)
    if not sets[key]:
        del sets[key]


class Names:
    """Looks up the files and folders of a listing by the last part of their path.

    Only the folders are indexed here. Files are looked up in the listing, whose orders other listings share.
    """

    def __init__(self, entries: Mapping[str, Any] = MappingProxyType({})) -> None:
        self._entries = Listing[Any]()
        self._folders: defaultdict[str, set[str]] = defaultdict(set)
        self._files_in = Counter[str]()
        self.move_to(self._entries.patch(entries))

    def move_to(self, entries: Listing[Any]) -> Collection[str]:
        """Look up the files of another listing from now on; return the paths at which it differs."""
        apart = entries.since(self._entries)
        for path, value in apart.items():
            if value is None or path not in self._entries:
                for folder in folders_above(path):
                    self._files_in[folder] += 1 if value is not None else -1
                    self._folders[last_of(folder[:-1])].add(folder)
                    if not self._files_in[folder]:
                        del self._files_in[folder]
                        discard(self._folders, last_of(folder[:-1]), folder)
        self._entries = entries
        return apart.keys()

    def find(self, mention: str) -> Iterator[str]:
        """Yield the files that a string names, directly or through the name of a folder that contains them."""
        name = last_of(mention)
        yield from (path for path in self._entries.having(last_of, name) if _ends_with(path, mention))
        for folder in self._folders.get(name, ()):
            if folder and _ends_with(folder[:-1], mention):
                yield from self.within(folder)

    def parents(self, module: str) -> Iterator[str]:
        """Yield the folders from which a top-level module or package of this name could be imported."""
        for path in self._entries.having(last_of, f"{module}.py"):
            yield path[: path.rfind("/") + 1]
        for folder in self._folders.get(module, ()):
            yield folder[: -len(module) - 1]

    def has_folder(self, folder: str) -> bool:
        """Return True if there is a file below a folder, whose name ends with a slash."""
        return folder in self._files_in

    def within(self, folder: str) -> list[str]:
        """Return the files below a folder. The folder's name ends with a slash; the empty text means the root."""
        return self._entries.below(folder)
