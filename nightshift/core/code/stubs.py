"""Detects functions without an implementation."""

from __future__ import annotations

import ast


def is_stub(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return True if a function has no implementation.

    It then only has a docstring, `...`, `pass` or `return None`, or only raises NotImplementedError.
    """
    return all(map(_is_vacuous, node.body))


def _is_vacuous(statement: ast.stmt) -> bool:
    match statement:
        case ast.Pass() | ast.Return(value=None) | ast.Return(value=ast.Constant(value=None)):
            return True
        case ast.Expr(value=ast.Constant()):
            return True
        case ast.Raise(exc=ast.Name(id="NotImplementedError") | ast.Call(func=ast.Name(id="NotImplementedError"))):
            return True
    return False


def is_shell(text: str) -> bool:
    """Return True if Python code has functions and all of them are stubs."""
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError, RecursionError):
        return False
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return bool(functions) and all(map(is_stub, functions))
