"""What a method does besides answering: what it changes, what it leaves unread, and what is thought of it."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from enum import IntEnum
from typing import TypeAlias

from checks.names import Names
from checks.sides import root

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_MUTATORS = frozenset({
    "append", "appendleft", "add", "pop", "popleft", "popitem", "update", "insert", "remove", "discard", "clear",
    "extend", "setdefault", "write", "send", "put", "increment", "__next__", "__setattr__", "__setitem__",
})  # fmt: skip
_UNSTEADY = ("random.", "time.", "secrets.", "inspect.", "gc.", "sys._", "os.urandom", "os.times")
_CHANGES = frozenset({"builtins.setattr", "builtins.delattr", "builtins.exec", "builtins.eval"})


class Opinion(IntEnum):
    """What is thought of a method; the larger the worse."""

    SOUND = 0
    LOOSE = 1
    FALSE = 2


@dataclass(frozen=True, slots=True)
class Method:
    """A method of a class by name; `node` is its function, or what is assigned to the name."""

    name: str
    node: ast.AST
    line: int


def tells_looks_apart(method: Method, names: Names) -> Opinion:
    """What is thought of a method or property whose answer may depend on how often it was asked: FALSE if it counts."""
    nodes = list(ast.walk(method.node)) if isinstance(method.node, Function) else []
    local = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    counted = (node for node in nodes if isinstance(node, ast.AugAssign) and not isinstance(node.target, ast.Name))
    if any(root(node.target) not in local for node in counted):
        return Opinion.FALSE
    return Opinion.LOOSE if any(changes(node, local, names) for node in nodes) else Opinion.SOUND


def changes(node: ast.AST, local: set[str], names: Names) -> bool:
    """Whether something outlives the call by this, or its answer may be another one each time.

    Args:
        node: a part of a function.
        local: the names that the function binds.
        names: the names of the module.
    """
    match node:
        case ast.Global() | ast.Nonlocal() | ast.Delete():
            return True
        case ast.Attribute(ctx=ast.Store()) | ast.Subscript(ctx=ast.Store()):
            return root(node) not in local
        case ast.Call(func=ast.Attribute(attr=attr) as func) if attr in _MUTATORS:
            return root(func) not in local
        case ast.Call(func=ast.Name(id="next"), args=[ast.Name() | ast.Attribute(), *_]):
            return True
        case ast.Call(func=func):
            target = names.resolve(func) or ""
            return target in _CHANGES or target.startswith(_UNSTEADY)
    return False


def uses_both(method: Method) -> bool:
    """Whether a method of two sides uses each of its parameters, or does not answer at all."""
    node = method.node
    if not isinstance(node, ast.FunctionDef | ast.Lambda):
        return True
    used = {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
    answers = isinstance(node, ast.Lambda) or any(isinstance(inner, ast.Return) for inner in ast.walk(node))
    return not answers or {arg.arg for arg in node.args.args} <= used or "NotImplemented" in used
