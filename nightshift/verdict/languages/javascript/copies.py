"""Makes the must-fail copy of a file of node:test: one changed check in each test, or a failure at its end.

Where a copy has the helper in its text its original has it too: what tells them apart is in no file.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from nightshift.core.code.javascript import walk
from nightshift.core.text.encoding import encode
from nightshift.sandbox.source import Edit, edited
from nightshift.verdict.languages.javascript.checks import Check, Perturber
from nightshift.verdict.languages.javascript.names import Names
from nightshift.verdict.languages.javascript.outline import FUNCTIONS, Outline

if TYPE_CHECKING:
    from tree_sitter import Node

_LEAVES = frozenset({"return_statement", "throw_statement", "break_statement", "continue_statement"})
_BRANCHES = frozenset({
    "if_statement", "for_statement", "for_in_statement", "while_statement", "do_statement", "switch_statement",
    "try_statement", "labeled_statement",
})  # fmt: skip


@dataclass(slots=True)
class _Found:
    """The checks of one test: those that are reached whenever it passes, and the others."""

    certain: list[Check] = field(default_factory=list)
    possible: list[Check] = field(default_factory=list)


def with_copy(
    text: str, root: Node, found: Outline, names: Names, helper: str, *, declares: bool = False
) -> tuple[str, str]:
    """The file's text as its original is staged, and with each of its tests made to fail.

    Args:
        text: the file.
        root: its syntax tree.
        found: its tests.
        names: what its names stand for.
        helper: the name of the run-time helper, a global of the run.
        declares: whether the helper has to be declared, because types are checked when the file is run.
    """
    original, copy = _Copy(root, found, names, helper).texts(text)
    if declares and helper in original:
        words = f"\ndeclare var {helper}: any;\n"  # at the end, so that no line moves
        return original + words, copy + words
    return original, copy


class _Copy:
    def __init__(self, root: Node, found: Outline, names: Names, helper: str) -> None:
        self._root, self._cases, self._helper = root, found.cases, helper
        self._chance = random.SystemRandom()
        self._perturber = Perturber(names, helper, self._chance)
        self._callbacks = {case.callback.id for case in found.cases if case.callback}

    def texts(self, text: str) -> tuple[str, str]:
        mine, shared, uncertain = list[Edit](), list[Edit](), False
        for callback in (case.callback for case in self._cases if case.callback):
            checks = self._checks(callback)
            if not checks.certain:
                uncertain = True
                shared += self._failing_at_its_end(callback, checks)
                continue
            best = min(check.rank for check in checks.certain)
            chosen = self._chance.choice([check for check in checks.certain if check.rank is best])
            (shared if chosen.needs_helper else mine).extend(chosen.edits)
        if uncertain:
            shared += [edit for check in self._outside() for edit in check.handed]
        raw = encode(text)
        return edited(raw, shared), edited(raw, [*mine, *shared])

    def _failing_at_its_end(self, callback: Node, checks: _Found) -> Iterator[Edit]:
        yield from (edit for check in checks.possible for edit in check.handed)
        yield Edit(callback.start_byte, callback.start_byte, f"{self._helper}.run(")
        yield Edit(callback.end_byte, callback.end_byte, ")")

    def _checks(self, callback: Node) -> _Found:
        found = _Found()
        body = callback.child_by_field_name("body") if callback.type in FUNCTIONS else None
        if body is not None:
            self._block(body.named_children if body.type == "statement_block" else [body], found)
        return found

    def _block(self, statements: Sequence[Node], found: _Found) -> None:
        """Sort the checks of a block; after what may leave it none is certain."""
        certain = True
        for statement in statements:
            call = _called(statement)
            if call is not None and (check := self._perturber.check(call)):
                (found.certain if certain else found.possible).append(check)
            else:
                found.possible += self._below(statement)
            if statement.type in _LEAVES or (statement.type in _BRANCHES and _leaves(statement)):
                certain = False

    def _below(self, node: Node) -> list[Check]:
        """All checks in a node, without those of tests inside of it."""
        calls = (inner for inner in self._own(node) if inner.type == "call_expression")
        return [check for call in calls if (check := self._perturber.check(call))]

    def _outside(self) -> list[Check]:
        """The checks in functions outside of the tests, which tests may call."""
        return self._below(self._root)

    def _own(self, node: Node) -> Iterator[Node]:
        waiting = [node]
        while waiting:
            current = waiting.pop()
            if current.id not in self._callbacks:
                yield current
                waiting += current.named_children


def _called(statement: Node) -> Node | None:
    """The call that a statement consists of, awaited or returned or not."""
    node = statement
    while node.type in {"expression_statement", "await_expression", "return_statement", "parenthesized_expression"}:
        inner = [child for child in node.named_children if child.type != "comment"]
        if len(inner) != 1:
            return None
        node = inner[0]
    return node if node.type == "call_expression" else None


def _leaves(statement: Node) -> bool:
    """Tell whether something in a branch can end the test."""
    return any(node.type in {"return_statement", "throw_statement"} for node in walk(statement))
