"""Edits a call of node:assert or `expect` so that it must fail where the original passes.

If the check contains a literal value, the value is changed, as for Python. Only such a change exposes objects that
claim to be equal to everything. It also exposes code that reads the expected value from the test, because the changed
line looks like the original. Without a literal, the check calls a helper function at the end of the copy, which
compares with another value or inverts the check.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

from nightshift.core.code.javascript import arguments, node_text
from nightshift.sandbox.source import Edit
from nightshift.verdict.languages.javascript import literals
from nightshift.verdict.languages.javascript.names import Expectation, Names

if TYPE_CHECKING:
    from tree_sitter import Node

_EQUALITIES = frozenset({
    "equal", "strictEqual", "deepEqual", "deepStrictEqual", "partialDeepStrictEqual",
})  # fmt: skip
_TURNED = frozenset({
    "notEqual", "notStrictEqual", "notDeepEqual", "notDeepStrictEqual", "match", "doesNotMatch", "throws", "rejects",
    "doesNotThrow", "doesNotReject",
})  # fmt: skip
_WITH_PATTERN = frozenset({"throws", "rejects", "match"})
_EXPECTED = frozenset({"toBe", "toEqual", "toStrictEqual"})
_CONSTANTS = frozenset({"true", "false", "number", "string", "null", "undefined"})
_SAME = frozenset({"==", "==="})
_COMPLEMENT = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "!=": "==", "!==": "==="}


class Rank(IntEnum):
    """The quality of a changed check. The change with the lowest rank reveals most."""

    LITERAL = 0
    VALUE = 1
    TURNED = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A call that checks something, and the edits that make it fail.

    Attributes:
        rank: the quality of the changed check.
        edits: the edits for a check that is certain to be reached. They use no helper function if `rank` is LITERAL, or
            if they invert a comparison.
        handed: the edits for a check that may not be reached. They pass the check to the helper function, which makes
            it fail and records that it was reached.
    """

    rank: Rank
    edits: Sequence[Edit]
    handed: Sequence[Edit]


class Perturber:
    """Finds the edits that make checks fail.

    Args:
        names: the local names of the test file that refer to tests and checks.
        helper: the prefix of the names of the helper functions.
        chance: picks the new values.
    """

    def __init__(self, names: Names, helper: str, chance: random.Random) -> None:
        self._names, self._helper, self._chance = names, helper, chance

    def check(self, call: Node) -> Check | None:
        """Return a call as a check with its edits; None if the call checks nothing."""
        if (expectation := self._names.expectation(call)) is not None:
            return self._expectation(call, expectation)
        method = self._names.check(call.child_by_field_name("function"))
        given = arguments(call)
        if method is None or not given:
            return None
        if method in _EQUALITIES and len(given) >= 2:
            return self._equality(call, method, given)
        if method == "ok":
            return self._condition(given[0])
        if method in _TURNED:
            return self._turn_check(call, method, given)
        return None

    def _expectation(self, call: Node, expectation: Expectation) -> Check | None:
        about = next(iter(arguments(expectation.start)), None)
        if about is None or about.type in _CONSTANTS:
            return None  # says nothing about the code
        given = call.child_by_field_name("arguments")
        assert given is not None
        words = f"{self._helper}_expect('{'.'.join(expectation.chain)}', "
        lines = "\n" * (given.start_point.row - expectation.start.end_point.row)
        handed = [
            Edit(expectation.start.start_byte, expectation.start.start_byte, words),
            Edit(expectation.start.end_byte, given.start_byte + 1, f", {lines}"),
        ]
        wanted = next(iter(arguments(call)), None)
        if wanted is not None and expectation.chain[-1] in _EXPECTED and "not" not in expectation.chain:
            if edits := literals.other(wanted, self._chance):
                return Check(rank=Rank.LITERAL, edits=edits, handed=handed)
            return Check(rank=Rank.VALUE, edits=handed, handed=handed)
        return Check(rank=Rank.TURNED, edits=handed, handed=handed)

    def _equality(self, call: Node, method: str, given: list[Node]) -> Check:
        handed = self._hand_function(call, method)
        for side in (given[1], given[0]):
            if edits := literals.other(side, self._chance):
                return Check(rank=Rank.LITERAL, edits=edits, handed=handed)
        return Check(rank=Rank.VALUE, edits=handed, handed=handed)

    def _condition(self, test: Node) -> Check | None:
        if test.type in {"true", "number", "string"}:
            return None  # says nothing about the code
        handed = [Edit(test.start_byte, test.end_byte, f"{self._helper}_is({node_text(test)})")]
        while test.type == "parenthesized_expression":
            test = test.named_children[0]
        operator = test.child_by_field_name("operator") if test.type == "binary_expression" else None
        if operator is not None and operator.type in _SAME:
            for side in (test.child_by_field_name("right"), test.child_by_field_name("left")):
                if side is not None and (edits := literals.other(side, self._chance)):
                    return Check(rank=Rank.LITERAL, edits=edits, handed=handed)
        if operator is not None and (turned := _COMPLEMENT.get(operator.type)):
            edit = Edit(operator.start_byte, operator.end_byte, turned)
            return Check(rank=Rank.TURNED, edits=[edit], handed=handed)
        return Check(rank=Rank.TURNED, edits=handed, handed=handed)

    def _turn_check(self, call: Node, method: str, given: list[Node]) -> Check:
        handed = self._hand_function(call, method)
        wanted = given[1] if len(given) > 1 and method in _WITH_PATTERN else None
        fits = wanted is not None and wanted.type in {"object", "regex"}
        if wanted is not None and fits and (edits := literals.other(wanted, self._chance)):
            return Check(rank=Rank.LITERAL, edits=edits, handed=handed)
        return Check(rank=Rank.TURNED, edits=handed, handed=handed)

    def _hand_function(self, call: Node, method: str) -> list[Edit]:
        """Return the edit that makes a check call the helper with the original function; line numbers do not change."""
        function, given = call.child_by_field_name("function"), call.child_by_field_name("arguments")
        assert function is not None
        assert given is not None
        words = f"{self._helper}_check('{method}', {node_text(function)}, "
        return [Edit(function.start_byte, given.start_byte + 1, words)]
