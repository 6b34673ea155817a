"""Lists, removes and replaces test functions in the text of a Python test file."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator
from typing import TypeGuard

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_CALLED_BY_PYTEST = re.compile(r"test|Test|setup|teardown|setUp|tearDown|pytest_|load_tests$|__")


def bare_id(test: str) -> str:
    """Return the id of a test without its parameters: `path::Class::name`."""
    path, _, name = test.partition("::")
    return f"{path}::{name.partition('[')[0]}"


def names(text: str) -> frozenset[str]:
    """Return the tests of a file, as `name` or `Class::name`."""
    return frozenset(name for name, _ in _tests(ast.parse(text), ""))


def without(text: str, unwanted: Collection[str]) -> str:
    """Return the file without the unwanted tests.

    Classes that become empty are removed as well, unless they are base classes.
    """
    tree, lines = ast.parse(text), text.splitlines(keepends=True)
    gone = {id(node) for name, node in _tests(tree, "") if name in unwanted}
    cut = set[int]()
    for node in _remove(tree, gone):
        first, last = _lines(node)
        cut |= set(range(first, last + 1))
    return "".join(line for number, line in enumerate(lines, 1) if number not in cut)


def only(text: str, wanted: Collection[str]) -> str:
    """Return the file with only the wanted tests, and the helpers that these tests still refer to."""
    text = without(text, names(text) - set(wanted))
    while unused := [node for node in ast.parse(text).body if _is_unused(node, text)]:
        lines = text.splitlines(keepends=True)
        for node in reversed(unused):
            first, last = _lines(node)
            del lines[first - 1 : last]
        text = "".join(lines)
    return text


def exchange(text: str, other: str, wanted: Collection[str]) -> str:
    """Replace each wanted test of a file by the test of the same name in `other`, or remove it if `other` lacks it."""
    lines, replacements = text.splitlines(keepends=True), dict(_tests(ast.parse(other), ""))
    for name, node in sorted(_tests(ast.parse(text), ""), key=lambda pair: -pair[1].lineno):
        if name in wanted:
            first, last = _lines(node)
            lines[first - 1 : last] = [_text(other, replacements[name])] if name in replacements else []
    return "".join(lines)


def _text(text: str, node: _Function) -> str:
    first, last = _lines(node)
    return "".join(text.splitlines(keepends=True)[first - 1 : last])


def _lines(node: _Function | ast.ClassDef) -> tuple[int, int]:
    """Return the first line of a definition, including decorators, and its last line."""
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    return first, node.end_lineno or node.lineno


def _tests(node: ast.Module | ast.ClassDef, prefix: str) -> Iterator[tuple[str, _Function]]:
    for child in node.body:
        if isinstance(child, ast.ClassDef):
            yield from _tests(child, f"{prefix}{child.name}::")
        elif isinstance(child, _Function) and child.name.startswith("test"):
            yield f"{prefix}{child.name}", child


def _remove(node: ast.Module | ast.ClassDef, gone: Collection[int]) -> Iterator[_Function | ast.ClassDef]:
    bases = {base.id for child in node.body if isinstance(child, ast.ClassDef)
             for base in child.bases if isinstance(base, ast.Name)}  # fmt: skip
    for child in node.body:
        if id(child) in gone and isinstance(child, _Function):
            yield child
        elif isinstance(child, ast.ClassDef) and child.name not in bases:
            inner = list(_remove(child, gone))
            if inner and _is_empty_without(child, inner):
                yield child
            else:
                yield from inner


def _is_unused(node: ast.stmt, text: str) -> TypeGuard[_Function | ast.ClassDef]:
    """Check that pytest does not use a definition and nothing else in the file mentions it, not even a string."""
    if not isinstance(node, _Function | ast.ClassDef) or _CALLED_BY_PYTEST.match(node.name):
        return False
    if isinstance(node, ast.ClassDef) and any(_tests(node, "")):
        return False
    if any("autouse" in ast.unparse(decorator) for decorator in node.decorator_list):
        return False
    first, last = _lines(node)
    lines = text.splitlines(keepends=True)
    return not re.search(rf"\b{node.name}\b", "".join([*lines[: first - 1], *lines[last:]]))


def _is_empty_without(node: ast.ClassDef, inner: Collection[ast.AST]) -> bool:
    return all(child in inner or isinstance(child, ast.Expr | ast.Pass) for child in node.body)
