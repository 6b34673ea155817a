"""Turns one call of node:assert into one that must fail where the original passes.

As for Python, the value that is written out is changed where there is one, because only that exposes objects which
claim to be equal to everything, and code which reads the expected value out of the test: the changed line has the form
of the original. Elsewhere a helper inside the run compares with another value, or the check is turned round.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

from core.javascript import arguments, said
from sandbox.javascript import literals
from sandbox.javascript.names import Names
from sandbox.source import Edit

if TYPE_CHECKING:
    from tree_sitter import Node

_EQUALITIES = frozenset({
    "equal", "strictEqual", "deepEqual", "deepStrictEqual", "partialDeepStrictEqual",
})  # fmt: skip
_OPPOSITE = {
    "notEqual": "equal", "notStrictEqual": "strictEqual", "notDeepEqual": "deepEqual", "match": "doesNotMatch",
    "notDeepStrictEqual": "deepStrictEqual", "doesNotMatch": "match", "throws": "doesNotThrow",
    "rejects": "doesNotReject", "doesNotThrow": "throws", "doesNotReject": "rejects",
}  # fmt: skip
_EXPECTS_ERROR = frozenset({"throws", "rejects"})
_EXPECTS_NONE = frozenset({"throws", "rejects", "doesNotThrow", "doesNotReject"})
_SAME = frozenset({"==", "==="})
_COMPLEMENT = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "!=": "==", "!==": "==="}


class Rank(IntEnum):
    """How much a changed check reveals; the lowest is best."""

    LITERAL = 0
    VALUE = 1
    TURNED = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A call that checks something, and how to make it fail.

    `edits` make it fail where it is certainly reached; `marked` do the same and note at run time that it was reached.
    """

    rank: Rank
    edits: Sequence[Edit]
    marked: Edit


class Perturber:
    """Makes checks fail.

    Args:
        names: what the file's names stand for.
        helper: the name of the run-time helper, a global.
        chance: picks the new values.
    """

    def __init__(self, names: Names, helper: str, chance: random.Random) -> None:
        self._names, self._helper, self._chance = names, helper, chance

    def check(self, call: Node) -> Check | None:
        """The call as a check, or None when it is none or checks nothing."""
        method = self._names.check(call.child_by_field_name("function"))
        given = arguments(call)
        if method is None or not given:
            return None
        if method in _EQUALITIES and len(given) >= 2:
            return self._equality(call, method, given)
        if method == "ok":
            return self._condition(call, given[0])
        if method in _OPPOSITE:
            return self._turned(call, method, given)
        return None

    def _equality(self, call: Node, method: str, given: list[Node]) -> Check:
        marked = self._put(call, f"{self._helper}.differ('{method}', {said(given[0])}, {said(given[1])})")
        for side in (given[1], given[0]):
            if edits := literals.other(side, self._chance):
                return Check(rank=Rank.LITERAL, edits=edits, marked=marked)
        return Check(rank=Rank.VALUE, edits=[marked], marked=marked)

    def _condition(self, call: Node, test: Node) -> Check | None:
        if test.type in {"true", "number", "string"}:
            return None  # says nothing about the code
        text, marked = said(test), self._put(call, f"{self._helper}.turned('ok', !({said(test)}))")
        while test.type == "parenthesized_expression":
            test = test.named_children[0]
        operator = test.child_by_field_name("operator") if test.type == "binary_expression" else None
        if operator is not None and operator.type in _SAME:
            for side in (test.child_by_field_name("right"), test.child_by_field_name("left")):
                if side is not None and (edits := literals.other(side, self._chance)):
                    return Check(rank=Rank.LITERAL, edits=edits, marked=marked)
        if operator is not None and (turned := _COMPLEMENT.get(operator.type)):
            edit = Edit(operator.start_byte, operator.end_byte, turned)
            return Check(rank=Rank.TURNED, edits=[edit], marked=marked)
        return Check(rank=Rank.TURNED, edits=[self._put(test, f"!({text})")], marked=marked)

    def _turned(self, call: Node, method: str, given: list[Node]) -> Check:
        kept = given[:1] if method in _EXPECTS_NONE else given[:2]
        values = ", ".join(said(argument) for argument in kept)
        marked = self._put(call, f"{self._helper}.turned('{_OPPOSITE[method]}', {values})")
        wanted = given[1] if len(given) > 1 and method in {*_EXPECTS_ERROR, "match"} else None
        fits = wanted is not None and wanted.type in {"object", "regex"}
        if wanted is not None and fits and (edits := literals.other(wanted, self._chance)):
            return Check(rank=Rank.LITERAL, edits=edits, marked=marked)
        return Check(rank=Rank.TURNED, edits=[marked], marked=marked)

    def _put(self, node: Node, text: str) -> Edit:
        return Edit(node.start_byte, node.end_byte, text)
