"""Tells whether functions have bodies yet."""

from __future__ import annotations

import ast


def is_stub(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Tell whether a function does nothing: a docstring, `...`, `pass`, `return None`, or an error that says so."""
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
    """Tell whether Python code has functions, and none of them does anything."""
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError, RecursionError):
        return False
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return bool(functions) and all(map(is_stub, functions))
