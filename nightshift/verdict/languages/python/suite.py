"""Finds test files and creates their must-fail copies: the same file with one expected value changed in each test.

The copy replaces the original, and its tests have the same names. A trick that treats all tests alike, such as an early
exit, a hook, an object that equals everything or a patched assertion, cannot give the right result for both files. If a
test has no check that can be changed, its copy runs to the end and then fails.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable
from pathlib import PurePosixPath

from nightshift.core.code.parsing import parse
from nightshift.core.code.paths import folders_of
from nightshift.core.tasks.task import Files
from nightshift.core.text.encoding import encode
from nightshift.sandbox.source import Source
from nightshift.verdict.languages.python.copies import must_fail_copy
from nightshift.verdict.languages.python.outline import outline
from nightshift.verdict.languages.python.pytest_settings import PytestSettings


def suite_paths(tests: Files, settings: PytestSettings) -> list[str]:
    """Return the paths whose names indicate tests.

    If no name does, return all Python files except `conftest.py` and `__init__.py`.
    """
    python = [path for path in tests if path.endswith(".py")]
    named = [path for path in python if settings.is_suite(path)]
    support = {"conftest.py", "__init__.py"}
    return named or [path for path in python if PurePosixPath(path).name not in support]


def group_by_modules(paths: Iterable[str], present: Collection[str]) -> tuple[tuple[str, ...], ...]:
    """Divide test files into groups, each of which pytest can import in one process.

    pytest imports a file under its path below the outermost package, so `a/tests/test_x.py` and `b/tests/test_x.py`
    have the same module name, and of two packages named `tests` only the first can be imported.
    """
    groups = list[tuple[dict[str, str], list[str]]]()
    for path in paths:
        conftests = (f"{folder}/conftest.py" for folder in folders_of(path) if f"{folder}/__init__.py" in present)
        roots = dict(_find_module(each, present) for each in (path, *(each for each in conftests if each in present)))
        fits = (group for group in groups if all(group[0].get(name, root) == root for name, root in roots.items()))
        group = next(fits, None)
        if group is None:
            groups.append(group := ({}, []))
        group[0].update(roots)
        group[1].append(path)
    return tuple(tuple(members) for _, members in groups)


def _find_module(path: str, present: Collection[str]) -> tuple[str, str]:
    """Return the top-level name under which pytest imports a file, and the folder from which it does."""
    folder = path.rpartition("/")[0]
    while folder and f"{folder}/__init__.py" in present:
        folder = folder.rpartition("/")[0]
    return path[len(folder) :].removeprefix("/").partition("/")[0].removesuffix(".py"), folder


def copy_tests(text: str, settings: PytestSettings, chance: random.Random) -> tuple[str, frozenset[str]] | None:
    """Return the text of a file's must-fail copy and the names of its tests.

    The result is None if the text cannot be edited safely.
    """
    try:
        source = Source(text.replace("\r\n", "\n").replace("\r", "\n"))
        cases = outline(source.tree, settings).cases
        copy = must_fail_copy(source, [case.node for case in cases], chance)
        parse(encode(copy))
    except (SyntaxError, ValueError, RecursionError):
        return None
    return copy, frozenset(case.name for case in cases)
