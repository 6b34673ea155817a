"""Creates the must-fail copy of a test file: in each test, one check that is certain to be reached is changed.

If no check of a test is certain to be reached, all checks of the test are changed. If the copied test then reaches none
of them, it fails at its end; that failure proves nothing about what the test checks. The changed checks may call helper
functions, which are at the end of the copy, so that line numbers do not change.
"""

from __future__ import annotations

import random
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from nightshift.core.code.javascript import node_text, walk
from nightshift.core.text.encoding import encode
from nightshift.sandbox.source import Edit, edit
from nightshift.verdict.languages.javascript.checks import Check, Perturber
from nightshift.verdict.languages.javascript.names import Names
from nightshift.verdict.languages.javascript.outline import FUNCTIONS, Case, Outline

if TYPE_CHECKING:
    from tree_sitter import Node

_LEAVES = frozenset({"return_statement", "throw_statement", "break_statement", "continue_statement"})
_BRANCHES = frozenset({
    "if_statement", "for_statement", "for_in_statement", "while_statement", "do_statement", "switch_statement",
    "try_statement", "labeled_statement",
})  # fmt: skip
_HELPER = """
function _h_reached(more = 0) { return (_h_reached.n = (_h_reached.n || 0) + more); }
function _h_end(before: any) {
  if (_h_reached() !== before) return;
  throw Object.assign(new Error('this copy must fail'), { name: 'AssertionError', code: 'ERR_ASSERTION' });
}
function _h_other(v: any): any {
  if (typeof v === 'number') return !Number.isFinite(v) ? 0 : v + 1 !== v ? v + 1 : v / 2;
  if (typeof v === 'bigint') return v + BigInt(1);
  if (typeof v === 'string') return `${v}q`;
  if (typeof v === 'boolean') return !v;
  if (v instanceof Set) return new Set([...v, 'q']);
  if (v instanceof Map) return new Map([...v, ['q', 1]]);
  if (Array.isArray(v)) return [...v, 'q'];
  return v && typeof v === 'object' && Object.getPrototypeOf(v) === Object.prototype ? { ...v, q: 1 } : { q: v };
}
function _h_is(v: any): any { _h_reached(1); return !v; }
function _h_check(method: any, check: any, ...v: any[]): any {
  _h_reached(1);
  const pairs: any = {
    notEqual: 'equal', notStrictEqual: 'strictEqual', notDeepEqual: 'deepEqual', match: 'doesNotMatch',
    notDeepStrictEqual: 'deepStrictEqual', doesNotMatch: 'match', throws: 'doesNotThrow', rejects: 'doesNotReject',
    doesNotThrow: 'throws', doesNotReject: 'rejects',
  };
  const opposite: any = (process as any).getBuiltinModule('node:assert')[pairs[method]];
  if (!opposite) return check(v[0], _h_other(v[1]));
  return /^(throws|rejects|doesNot(Throw|Reject))$/.test(method) ? opposite(v[0]) : opposite(v[0], v[1]);
}
function _h_expect(chain: any, start: any, ...v: any[]): any {
  _h_reached(1);
  const words: any = chain.split('.');
  const last: any = words.length - 1;
  if (words.includes('not')) words.splice(words.indexOf('not'), 1);
  else if (['toBe', 'toEqual', 'toStrictEqual'].includes(words[last])) v[0] = _h_other(v[0]);
  else words.splice(last, 0, 'not');
  return words.slice(0, -1).reduce((owner: any, word: any) => owner[word], start)[words.pop()](...v);
}
"""
"""Helper functions that are added to a copy.

`_h` is replaced by a random name in each copy. Type annotations are removed unless the file is TypeScript.
"""


@dataclass(slots=True)
class _Found:
    """The checks of one test.

    Attributes:
        certain: checks that are reached whenever the test passes.
        possible: checks that may not be reached.
    """

    certain: list[Check] = field(default_factory=list)
    possible: list[Check] = field(default_factory=list)


def must_fail_copy(
    text: str, root: Node, outline: Outline, names: Names, *, is_typed: bool = False
) -> tuple[str, tuple[Case, ...]]:
    """Return the text of a file's must-fail copy, and the tests that fail in it. Tests without a body are left out.

    Args:
        text: the text of the file.
        root: the file's syntax tree.
        outline: the tests of the file.
        names: the local names of the file that refer to tests and checks.
        is_typed: whether the file is TypeScript.
    """
    helper = f"_{secrets.token_hex(4)}"
    copy, cases = _Copy(root, outline, names, helper).make(text)
    if f"{helper}_" in copy:
        words = _HELPER.replace("_h_", f"{helper}_")
        for types in () if is_typed else (": any[]", ": any", " as any"):
            words = words.replace(types, "")
        copy += words
    return copy, cases


