"""Tells text that a function puts together itself from text that it was handed.

`eval(text)` of an argument runs whatever a caller sends; `eval(str(a) + op + str(b))` is a clumsy way to compute. Both
can go wrong, but only the first is a door.
"""

from __future__ import annotations

import ast

from sandbox.checks.names import Names

_MAKERS = frozenset({"builtins.str", "builtins.repr", "builtins.format", "builtins.ascii"})


def is_built(node: ast.expr | None, names: Names) -> bool:
    """Tell whether an expression, or all that a name is ever bound to, is put together here out of parts."""
    if node is None:
        return False
    if not isinstance(node, ast.Name):
        return _assembled(node, names)
    parameters = {inner.arg for inner in names.nodes if isinstance(inner, ast.arg)}
    bound = [value for inner in names.nodes for value in _bound_to(inner, node.id)]
    return bool(bound) and node.id not in parameters and all(_assembled(value, names) for value in bound)


def _bound_to(node: ast.AST, name: str) -> list[ast.expr]:
    match node:
        case ast.Assign(targets=targets, value=value) if any(_is(target, name) for target in targets):
            return [value]
        case ast.AnnAssign(target=target, value=ast.expr() as value) if _is(target, name):
            return [value]
        case ast.AugAssign(target=target, op=ast.Add(), value=value) if _is(target, name):
            return [ast.BinOp(left=target, op=ast.Add(), right=value)]
        case ast.For(target=target, iter=loop) if _is(target, name):
            return [loop]
    return []


def _is(target: ast.expr, name: str) -> bool:
    return isinstance(target, ast.Name) and target.id == name


def _assembled(node: ast.expr, names: Names) -> bool:
    match node:
        case ast.Constant():
            return True
        case ast.JoinedStr(values=parts):
            return len(parts) > 1
        case ast.BinOp(op=ast.Add() | ast.Mod(), left=left, right=right):
            return not (_empty(left) or _empty(right))
        case ast.Call(func=ast.Attribute(attr="join" | "format", value=ast.Constant())):
            return True
        case ast.Call(func=func):
            return names.resolve(func) in _MAKERS
    return False


def _empty(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and not str(node.value).strip("() ")
