"""Skips of unittest's in a given test file as pytest's, so that what its text says can be told from what code does.

unittest catches what skips a test and tells pytest no more than the reason, so nobody knows whether a line of the test
or the tested code raised it. A mark of pytest's is weighed by pytest before any code of the tree runs, and what
`pytest.skip` raises keeps its frames. The tests mean the same, and no line moves.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from nightshift.core.code.parsing import parse
from nightshift.core.text.encoding import encode
from nightshift.sandbox.source import Edit, Source

_CONDITIONAL = {"skipIf": "bool(", "skipUnless": "not ("}
_MODULE = "unittest"


def as_pytest(text: str) -> str:
    """The text of a test file with pytest's skips for unittest's, as far as they can stand there; else as it is."""
    if _MODULE not in text or "kip" not in text:
        return text
    source = Source(text)
    place = _import_of_unittest(source.tree)
    names = (node for node in ast.walk(source.tree) if isinstance(node, ast.Name))
    bound = any(node.id == "pytest" and isinstance(node.ctx, ast.Store) for node in names)
    edits = list(_edits(source)) if place and not bound else []
    if not (place and edits):
        return text
    end = source.span(place)[1]
    changed = source.edited([*edits, Edit(end, end, "; import pytest")])
    try:
        parse(encode(changed))
    except (SyntaxError, ValueError):
        return text
    return changed


def _import_of_unittest(tree: ast.Module) -> ast.stmt | None:
    for node in tree.body:
        if isinstance(node, ast.Import) and any(alias.name == _MODULE for alias in node.names):
            return node
        if isinstance(node, ast.ImportFrom) and node.module == _MODULE and not node.level:
            return node
    return None


def _edits(source: Source) -> Iterator[Edit]:
    names = dict(_names(source.tree))
    for node, is_run in _calls(source.tree):
        if any(isinstance(each, ast.Starred) for each in node.args):
            continue
        name = _meant(node.func, names)
        if name in _CONDITIONAL and len(node.args) == 2 and not node.keywords:
            condition, reason = node.args
            start, end = source.span(condition)
            yield source.replace(node.func, "pytest.mark.skipif")
            yield Edit(start, start, _CONDITIONAL[name])
            yield Edit(end, end, ")")
            at = source.span(reason)[0]
            yield Edit(at, at, "reason=")
        elif is_run and (name == "SkipTest" or _is_skip_test(node.func)):
            yield source.replace(node.func, "pytest.skip")


def _is_skip_test(function: ast.expr) -> bool:
    return isinstance(function, ast.Attribute) and function.attr == "skipTest" and isinstance(function.value, ast.Name)


def _calls(tree: ast.AST, *, is_run: bool = False) -> Iterator[tuple[ast.Call, bool]]:
    """The calls of a tree, each with whether it is made in a function, and by no subtest: those end by themselves."""
    for node in ast.iter_child_nodes(tree):
        inside = is_run or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if isinstance(node, ast.With) and any("subTest" in ast.dump(item.context_expr) for item in node.items):
            continue
        if isinstance(node, ast.Call):
            yield node, is_run
        yield from _calls(node, is_run=inside)


def _names(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """The names that a module has for unittest, and for what it imports of it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.asname or alias.name, "") for alias in node.names if alias.name == _MODULE)
        elif isinstance(node, ast.ImportFrom) and node.module == _MODULE and not node.level:
            yield from ((alias.asname or alias.name, alias.name) for alias in node.names)


def _meant(function: ast.expr, names: dict[str, str]) -> str:
    """The name in unittest that a call is of; empty where it is of something else."""
    if isinstance(function, ast.Name):
        return names.get(function.id, "")
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        return function.attr if names.get(function.value.id) == "" else ""
    return ""
