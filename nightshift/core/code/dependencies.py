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


def dependants(tree: Tree, changed: Collection[str], cache: ImportCache, *, unknown: bool = True) -> frozenset[str]:
    """Return the tests of a tree that can see one of the changed paths, or whose closure is incomplete.

    Args:
        tree: The tree, before or after the change.
        changed: Paths that were added, edited or removed; paths that are not in the tree count as present.
        cache: Caches the facts about files.
        unknown: True includes every test with an incomplete closure, even if no changed path is known to be in the
            closure.
    """
    entries = tree.entries()
    with cache.view(tree, {path: "" for path in changed if path not in entries}) as view:
        reached = _reach([*changed, *(view.dynamic() if unknown else ())], view.users)
        return frozenset(path for path in reached if path in entries and is_suite(path))


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
