"""Creates the must-fail copy of a test module: each test has one changed check, or fails at its end.

The best check to change is one that is certain to be reached when the test passes: it is in no branch or loop, and
nothing before it can leave the function. Checks in helper functions of the module that are certain to be called count
as well. A check is not changed if the test would catch its failure (in `try`, `pytest.raises` and similar blocks).
"""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from nightshift.sandbox.source import Edit, Source
from nightshift.verdict.languages.python.checks import Check, Perturber, Rank
from nightshift.verdict.languages.python.outline import Function, last_name

HELPER = "nightshift_inside.must_fail"
"""Module inside the sandbox that a copy imports if edits of its text alone cannot make the checks fail."""

# Context managers that catch or replace exceptions raised inside them.
_SWALLOW = frozenset({
    "raises", "RaisesGroup", "suppress", "subTest", "test", "warns", "deprecated_call", "assertRaises", "assertWarns",
    "assertRaisesRegex", "assertWarnsRegex",
})  # fmt: skip
_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)


def must_fail_copy(source: Source, tests: Sequence[Function], chance: random.Random) -> str:
    """Return the module's text, edited so that each of `tests` fails.

    Args:
        source: the module.
        tests: test functions of the module.
        chance: picks checks and values.
    """
    return _Copy(source, chance).text(tests)


class _Copy:
    def __init__(self, source: Source, chance: random.Random) -> None:
        self._source, self._chance = source, chance
        self._helper = f"_{chance.getrandbits(32):08x}"
        self._perturber = Perturber(source, self._helper, chance)
        self._checks: dict[int, Check | None] = {}
        self._needs_helper = "hypothesis" in source.text

    def text(self, tests: Sequence[Function]) -> str:
        helpers = helpers_of(self._source.tree)
        edits: list[Edit] = []
        for test in {id(test): test for test in tests}.values():
            edits += self._failing(test, sort_reached(test, helpers))
        return self._source.edit([*self._header(), *edits])

    def _failing(self, test: Function, reached: Reached) -> Iterator[Edit]:
        certain = self._list_checks(reached.certain)
        if certain:
            best = min(check.rank for check in certain)
            pick = self._chance.choice([check for check in certain if check.rank is best])
            self._needs_helper |= best is Rank.VALUE
            yield pick.edit
            return
        self._needs_helper = True
        yield from (check.marked for check in self._list_checks(reached.possible) if check.marked)
        start = self._source.line_start(test.lineno)
        indent = self._source.slice(start, self._source.span(test)[0])
        yield Edit(start, start, f"{indent}@{self._helper}.must_fail\n")

    def _list_checks(self, statements: Sequence[ast.stmt]) -> list[Check]:
        """Return the checks among statements.

        A check is remembered, so that it is changed in only one way even if several tests reach it.
        """
        for statement in statements:
            if id(statement) not in self._checks:
                self._checks[id(statement)] = self._perturber.check(statement)
        return [check for statement in statements if (check := self._checks[id(statement)])]

    def _header(self) -> Iterator[Edit]:
        if self._needs_helper:
            start = self._source.line_start(self._first_line())
            yield Edit(
                start, start, f"from {HELPER} import MustFail as {self._helper}\n{self._helper} = {self._helper}()\n"
            )

    def _first_line(self) -> int:
        """Return the line of the first statement before which an import may be inserted."""
        for node in self._source.tree.body:
            future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
            if not future and not _is_docstring(node):
                decorators: list[ast.expr] = getattr(node, "decorator_list", [])
                return min([node.lineno, *(decorator.lineno for decorator in decorators)])
        return 1


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


@dataclass(slots=True)
class Reached:
    """Statements of a test and its helpers that may be checks.

    Attributes:
        certain: statements that run whenever the test passes.
        possible: statements that may not run.
    """

    certain: list[ast.stmt] = field(default_factory=list)
    possible: list[ast.stmt] = field(default_factory=list)


def sort_reached(test: Function, helpers: Mapping[str, Function]) -> Reached:
    """Divide the statements of a test and its helpers into those that certainly run and those that possibly run.

    Args:
        test: the test function.
        helpers: functions of the test's module by name, which the test may call.
    """
    walk = _Walk(helpers)
    walk.body(test.body, certain=True, helpers=helpers)
    return walk.reached


def helpers_of(tree: ast.Module) -> dict[str, Function]:
    """Return the undecorated functions of a module that are used only in functions and classes, but not in fixtures.

    A change of such a function affects only the tests that call it.
    """
    functions = {node.name: node for node in tree.body if isinstance(node, Function)}
    elsewhere = {name for node in tree.body if not isinstance(node, Function | ast.ClassDef) for name in _names(node)}
    elsewhere |= {name for f in functions.values() if f.decorator_list for d in f.decorator_list for name in _names(d)}
    for function in functions.values():
        if any("fixture" in ast.dump(decorator) for decorator in function.decorator_list):
            elsewhere |= set(_names(function))
    return {name: f for name, f in functions.items() if not f.decorator_list and name not in elsewhere}


class _Walk:
    def __init__(self, helpers: Mapping[str, Function]) -> None:
        self.reached = Reached()
        self._active: set[str] = set()
        self._module = helpers

    def body(self, statements: list[ast.stmt], *, certain: bool, helpers: Mapping[str, Function]) -> bool:
        """Collect the statements of a block; return false if the code after the block may not be reached."""
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
        (self.reached.certain if certain else self.reached.possible).append(statement)
        for name in _list_called(statement):
            self._helper(name, certain=certain, helpers=helpers)
        return certain

    def _helper(self, name: str, *, certain: bool, helpers: Mapping[str, Function]) -> None:
        function = helpers.get(name)
        if function is None or function.decorator_list or name in self._active or _yields(function):
            return
        self._active.add(name)
        self.body(function.body, certain=certain, helpers={**self._module, **helpers})
        self._active.discard(name)


def _list_called(statement: ast.stmt) -> Iterator[str]:
    """Yield the name of the called function if a statement is a call or binds the result of one."""
    value = getattr(statement, "value", None) if isinstance(statement, ast.Expr | ast.Assign | ast.AnnAssign) else None
    value = value.value if isinstance(value, ast.Await) else value
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
        yield value.func.id


def _blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    yield from (block for name in ("body", "orelse") if (block := getattr(statement, name, None)))
    yield from (case.body for case in getattr(statement, "cases", ()))


def _leaves(statement: ast.stmt) -> bool:
    """Check whether a statement contains a `return` or `raise`, which may end the function."""
    return any(isinstance(node, ast.Return | ast.Raise) for node in _own_nodes(statement))


def _own_nodes(statement: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes inside a statement, without those inside nested functions and classes."""
    for child in ast.iter_child_nodes(statement):
        if not isinstance(child, Function | ast.Lambda | ast.ClassDef):
            yield child
            yield from _own_nodes(child)


def _yields(function: Function) -> bool:
    return any(isinstance(node, ast.Yield | ast.YieldFrom) for node in _own_nodes(function))


def _swallows(context: ast.expr) -> bool:
    return last_name(context.func if isinstance(context, ast.Call) else context) in _SWALLOW


def _names(node: ast.AST) -> Iterator[str]:
    return (inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name))
