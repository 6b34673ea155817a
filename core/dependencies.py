"""Which files a test depends on, and which tests depend on a file: the import graph of a tree that is not checked out.

The graph leans to the safe side: a string that equals the name of a file or folder counts as a use of it, a module is
looked for beside the importing file, in every folder above it and in `src`, and a file that may reach more than can be
read from it (`core.imports`) makes its whole closure incomplete. An edge too many costs a little time; an edge too few
would let a verdict be carried over to a tree in which it does not hold.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TypeVar

from core.imports import Facts, Import, facts_of
from core.ports import Tree
from core.submission import is_test_path
from core.tasks import Change, Files

_T = TypeVar("_T")

SETTINGS = frozenset(
    {"pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "pyproject.toml", "tox.ini", "setup.cfg"}
)
"""Files at the root that steer pytest; every test depends on them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Closure:
    """The files that some tests can see. When `complete` is false there may be more, and all are to be staged."""

    paths: frozenset[str]
    complete: bool


class ImportCache:
    """Remembers what files refer to, by the id of their content; may be shared between threads."""

    def __init__(self, max_files: int = 50_000, max_trees: int = 4) -> None:
        self._facts: OrderedDict[str, Facts] = OrderedDict()
        self._names: OrderedDict[str, _Names] = OrderedDict()
        self._max_files, self._max_trees = max_files, max_trees
        self._lock = threading.Lock()

    def facts(self, path: str, blob: str, read: Callable[[], bytes]) -> Facts:
        """What a file refers to; read and parsed once for each content."""
        key = f"{PurePosixPath(path).suffix}:{blob}"
        with self._lock:
            known = self._facts.get(key)
        return known or self._keep(self._facts, key, facts_of(path, read()), self._max_files)

    def names(self, tree: Tree) -> _Names:
        """The names in a tree; listed once for each commit."""
        with self._lock:
            known = self._names.get(tree.commit)
        return known or self._keep(self._names, tree.commit, _Names(tree.entries()), self._max_trees)

    def _keep(self, table: OrderedDict[str, _T], key: str, value: _T, most: int) -> _T:
        with self._lock:
            table[key] = value
            while len(table) > most:
                table.popitem(last=False)
        return value


def closure(tree: Tree, change: Change, tests: Files, cache: ImportCache) -> Closure:
    """The files that `tests` and the files of `change` can see in `tree` with `change` on top.

    Args:
        tree: the base.
        change: path to new text, None for a removed file.
        tests: path to text; they take the place of files of the same name.
        cache: remembers what was parsed before.
    """
    view = _View(tree, {**change, **tests}, cache)
    return view.closure([*tests, *(path for path, text in change.items() if text is not None)])


def dependants(tree: Tree, changed: Collection[str], cache: ImportCache, *, unknown: bool = True) -> frozenset[str]:
    """The tests of a tree that can see one of the changed paths, or whose closure is not known.

    Args:
        tree: the tree, before or after the change.
        changed: paths that were added, edited or removed; those not in the tree count as being there.
        cache: remembers what was parsed before.
        unknown: whether those count whose closure is not known and does not meet a changed path as far as it is.
    """
    view = _View(tree, {path: "" for path in changed if path not in tree.entries()}, cache)
    tests = [p for p in tree.entries() if p.endswith(".py") and is_test_path(p) and not p.endswith("conftest.py")]
    users: defaultdict[str, set[str]] = defaultdict(set)
    seen = _reach(tests, lambda path: _noted(view.uses(path), path, users))
    goals = [path for path in seen if path in changed or (unknown and view.facts(path).dynamic)]
    return _reach(goals, lambda path: users[path]) & frozenset(tests)


def _noted(used: frozenset[str], user: str, users: defaultdict[str, set[str]]) -> frozenset[str]:
    for path in used:
        users[path].add(user)
    return used


def _reach(starts: Iterable[str], following: Callable[[str], Iterable[str]]) -> frozenset[str]:
    seen, waiting = set(starts), list(starts)
    while waiting:
        new = set(following(waiting.pop())) - seen
        seen |= new
        waiting += new
    return frozenset(seen)


