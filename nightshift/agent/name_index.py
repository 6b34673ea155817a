"""An index of files by the names that a task can mention. When the tree changes, only changed files are read again.

Every prompt about the daemon's own workspace needs the files that a task mentions, and each task adds about two files
to the workspace.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from nightshift.core.code.listing import Listing, listing_of

MOST_DEFINING = 50
"""Maximum number of files that define a name. A name that more files define does not identify a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tags:
    """The names that a file defines, the names that it refers to with their numbers of occurrences, and its words.

    The words include parts of names.
    """

    defines: tuple[str, ...] = ()
    refers: Mapping[str, int] = field(default_factory=dict)
    words: tuple[str, ...] = ()


class NameIndex:
    """An index of paths by the names that their files define, and by the words in the file's own name; thread-safe.

    Args:
        words_of: returns the words of a file's name, given its path.
        most: limit of indexed files; beyond it, the files that were added first are removed.
    """

    def __init__(self, words_of: Callable[[str], frozenset[str]], most: int) -> None:
        self._words_of, self._most, self._lock = words_of, most, threading.Lock()
        self._contents = Listing[str]()
        self._tags: dict[str, Tags] = {}
        self._defining: defaultdict[str, set[str]] = defaultdict(set)
        self._called: defaultdict[str, set[str]] = defaultdict(set)

    def find(
        self,
        contents: Mapping[str, str],
        tags_of: Callable[[str], Tags | None],
        words: frozenset[str],
        names: Collection[str],
    ) -> dict[str, Tags]:
        """Return the files, in path order, that define one of the names or whose file name has only words from `words`.

        Args:
            contents: maps the path of each file to the id of the file's content.
            tags_of: reads a file; returns None for a file that is not indexed.
            words: words in lower case and the singular.
            names: names as they are written in code.
        """
        with self._lock:
            self._follow(listing_of(contents), tags_of)
            defining = (self._defining.get(name, ()) for name in names)
            matching_paths = {path for paths in defining if len(paths) <= MOST_DEFINING for path in paths}
            matching_paths |= {
                path for word in words for path in self._called.get(word, ()) if self._words_of(path) <= words
            }
            return {path: self._tags[path] for path in sorted(matching_paths)}

    def _follow(self, contents: Listing[str], tags_of: Callable[[str], Tags | None]) -> None:
        """Add new and changed files to the index, and remove deleted ones."""
        apart = contents.since(self._contents)
        for path in apart:
            self._forget(path)
        for path in [path for path, content in apart.items() if content is not None][-self._most :]:
            if (tags := tags_of(path)) is not None:
                self._learn(path, tags)
        self._contents = contents

    def _learn(self, path: str, tags: Tags) -> None:
        while len(self._tags) >= self._most:
            self._forget(next(iter(self._tags)))
        self._tags[path] = tags
        for name in tags.defines:
            self._defining[name].add(path)
        if word := _key(self._words_of(path)):
            self._called[word].add(path)

    def _forget(self, path: str) -> None:
        tags = self._tags.pop(path, None)
        if tags is None:
            return
        for table, keys in ((self._defining, tags.defines), (self._called, (_key(self._words_of(path)),))):
            for key in keys:
                if key in table:
                    table[key].discard(path)
                    if not table[key]:
                        del table[key]


def _key(words: frozenset[str]) -> str:
    """Return the key of a file in the index: its name's longest word, which few files share; empty without words."""
    return max(sorted(words), key=len, default="")
