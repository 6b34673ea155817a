"""Finds test files and creates their must-fail copies: the same file with one expected value changed in each test.

The copy replaces the original, and its tests have the same names. A trick that treats all tests alike, such as an early
exit, a hook, an object that equals everything or a patched assertion, cannot give the right result for both files. If a
test has no check that can be changed, its copy runs to the end and then fails.
"""

from __future__ import annotations

import random
from pathlib import PurePosixPath

from nightshift.core.code.parsing import parse
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