class _Names:
    """Looks files and folders up by the last part of their path."""

    def __init__(self, paths: Iterable[str]) -> None:
        self.paths = frozenset(paths)
        self._files: defaultdict[str, list[str]] = defaultdict(list)
        self._folders: defaultdict[str, set[str]] = defaultdict(set)
        self._within: defaultdict[str, list[str]] = defaultdict(list)
        for path in self.paths:
            self._files[path.rpartition("/")[2]].append(path)
            for folder in _folders_above(path):
                self._within[folder].append(path)
        for folder in self._within.keys() - {""}:
            self._folders[folder[:-1].rpartition("/")[2]].add(folder[:-1])

    def named(self, mention: str) -> Iterator[str]:
        """Files that a string names, alone or by the folder they are in."""
        last = mention.rpartition("/")[2]
        yield from (path for path in self._files.get(last, ()) if _ends_with(path, mention))
        for folder in self._folders.get(last, ()):
            if _ends_with(folder, mention):
                yield from self._within[folder + "/"]

    def directly_in(self, folder: str) -> Iterator[str]:
        """Files that lie in a folder itself; its name ends with a slash."""
        yield from (path for path in self._within.get(folder, ()) if "/" not in path[len(folder) :])


def _ends_with(path: str, mention: str) -> bool:
    return path == mention or path.endswith("/" + mention)


class _View:
    """A tree with texts on top, as a graph."""

    def __init__(self, tree: Tree, over: Mapping[str, str | None], cache: ImportCache) -> None:
        self._tree, self._over, self._cache = tree, over, cache
        self._entries = tree.entries()
        self._below, self._above = cache.names(tree), _Names(path for path, text in over.items() if text is not None)

    def __contains__(self, path: str) -> bool:
        return self._over[path] is not None if path in self._over else path in self._entries

    def closure(self, starts: Iterable[str]) -> Closure:
        paths = _reach(starts, self.uses)
        return Closure(paths=paths, complete=not any(self.facts(path).dynamic for path in paths))

    def facts(self, path: str) -> Facts:
        text = self._over.get(path)
        if text is None:
            return self._cache.facts(path, self._entries[path], lambda: self._tree.read(path))
        raw = text.encode("utf-8", "surrogatepass")
        return self._cache.facts(path, hashlib.sha256(raw).hexdigest(), lambda: raw)

    def uses(self, path: str) -> frozenset[str]:
        """The files that one file refers to."""
        facts = self.facts(path)
        found = set(self._surroundings(path)) if path.endswith(".py") else set()
        for imported in facts.imports:
            found.update(self._imported(path, imported))
        for mention in facts.mentions:
            found.update(self._mentioned(path, mention))
        return frozenset(found)

    def _surroundings(self, path: str) -> Iterator[str]:
        is_test = is_test_path(path)
        for folder in _folders_above(path):
            yield from self._present(f"{folder}__init__.py")
            if is_test:
                yield from self._present(f"{folder}conftest.py")
        if is_test:
            yield from (name for name in SETTINGS if name in self)

    def _present(self, path: str) -> Iterator[str]:
        if path in self:
            yield path

    def _imported(self, path: str, imported: Import) -> Iterator[str]:
        above = list(_folders_above(path))
        if imported.level:
            roots = above[imported.level - 1 : imported.level]
        else:
            roots = list(dict.fromkeys([*above, *(f"{folder}src/" for folder in above)]))
        for root in roots:
            yield from self._module(root, imported)

    def _module(self, root: str, imported: Import) -> Iterator[str]:
        parts = imported.module.split(".") if imported.module else []
        for length in range(1, len(parts) + 1):
            yield from self._file_of(root + "/".join(parts[:length]))
        package = root + "/".join(parts) + "/" if parts else root
        for name in imported.names:
            if name == "*":
                yield from (p for p in self._in_folder(package) if p.endswith(".py"))
            else:
                yield from self._file_of(package + name)

    def _file_of(self, stem: str) -> Iterator[str]:
        for path in (f"{stem}.py", f"{stem}/__init__.py", f"{stem}.pyi"):
            yield from self._present(path)

    def _in_folder(self, folder: str) -> Iterator[str]:
        if f"{folder}__init__.py" in self:  # a star reaches submodules only through a package's `__all__`
            for names in (self._below, self._above):
                yield from (path for path in names.directly_in(folder) if path in self)

    def _mentioned(self, path: str, mention: str) -> Iterator[str]:
        for names in (self._below, self._above):
            yield from (found for found in names.named(mention) if found in self)
        if "." in mention and all(part.isidentifier() for part in mention.split(".")):
            yield from self._imported(path, Import(module=mention))


def _folders_above(path: str) -> Iterator[str]:
    """The folders that a file lies in, the nearest first, each with a slash at its end; the root is the empty text."""
    parts = path.split("/")[:-1]
    for length in range(len(parts), -1, -1):
        yield "".join(part + "/" for part in parts[:length])
