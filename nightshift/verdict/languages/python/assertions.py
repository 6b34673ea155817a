"""Checks whether a Python test file contains an assertion about a value."""

from __future__ import annotations

import ast

from nightshift.core.code.parsing import parse
from nightshift.verdict.languages.python.outline import last_name

_OF_TYPES = frozenset({"assertIsInstance", "assertNotIsInstance", "assertIsNotNone", "assertHasAttr"})


def checks_something(text: str) -> bool:
    """Check whether a test file has an assertion that can fail and that checks more than a type.

    The result is true if the file does not parse, because the run itself reports that error.
    """
    try:
        nodes = list(ast.walk(parse(text)))
    except (SyntaxError, ValueError, RecursionError):
        return True  # The run itself reports the error.
    return any(_is_check(node) for node in nodes)


def _is_check(node: ast.AST) -> bool:
    if isinstance(node, ast.Assert):
        return not isinstance(node.test, ast.Constant) and not _is_of_types(node.test)
    if isinstance(node, ast.Call):
        name = last_name(node.func)
        if name in _OF_TYPES or any(getattr(each, "id", "") == "NotImplementedError" for each in node.args):
            return False
        if name in {"assertTrue", "assertFalse"}:
            return not (node.args and _is_of_types(node.args[0]))
        return name.startswith("assert") or name in {"raises", "fail", "warns", "deprecated_call"}
    return False


def _is_of_types(test: ast.expr) -> bool:
    """Check whether a condition only tests the type or the existence of a value."""
    if isinstance(test, ast.BoolOp):
        return all(map(_is_of_types, test.values))
    if isinstance(test, ast.UnaryOp):
        return _is_of_types(test.operand)
    if isinstance(test, ast.Call):
        return getattr(test.func, "id", "") in {"isinstance", "issubclass", "callable", "hasattr"}
    if not isinstance(test, ast.Compare):
        return False
    is_type = isinstance(test.left, ast.Call) and getattr(test.left.func, "id", "") == "type"
    return is_type or ast.unparse(test).endswith(" is not None")
