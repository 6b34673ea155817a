"""Finds the files that a test depends on, and the tests that depend on a file, in a tree that is not checked out.

The import graph errs on the safe side. A string that equals the name of a file or folder counts as a use of it. A
module is looked up beside the importing file, in every folder above it and in `src`. A file that may use more files
than its text shows (`core.code.imports`) makes every closure that contains the file incomplete. An extra edge costs a
little time, but a missing edge would carry a verdict over to a tree for which it is wrong.

Facts about one commit are reused for the next, so only files that differ are read again. The users of a file are looked
up by the words that could name the file. So neither the search for dependencies nor the search for users takes longer
as a repository grows.
"""

from __future__ import annotations

import contextlib
import hashlib
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from nightshift.core.code.imports import Facts, Import, facts_of, may_refer
from nightshift.core.code.javascript import SOURCES, is_source
from nightshift.core.code.listing import Listing, Names, discard, folders_above, last_of, listing_of
from nightshift.core.code.paths import is_test_path
from nightshift.core.code.tree import Tree
from nightshift.core.tasks.task import Change, Files
from nightshift.core.text.encoding import encode

SETTINGS = frozenset(
    {"pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "pyproject.toml", "tox.ini", "setup.cfg"}
)
"""Files at the root that configure pytest; every test depends on them."""

PACKAGE = "package.json"
LIKE = 0.5
"""The minimum share of paths that two trees must have in common for one graph to be updated to the other."""
_NOTHING = Facts()


class ImportCache:
    """Caches the references of files, and the graphs of recently queried trees; shared between threads.

    `max_files` limits the number of files, separately for the references and for the graphs; each file takes about a
    kilobyte in both together. At least one graph always stays.
    """

    def __init__(self, max_files: int = 50_000) -> None:
        self._facts: dict[str, Facts] = {}
        self._graphs: list[_Graph] = []
        self._max_files = max_files
        self._lock = threading.RLock()

    @contextlib.contextmanager
    def view(self, tree: Tree, over: Mapping[str, str | None]) -> Iterator[View]:
        """Yield a view of a tree with changed texts (None removes a file), for one query.

        Other threads that want a view wait until the query has ended.
        """
        with self._lock:
            yield View(tree, over, self._graph(tree), self)

    def facts(self, path: str, blob: str, read: Callable[[], bytes]) -> Facts:
        """Return the references of a file; each file content is read and parsed only once."""
        if not may_refer(path):
            return _NOTHING
        key = blob if path.endswith(".py") else f"{PurePosixPath(path).suffix}:{blob}"  # no second text for most files
        with self._lock:
            if (cached_facts := self._facts.get(key)) is None:
                fresh = facts_of(path, read())
                cached_facts = self._facts[key] = _NOTHING if fresh == _NOTHING else fresh
                while len(self._facts) > self._max_files:
                    del self._facts[next(iter(self._facts))]
            return cached_facts

    def _graph(self, tree: Tree) -> _Graph:
        """Return the most similar cached graph, updated to this tree.

        The most recently used graph is the last one in the cache.
        """
        entries = listing_of(tree.entries())
        used_last = self._graphs[::-1]
        best = next((graph for graph in used_last if graph.commit == tree.commit), None)
        best = best or next((graph for graph in used_last if graph.entries.is_kin(entries)), None)
        best = best or next((graph for graph in used_last if graph.is_like(entries)), None) or _Graph()
        best.move_to(tree.commit, entries)
        self._graphs = [*(graph for graph in self._graphs if graph is not best), best]
        while len(self._graphs) > 1 and sum(len(graph.entries) for graph in self._graphs) > self._max_files:
            del self._graphs[0]
        return best


class _Graph:
    """The names of one tree's files, and the words that each file uses. The words are read only when needed."""

    def __init__(self) -> None:
        self.names = Names()
        self.dynamic: set[str] = set()
        self.commit, self.entries = "", Listing[str]()
        self._stale = set[str]()
        self._words: dict[str, tuple[str, ...]] = {}
        self._users: defaultdict[str, set[str]] = defaultdict(set)

    def is_like(self, entries: Mapping[str, str]) -> bool:
        """Return True if this graph and a tree have enough paths in common (`LIKE`) to update the graph to the tree."""
        return sum(path in self.entries for path in entries) >= LIKE * max(1, len(entries), len(self.entries))

    def move_to(self, commit: str, entries: Listing[str]) -> None:
        """Update this graph to another tree by applying the differences."""
        if commit != self.commit:
            self._stale.update(self.names.move_to(entries))
            self.commit, self.entries = commit, entries

    def users_of(self, words: Iterable[str], facts: Callable[[str], Facts]) -> set[str]:
        """Return the files of the tree that use at least one of these words."""
        self.index(facts)
        return {path for word in words for path in self._users.get(word, ())}

    def index(self, facts: Callable[[str], Facts]) -> None:
        """Record the words of each file that is new or has changed since its words were recorded."""
        while self._stale:
            path = next(iter(self._stale))
            self._forget(path)
            file_facts = facts(path) if path in self.entries else _NOTHING
            if words := tuple({*_words(path, file_facts)}):
                self._words[path] = words
            for word in words:
                self._users[word].add(path)
            if file_facts.dynamic:
                self.dynamic.add(path)
            self._stale.discard(path)

    def _forget(self, path: str) -> None:
        self.dynamic.discard(path)
        for word in self._words.pop(path, ()):
            discard(self._users, word, path)


class View:
    """The graph of a tree with changed texts; made by `ImportCache.view`."""

    def __init__(self, tree: Tree, over: Mapping[str, str | None], graph: _Graph, cache: ImportCache) -> None:
        self._tree, self._over, self._graph, self._cache = tree, over, graph, cache
        self._entries = tree.entries()
        self._above = Names({path: text for path, text in over.items() if text is not None})

    def __contains__(self, path: str) -> bool:
        return self._over[path] is not None if path in self._over else path in self._entries

    def facts(self, path: str) -> Facts:
        """Return the references of a file."""
        text = self._over.get(path)
        if text is None:
            return self._facts_below(path)
        raw = encode(text)
        return self._cache.facts(path, hashlib.sha256(raw).hexdigest(), lambda: raw)

    def dynamic(self) -> Iterable[str]:
        """Return the tree's files that may refer to more files than their text shows."""
        self._graph.index(self._facts_below)
        return self._graph.dynamic

    def uses(self, path: str) -> frozenset[str]:
        """Return the files that the file at `path` refers to."""
        facts = self.facts(path)
        used_paths = set(self._surroundings(path)) if path.endswith(".py") else set()
        if is_source(path):  # `package.json` determines the module type of a file
            used_paths.update(name for folder in folders_above(path) for name in self._present(f"{folder}{PACKAGE}"))
        for imported in facts.imports:
            used_paths.update(self._list_imported(path, imported))
        for mention in facts.mentions:
            used_paths.update(self._list_mentioned(path, mention))
        return frozenset(used_paths)

    def users(self, path: str) -> Iterator[str]:
        """Yield the files of the tree that refer to the file at `path`."""
        candidates = self._graph.users_of(_keys(path), self._facts_below)
        name, folder = last_of(path), path[: path.rfind("/") + 1]
        if name in {"__init__.py", "conftest.py", PACKAGE}:
            candidates.update(self._graph.names.within(folder))
        elif path in SETTINGS:
            candidates.update(self._entries)
        return (user for user in candidates if path in self.uses(user))

    def _facts_below(self, path: str) -> Facts:
        return self._cache.facts(path, self._entries[path], lambda: self._tree.read(path))

    def _surroundings(self, path: str) -> Iterator[str]:
        is_test = is_test_path(path)
        for folder in folders_above(path):
            yield from self._present(f"{folder}__init__.py")
            if is_test:
                yield from self._present(f"{folder}conftest.py")
        if is_test:
            yield from (name for name in SETTINGS if name in self)

    def _present(self, path: str) -> Iterator[str]:
        if path in self:
            yield path

    def _list_imported(self, path: str, imported: Import) -> Iterator[str]:
        above = list(folders_above(path))
        if imported.level:
            roots = above[imported.level - 1 : imported.level]
        else:
            roots = list(dict.fromkeys([*above, *(f"{folder}src/" for folder in above)]))
            top = imported.module.partition(".")[0]
            if top not in sys.stdlib_module_names and not any(self._has_module(root, top) for root in roots):
                # another package of a workspace
                roots += sorted({*self._graph.names.parents(top), *self._above.parents(top)})
        for root in roots:
            yield from self._module(root, imported)

    def _has_module(self, root: str, name: str) -> bool:
        return any(self._file_of(root + name)) or self._graph.names.has_folder(f"{root}{name}/")

    def _module(self, root: str, imported: Import) -> Iterator[str]:
        parts = imported.module.split(".") if imported.module else []
        for length in range(1, len(parts) + 1):
            yield from self._file_of(root + "/".join(parts[:length]))
        package = root + "/".join(parts) + "/" if parts else root
        for name in imported.names:
            if name == "*":
                yield from self._submodules(package)
            else:
                yield from self._file_of(package + name)

    def _file_of(self, stem: str) -> Iterator[str]:
        for path in (f"{stem}.py", f"{stem}/__init__.py", f"{stem}.pyi"):
            yield from self._present(path)

    def _submodules(self, package: str) -> Iterator[str]:
        if f"{package}__init__.py" in self:  # A star import gives submodules only through a package's `__all__`
            for names in (self._graph.names, self._above):
                for path in names.within(package):
                    if path.endswith(".py") and "/" not in path[len(package) :] and path in self:
                        yield path

    def _list_mentioned(self, path: str, mention: str) -> Iterator[str]:
        for names in (self._graph.names, self._above):
            yield from (named_path for named_path in names.find(mention) if named_path in self)
        if _is_dotted(mention):
            yield from self._list_imported(path, Import(module=mention))


def _words(path: str, facts: Facts) -> Iterator[str]:
    """Yield the words by which a file may refer to others. A word leads to the files for which `_keys` yields it."""
    for imported in facts.imports:
        parts = [*imported.module.split("."), *imported.names]
        yield from (f"import {part}" for part in parts)
        if "*" in imported.names:
            # A relative star import may refer to any folder above.
            yield from (f"all of {last_of(folder[:-1])}" for folder in folders_above(path))
            yield from (f"all of {part}" for part in parts)
    for mention in facts.mentions:
        yield f"name {last_of(mention)}"
        if _is_dotted(mention):
            yield from (f"import {part}" for part in mention.split("."))


def _keys(path: str) -> Iterator[str]:
    name, folders = last_of(path), list(folders_above(path))
    parent = last_of(folders[0][:-1])
    yield f"import {parent if name.startswith('__init__.') else name.partition('.')[0]}"
    yield f"all of {parent}"
    yield f"name {name}"
    yield from (f"name {last_of(folder[:-1])}" for folder in folders if folder)


def _is_dotted(mention: str) -> bool:
    return "." in mention and all(part.isidentifier() for part in mention.split("."))


__all__ = ["Closure", "ImportCache", "closure", "dependants", "is_suite", "nearest_first"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Closure:
    """The files that a set of tests can see.

    If `complete` is False, the tests may see further files, so all files must be staged.
    """

    paths: frozenset[str]
    complete: bool


def closure(tree: Tree, change: Change, tests: Files, cache: ImportCache) -> Closure:
    """Return the files that `tests` and the changed files can see in `tree` with `change` applied.

    Args:
        tree: The base.
        change: Maps paths to new texts; None stands for a removed file.
        tests: Maps paths to texts; they replace files of the same name.
        cache: Caches the facts about files.
    """
    with cache.view(tree, {**change, **tests}) as view:
        paths = _reach([*tests, *(path for path, text in change.items() if text is not None)], view.uses)
        return Closure(paths=paths, complete=not any(view.facts(path).dynamic for path in paths))


def dependants(
    tree: Tree, changed: Collection[str], cache: ImportCache, *, unknown: bool = True,
    is_test: Callable[[str], bool] | None = None,
) -> frozenset[str]:  # fmt: skip
    """Return the tests of a tree that can see one of the changed paths, or whose closure is incomplete.

    Args:
        tree: The tree, before or after the change.
        changed: Paths that were added, edited or removed; paths that are not in the tree count as present.
        cache: Caches the facts about files.
        unknown: True includes every test with an incomplete closure, even if no changed path is known to be in the
            closure.
        is_test: decides which files are tests; the default looks at the usual names.
    """
    entries = tree.entries()
    with cache.view(tree, {path: "" for path in changed if path not in entries}) as view:
        reached = _reach([*changed, *(view.dynamic() if unknown else ())], view.users)
        return frozenset(path for path in reached if path in entries and (is_test or is_suite)(path))


def nearest_first(tree: Tree, changed: Collection[str], tests: Collection[str], cache: ImportCache) -> tuple[str, ...]:
    """Sort tests by how likely the change breaks them; tests of equal rank are sorted by path.

    First come tests that were changed or that use a changed file directly, then tests that use a changed file
    indirectly, then all other tests.
    """
    entries = tree.entries()
    with cache.view(tree, {path: "" for path in changed if path not in entries}) as view:
        near = {*changed, *(user for path in changed for user in view.users(path))}
        reached = _reach(changed, view.users)
    return tuple(sorted(tests, key=lambda path: (path not in near, path not in reached, path)))


def is_suite(path: str) -> bool:
    """Return True if a path is a file of tests that a test runner accepts."""
    return path.endswith((".py", ".go", *SOURCES)) and is_test_path(path) and not path.endswith("conftest.py")


def _reach(starts: Iterable[str], following: Callable[[str], Iterable[str]]) -> frozenset[str]:
    seen, waiting = set(starts), list(starts)
    while waiting:
        new = set(following(waiting.pop())) - seen
        seen |= new
        waiting += new
    return frozenset(seen)
