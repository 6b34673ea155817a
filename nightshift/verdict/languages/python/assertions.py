"""Tells whether a file of Python tests asserts anything."""

from __future__ import annotations

import ast

from nightshift.core.code.parsing import parse


def checks_something(text: str) -> bool:
    """Tell whether a file of tests holds an assertion that can fail."""
    try:
        nodes = list(ast.walk(parse(text)))
    except (SyntaxError, ValueError, RecursionError):
        return True  # the run itself will say what is wrong with it
    return any(_is_check(node) for node in nodes)


def _is_check(node: ast.AST) -> bool:
    if isinstance(node, ast.Assert):
        return not isinstance(node.test, ast.Constant)
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        return name.startswith("assert") or name in {"raises", "fail", "warns", "deprecated_call"}
    return False