class _Copy:
    def __init__(self, root: Node, outline: Outline, names: Names, helper: str) -> None:
        self._root, self._cases, self._helper = root, outline.cases, helper
        self._chance = random.SystemRandom()
        self._perturber = Perturber(names, helper, self._chance)
        self._callbacks = {case.callback.id for case in outline.cases if case.callback and case.callback.id != root.id}

    def make(self, text: str) -> tuple[str, tuple[Case, ...]]:
        """Return the text of the copy, and the tests that are changed in it."""
        edits, changed, is_uncertain = list[Edit](), list[Case](), False
        for case in self._cases:
            checks = self._checks(case.callback) if case.callback else _Found()
            if checks.certain:
                best = min(check.rank for check in checks.certain)
                edits += self._chance.choice([check for check in checks.certain if check.rank is best]).edits
            elif case.callback is not None and (ending := list(self._ending(case.callback))):
                is_uncertain = True
                edits += [*ending, *(edit for check in checks.possible for edit in check.handed)]
            else:
                continue
            changed.append(case)
        if is_uncertain:  # The tests may call functions outside of them.
            edits += [edit for check in self._below(self._root) for edit in check.handed]
        return edit(encode(text), edits), tuple(changed)

    def _ending(self, callback: Node) -> Iterator[Edit]:
        """List the edits that make a test fail at its end unless one of its changed checks was reached."""
        body = callback.child_by_field_name("body") if callback.type in FUNCTIONS else None
        if body is None:
            return
        start, end = (
            f" const {self._helper} = {self._helper}_reached(); try {{",
            f"}} finally {{ {self._helper}_end({self._helper}); }} ",
        )
        if body.type == "statement_block":
            yield Edit(body.start_byte + 1, body.start_byte + 1, start)
            yield Edit(body.end_byte - 1, body.end_byte - 1, end)
        else:
            waiting = "await " if node_text(callback).startswith("async") else ""
            yield Edit(body.start_byte, body.start_byte, f"{{{start} return {waiting}")
            yield Edit(body.end_byte, body.end_byte, f"; {end}}}")

    def _checks(self, callback: Node) -> _Found:
        checks = _Found()
        if callback.id == self._root.id:
            self._block(callback.named_children, checks)
            return checks
        body = callback.child_by_field_name("body") if callback.type in FUNCTIONS else None
        if body is not None:
            self._block(body.named_children if body.type == "statement_block" else [body], checks)
        return checks

    def _block(self, statements: Sequence[Node], checks: _Found) -> None:
        """Divide the checks of a block into certain and possible ones.

        After a statement that may leave the block, no check is certain.
        """
        certain = True
        for statement in statements:
            call = _find_call(statement)
            if call is not None and (check := self._perturber.check(call)):
                (checks.certain if certain else checks.possible).append(check)
            else:
                checks.possible += self._below(statement)
            if statement.type in _LEAVES or (statement.type in _BRANCHES and _leaves(statement)):
                certain = False

    def _below(self, node: Node) -> list[Check]:
        """Return all checks inside a node, except checks in nested tests."""
        calls = (inner for inner in self._own(node) if inner.type == "call_expression")
        return [check for call in calls if (check := self._perturber.check(call))]

    def _own(self, node: Node) -> Iterator[Node]:
        waiting = [node]
        while waiting:
            current = waiting.pop()
            if current.id not in self._callbacks:
                yield current
                waiting += current.named_children


def _find_call(statement: Node) -> Node | None:
    """Return the call that makes up a statement, which may be awaited or returned; None for other statements."""
    node = statement
    while node.type in {"expression_statement", "await_expression", "return_statement", "parenthesized_expression"}:
        inner = [child for child in node.named_children if child.type != "comment"]
        if len(inner) != 1:
            return None
        node = inner[0]
    return node if node.type == "call_expression" else None


def _leaves(statement: Node) -> bool:
    """Check whether a statement contains a `return` or `throw`, which may end the test."""
    return any(node.type in {"return_statement", "throw_statement"} for node in walk(statement))
