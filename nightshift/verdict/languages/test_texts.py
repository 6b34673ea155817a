"""Checks whether test files contain assertions at all. Mutants measure how much the tests notice.

An assertion counts wherever it is. If it never runs, or its failure is caught, the test notices no mutant anyway.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from typing import TypeGuard

from nightshift.agent.python_outline import parse_python
from nightshift.core.code import golang
from nightshift.core.code.javascript import is_source
from nightshift.verdict.languages.javascript import interface as javascript_tests
from nightshift.verdict.languages.python.outline import last_name

Function = ast.FunctionDef | ast.AsyncFunctionDef

_CHECKS = frozenset({"raises", "warns", "deprecated_call", "fail"})
_EXCUSES = frozenset({"skip", "skipif", "skipIf", "skipUnless", "xfail", "importorskip", "expectedFailure", "skipTest"})
_EXCUSING = frozenset({"pytest", "pytest.mark", "mark", "unittest", "self"})
_TEST_FOLDERS = frozenset({"tests", "test", "testing", "conftest"})
_JS_ASSERT = re.compile(r"\bassert(?:\.\w+)?\s*\(|\bexpect(?:\.\w+)?\s*\(")
_JS_TEST = re.compile(r"\b(?:test|it)(?:\.each\s*\([^)]*\))?\s*\(")
_JS_EXCUSE = re.compile(
    r"\b(?:test|it|describe|suite|t)\.(skip|todo|skipIf|runIf|fails|failing)\s*\(|[{,]\s*(skip|todo)\s*:"
)
_GO_TEST = re.compile(r"^func\s+(?:\(\w+\s+\S+\)\s*)?(?:Test|Fuzz|Example)\w*\s*\(", re.MULTILINE)
# Check functions of Go, testify and similar libraries, and the comment that states an example's output.
_GO_ASSERT = re.compile(r"\.(?:Error|Fatal)f?\(|\.Fail(?:Now)?\(|\b(?:assert|require|qt|is|cmp)\.\w+\(|// Output:")
_GO_EXCUSE = re.compile(r"\b\w+\.(Skip(?:f|Now)?)\(")


def asserts_something(path: str, text: str) -> bool:
    """Check whether a test file contains a test and an assertion; false if it cannot be parsed."""
    if golang.is_source(path):
        return bool(_GO_TEST.search(text) and _GO_ASSERT.search(text))
    if not path.endswith(".py"):
        return bool(_JS_TEST.search(text) and _JS_ASSERT.search(text))
    tree = parse_python(text)
    nodes = list(ast.walk(tree)) if tree else []
    has_test = any(isinstance(node, Function) and node.name.startswith("test") for node in nodes)
    return has_test and any(map(_asserts, nodes))


def excuses(path: str, text: str) -> list[str]:
    """Return the keywords by which tests of a file avoid running or failing, such as `skip`, `xfail` and `todo`."""
    if golang.is_source(path):
        return sorted(set(_GO_EXCUSE.findall(text)))
    if not path.endswith(".py"):
        return sorted({word for groups in _JS_EXCUSE.findall(text) for word in groups if word})
    tree = parse_python(text)
    return sorted({word for _, word in _excuses(tree)}) if tree else []


def let_off(path: str, text: str) -> Counter[tuple[str, str]]:
    """Count the skips and expected failures in a file by test name and keyword; outside of tests, the name is empty."""
    if is_source(path):
        words = (word for each in _JS_EXCUSE.findall(text) for word in each if word)
        return Counter([*javascript_tests.let_off(path, text), *(("", word) for word in words)])
    tree = parse_python(text) if path.endswith(".py") else None
    return Counter(_excuses(tree)) if tree else Counter()


def idle_tests(path: str, text: str) -> list[str]:
    """Return the names of tests that assert nothing, either directly or by calling a helper that asserts."""
    if is_source(path):
        return javascript_tests.idle_tests(path, text)
    tree = parse_python(text) if path.endswith(".py") else None
    if tree is None:
        return []
    elsewhere = set(_list_helpers(tree))
    helpers = elsewhere | _own_helpers(tree)
    return [
        test.name for test, holder in _tests(tree) if not _is_felt(test, helpers | _list_inherited(holder, elsewhere))
    ]


def all_idle(path: str, text: str) -> bool:
    """Check whether a file has tests, but no test that asserts anything."""
    if is_source(path):
        return 0 < len(javascript_tests.idle_tests(path, text)) == javascript_tests.number_of_tests(path, text)
    tree = parse_python(text) if path.endswith(".py") else None
    return tree is not None and 0 < len(idle_tests(path, text)) == sum(1 for _ in _tests(tree))


def _asserts(node: ast.AST) -> bool:
    if isinstance(node, ast.Assert):
        return not isinstance(node.test, ast.Constant)
    name = _name_called(node)
    return name in _CHECKS or name.startswith("assert") if name else False


def _excuses(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """List each skip or expected failure: the name of the test or class that contains it, and its keyword."""
    imported = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom))
    own = {alias.asname or alias.name for node in imported if node.module in _EXCUSING for alias in node.names}
    waiting: list[tuple[ast.AST, str]] = [(tree, "")]
    while waiting:
        node, holder = waiting.pop()
        if isinstance(node, Function | ast.ClassDef):
            holder = f"{holder}::{node.name}" if holder else node.name
        waiting += [(child, holder) for child in ast.iter_child_nodes(node)]
        if isinstance(node, ast.Attribute) and node.attr in _EXCUSES and ast.unparse(node.value) in _EXCUSING:
            yield holder, node.attr
        elif isinstance(node, ast.Name) and node.id in _EXCUSES & own:
            yield holder, node.id


def _functions(tree: ast.AST) -> Iterator[Function]:
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def _tests(node: ast.AST, holder: ast.ClassDef | None = None) -> Iterator[tuple[Function, ast.ClassDef | None]]:
    """List the tests of a module, each with its class; functions inside other functions are not tests."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, Function):
            yield from _tests(child, child if isinstance(child, ast.ClassDef) else holder)
        elif child.name.startswith("test"):
            yield child, holder


