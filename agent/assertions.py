"""Counts what self-written tests assert, so that a later version cannot quietly assert less."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from agent import js_map
from agent.repo_map import parse_python
from core.javascript import is_source

_CHECKS = frozenset({"raises", "warns", "deprecated_call", "fail"})
_JS_ASSERT = re.compile(r"\bassert(?:\.\w+)?\s*\(")
_JS_TEST = re.compile(r"\b(?:test|it)\s*\(")


def assertions(path: str, text: str) -> int:
    """How many assertions a test file holds: assert statements, pytest.raises and warns, unittest's methods."""
    if not path.endswith(".py"):
        return len(_JS_ASSERT.findall(text))
    tree = parse_python(text)
    return sum(map(_asserts, ast.walk(tree))) if tree else 0


def count_tests(path: str, text: str) -> int:
    """How many tests a file holds."""
    if not path.endswith(".py"):
        return len(_JS_TEST.findall(text))
    tree = parse_python(text)
    return sum(1 for _ in _tests(tree)) if tree else 0


def idle_tests(path: str, text: str) -> list[str]:
    """Names of the tests that assert nothing themselves; a helper that asserts is called from a test's body."""
    if is_source(path):
        return js_map.idle_tests(path, text)
    tree = parse_python(text) if path.endswith(".py") else None
    if tree is None:
        return []
    helpers = {f.name for f in _functions(tree) if not f.name.startswith("test") and any(map(_asserts, ast.walk(f)))}
    return [test.name for test in _tests(tree) if not any(_asserts(n) or _calls(n, helpers) for n in ast.walk(test))]


def _functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def _tests(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (function for function in _functions(tree) if function.name.startswith("test"))


def _asserts(node: ast.AST) -> bool:
    if isinstance(node, ast.Assert):
        return True
    name = _called(node)
    return name in _CHECKS or name.startswith(("assert_", "assert")) if name else False


def _calls(node: ast.AST, names: set[str]) -> bool:
    return _called(node) in names


def _called(node: ast.AST) -> str:
    if not isinstance(node, ast.Call):
        return ""
    target = node.func
    return target.attr if isinstance(target, ast.Attribute) else target.id if isinstance(target, ast.Name) else ""
