"""Import graph of a tree that is not checked out: the files that a test depends on, the tests that depend on a file.

The graph leans to the safe side: a string that equals the name of a file or folder counts as a use of it, a module is
looked for beside the importing file, in every folder above it and in `src`, and a file that may reach more than can be
read from it (`core.code.imports`) makes its whole closure incomplete. An edge too many costs a little time; an edge too
few would let a verdict be carried over to a tree in which it does not hold.

What was learned of one commit serves the next: only files that differ are looked at again, and the users of a file are
found by the words that could name it, so that neither question takes longer as a repository grows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from nightshift.core.code.import_graph import ImportCache
from nightshift.core.code.javascript import SOURCES
from nightshift.core.code.paths import is_test_path
from nightshift.core.code.tree import Tree
from nightshift.core.tasks.task import Change, Files

__all__ = ["Closure", "ImportCache", "closure", "dependants", "is_suite", "nearest_first"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Closure:
    """The files that some tests can see. When `complete` is false there may be more, and all are to be staged."""

    paths: frozenset[str]
    complete: bool


def closure(tree: Tree, change: Change, tests: Files, cache: ImportCache) -> Closure:
    """The files that `tests` and the files of `change` can see in `tree` with `change` on top.

    Args:
        tree: the base.
        change: path to new text, None for a removed file.
        tests: path to text; they take the place of files of the same name.
        cache: remembers what was learned before.
    """
    with cache.view(tree, {**change, **tests}) as view:
        paths = _reach([*tests, *(path for path, text in change.items() if text is not None)], view.uses)
        return Closure(paths=paths, complete=not any(view.facts(path).dynamic for path in paths))


def dependants(tree: Tree, changed: Collection[str], cache: ImportCache, *, unknown: bool = True) -> frozenset[str]:
    """The tests of a tree that can see one of the changed paths, or whose closure is not known.

    Args:
        tree: the tree, before or after the change.
        changed: paths that were added, edited or removed; those not in the tree count as being there.
        cache: remembers what was learned before.
        unknown: whether those count whose closure is not known and does not meet a changed path as far as it is.
    """
    entries = tree.entries()
    with cache.view(tree, {path: "" for path in changed if path not in entries}) as view:
        reached = _reach([*changed, *(view.dynamic() if unknown else ())], view.users)
        return frozenset(path for path in reached if path in entries and is_suite(path))


def nearest_first(tree: Tree, changed: Collection[str], tests: Collection[str], cache: ImportCache) -> tuple[str, ...]:
    """Tests in the order in which it is likely that a change breaks them; those alike by their paths.

    First those that were changed or use a changed file themselves, then those that reach one, then the others.
    """
    entries = tree.entries()
    with cache.view(tree, {path: "" for path in changed if path not in entries}) as view:
        near = {*changed, *(user for path in changed for user in view.users(path))}
        reached = _reach(changed, view.users)
    return tuple(sorted(tests, key=lambda path: (path not in near, path not in reached, path)))


def is_suite(path: str) -> bool:
    """Tell whether a path is that of a file of tests, which a runner can be given."""
    return path.endswith((".py", ".go", *SOURCES)) and is_test_path(path) and not path.endswith("conftest.py")


def _reach(starts: Iterable[str], following: Callable[[str], Iterable[str]]) -> frozenset[str]:
    seen, waiting = set(starts), list(starts)
    while waiting:
        new = set(following(waiting.pop())) - seen
        seen |= new
        waiting += new
    return frozenset(seen)
