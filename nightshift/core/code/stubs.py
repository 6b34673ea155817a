"""Tells whether a function has a body yet."""

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
