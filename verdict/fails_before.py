"""Tells without a run that self-written tests fail before the change, where their imports say so."""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection, Iterator

from core.parsing import parse
from core.tasks import Change, Files
from languages.test_config import LIBRARY_NAMES


def surely_fail_before(tests: Files, change: Change, present: Collection[str]) -> bool:
    """Tell whether a test file cannot even be imported without the change, so that no run is needed to see it fail.

    Args:
        tests: the self-written test files.
        change: what is to be missing.
        present: the paths that are there without it.
    """
    tops = {path.removeprefix("src/").partition("/")[0].removesuffix(".py") for path in present}
    added = {path.removeprefix("src/").partition("/")[0].removesuffix(".py") for path in change if path not in present}
    missing = added - tops - sys.stdlib_module_names - LIBRARY_NAMES
    return any(name in missing for path, text in tests.items() if path.endswith(".py") for name in _imported(text))


def _imported(text: str) -> Iterator[str]:
    """Top-level names that a module imports unconditionally."""
    try:
        body = parse(text).body
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in body:
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]
