"""Which checks of a test are certainly reached when it passes, and which only perhaps.

A statement is reached when nothing before it can leave the function and no branch or loop stands around it. Checks in
local helper functions that are certainly called count as well. Checks whose failure would be caught (below `try`,
`pytest.raises` and their like) are not used at all.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from verdict.outline import Function

# Context managers that swallow or replace what is raised inside them.
_SWALLOW = frozenset({
    "raises", "RaisesGroup", "suppress", "subTest", "test", "warns", "deprecated_call", "assertRaises", "assertWarns",
    "assertRaisesRegex", "assertWarnsRegex",
})  # fmt: skip
_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)


@dataclass(slots=True)
class Reached:
    """Statements of a test and its helpers that may be checks."""

    certain: list[ast.stmt] = field(default_factory=list)
    possible: list[ast.stmt] = field(default_factory=list)


def reached(test: Function, helpers: Mapping[str, Function]) -> Reached:
    """Sort the statements that run when a test runs.

    Args:
        test: the test function.
        helpers: the functions of its module that it may call by name.
    """
    walk = _Walk(helpers)
    walk.body(test.body, certain=True, helpers=helpers)
    return walk.found


def helpers_of(tree: ast.Module) -> dict[str, Function]:
    """The module's plain functions that are called by tests only: changing them changes nothing else."""
    functions = {node.name: node for node in tree.body if isinstance(node, Function)}
    elsewhere = {name for node in tree.body if not isinstance(node, Function | ast.ClassDef) for name in _names(node)}
    elsewhere |= {name for f in functions.values() if f.decorator_list for d in f.decorator_list for name in _names(d)}
    for function in functions.values():
        if any("fixture" in ast.dump(decorator) for decorator in function.decorator_list):
            elsewhere |= set(_names(function))
    return {name: f for name, f in functions.items() if not f.decorator_list and name not in elsewhere}


class _Walk:
    def __init__(self, helpers: Mapping[str, Function]) -> None:
        self.found = Reached()
        self._active: set[str] = set()
        self._module = helpers

    def body(self, statements: list[ast.stmt], *, certain: bool, helpers: Mapping[str, Function]) -> bool:
        """Walk through a block; false when what follows it may not be reached."""
        local = dict(helpers)
        for statement in statements:
            if isinstance(statement, Function):
                local[statement.name] = statement
            elif isinstance(statement, _LEAVES):
                return False
            else:
                certain = self._statement(statement, certain=certain, helpers=local)
        return certain

    def _statement(self, statement: ast.stmt, *, certain: bool, helpers: Mapping[str, Function]) -> bool:
        if isinstance(statement, ast.With | ast.AsyncWith):
            if any(_swallows(item.context_expr) for item in statement.items):
                return certain
            return self.body(statement.body, certain=certain, helpers=helpers)
        if isinstance(statement, ast.If | ast.For | ast.AsyncFor | ast.While | ast.Match):
            for block in _blocks(statement):
                self.body(block, certain=False, helpers=helpers)
            return certain and not _leaves(statement)
        if isinstance(statement, ast.Try | ast.TryStar | ast.ClassDef):
            return certain and not _leaves(statement)
        (self.found.certain if certain else self.found.possible).append(statement)
        for name in _called(statement):
            self._helper(name, certain=certain, helpers=helpers)
        return certain

    def _helper(self, name: str, *, certain: bool, helpers: Mapping[str, Function]) -> None:
        function = helpers.get(name)
        if function is None or function.decorator_list or name in self._active or _yields(function):
            return
        self._active.add(name)
        self.body(function.body, certain=certain, helpers={**self._module, **helpers})
        self._active.discard(name)


def _called(statement: ast.stmt) -> Iterator[str]:
    """Names of functions whose call is the statement itself, or the value that it binds."""
    value = getattr(statement, "value", None) if isinstance(statement, ast.Expr | ast.Assign | ast.AnnAssign) else None
    value = value.value if isinstance(value, ast.Await) else value
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
        yield value.func.id


def _blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    yield from (block for name in ("body", "orelse") if (block := getattr(statement, name, None)))
    yield from (case.body for case in getattr(statement, "cases", ()))


def _leaves(statement: ast.stmt) -> bool:
    """Tell whether a branch inside can end the function."""
    return any(isinstance(node, ast.Return | ast.Raise) for node in _own_nodes(statement))


def _own_nodes(statement: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a statement without those of functions defined in it."""
    for child in ast.iter_child_nodes(statement):
        if not isinstance(child, Function | ast.Lambda | ast.ClassDef):
            yield child
            yield from _own_nodes(child)


def _yields(function: Function) -> bool:
    return any(isinstance(node, ast.Yield | ast.YieldFrom) for node in _own_nodes(function))


def _swallows(context: ast.expr) -> bool:
    function = context.func if isinstance(context, ast.Call) else context
    return (function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")) in _SWALLOW


def _names(node: ast.AST) -> Iterator[str]:
    return (inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name))
