"""Makes the must-fail copy of a test module: one changed check in each test, or a failure at its end."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator, Sequence

from sandbox.source import Edit, Source
from verdict.outline import Function
from verdict.perturb import Check, Perturber, Rank
from verdict.reach import Reached, helpers_of, reached

HELPER = "nightshift_inside.twin"
"""The module inside the sandbox that the copies use where a change in their text is not enough."""


def must_fail_copy(source: Source, tests: Sequence[Function], chance: random.Random) -> str:
    """The module's text with each of `tests` made to fail.

    Args:
        source: the module.
        tests: its test functions.
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
            edits += self._failing(test, reached(test, helpers))
        return self._source.edited([*self._header(), *edits])

    def _failing(self, test: Function, found: Reached) -> Iterator[Edit]:
        certain = self._known(found.certain)
        if certain:
            best = min(check.rank for check in certain)
            pick = self._chance.choice([check for check in certain if check.rank is best])
            self._needs_helper |= best is Rank.VALUE
            yield pick.edit
            return
        self._needs_helper = True
        yield from (check.marked for check in self._known(found.possible) if check.marked)
        start = self._source.line_start(test.lineno)
        indent = self._source.slice(start, self._source.span(test)[0])
        yield Edit(start, start, f"{indent}@{self._helper}.must_fail\n")

    def _known(self, statements: Sequence[ast.stmt]) -> list[Check]:
        """The checks among statements; each is changed in one way only, whoever reaches it."""
        for statement in statements:
            if id(statement) not in self._checks:
                self._checks[id(statement)] = self._perturber.check(statement)
        return [check for statement in statements if (check := self._checks[id(statement)])]

    def _header(self) -> Iterator[Edit]:
        if self._needs_helper:
            start = self._source.line_start(self._first_line())
            yield Edit(
                start, start, f"from {HELPER} import Twin as {self._helper}\n{self._helper} = {self._helper}()\n"
            )

    def _first_line(self) -> int:
        """The line of the first statement that may have an import before it."""
        for node in self._source.tree.body:
            future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
            if not future and not _is_docstring(node):
                decorators: list[ast.expr] = getattr(node, "decorator_list", [])
                return min([node.lineno, *(decorator.lineno for decorator in decorators)])
        return 1


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
