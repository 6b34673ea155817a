"""Tells text that a function puts together itself from text that it was handed.

`eval(text)` of an argument runs whatever a caller sends; `eval(str(a) + op + str(b))` is a clumsy way to compute. Both
can go wrong, but only the first is a door.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from checks.names import Names

_MAKERS = frozenset({"builtins.str", "builtins.repr", "builtins.format", "builtins.ascii"})


def built_names(names: Names) -> set[str]:
    """The variables of a module that are never bound to anything but text put together out of parts."""
    built, other = set[str](), set(names.parameters)
    for name, value in (*names.bindings, *_further(names)):
        (built if is_assembled(value, names) else other).add(name)
    return built - other


def is_assembled(node: ast.expr, names: Names) -> bool:
    """Tell whether an expression puts a text together; a text with nothing but one value in it does not."""
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


def _further(names: Names) -> Iterator[tuple[str, ast.expr]]:
    """What `+=` and loops bind."""
    for node in names.nodes:
        match node:
            case ast.AugAssign(target=ast.Name(id=name) as target, op=op, value=value):
                yield name, ast.BinOp(left=target, op=op, right=value)
            case ast.For(target=ast.Name(id=name), iter=loop):
                yield name, loop


def _empty(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and not str(node.value).strip("() ")