def _is_felt(test: Function, helpers: set[str]) -> bool:
    return any(_asserts(node) or _calls(node, helpers) for node in ast.walk(test))


def _own_helpers(tree: ast.Module) -> set[str]:
    """Return the functions of a module that assert, directly or by calling each other; tests are excluded."""
    waiting = {f: list(ast.walk(f)) for f in _functions(tree) if not f.name.startswith("test")}
    helpers = {f.name for f, nodes in waiting.items() if any(map(_asserts, nodes))}
    while more := {f.name for f, nodes in waiting.items() if any(_calls(n, helpers) for n in nodes)} - helpers:
        helpers |= more
    return helpers


def _list_inherited(holder: ast.ClassDef | None, elsewhere: set[str]) -> set[str]:
    """List the `self` methods that a class calls and does not define, if a base class is from another test module."""
    if holder is None or not elsewhere.intersection(map(last_name, holder.bases)):
        return set()
    asked = {node.func.attr for node in ast.walk(holder) if isinstance(node, ast.Call) and _is_own(node.func)}
    return asked - {function.name for function in _functions(holder)}


def _is_own(node: ast.expr) -> TypeGuard[ast.Attribute]:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"


def _list_helpers(tree: ast.Module) -> Iterator[str]:
    """List the names that a test file imports from other test modules; these functions may assert."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.level or (node.module or "").partition(".")[0] in _TEST_FOLDERS):
            yield from (alias.asname or alias.name for alias in node.names)


def _calls(node: ast.AST, names: set[str]) -> bool:
    return _name_called(node) in names


def _name_called(node: ast.AST) -> str:
    return last_name(node.func) if isinstance(node, ast.Call) else ""
