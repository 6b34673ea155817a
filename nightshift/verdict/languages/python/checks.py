"""Edits a statement that checks something so that it must fail where the original passes.

The expected value of a comparison is changed, for example `== 5` to `== 4`. Only such a change exposes objects that
claim to be equal to more than one value, and code that reads the expected value from the test. The change is small, as
in `inside.close_values`, but larger than any tolerance in the test itself. A changed container keeps its structure, so
that hand-written comparisons still work on it. Without a literal value, the comparison is inverted.
"""

from __future__ import annotations

import ast
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from nightshift.sandbox.inside.close_values import close
from nightshift.sandbox.source import Edit, Source
from nightshift.verdict.languages.python.outline import last_name

_COMPLEMENT: dict[type[ast.cmpop], str] = {
    ast.Lt: ">=", ast.LtE: ">", ast.Gt: "<=", ast.GtE: "<", ast.NotEq: "==", ast.Is: "is not",
    ast.IsNot: "is",
}  # fmt: skip
_ORDERINGS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)  # for these operators, a class may lack the opposite one
_EQUALITIES = frozenset({
    "assertEqual", "assertAlmostEqual", "assertListEqual", "assertTupleEqual", "assertDictEqual", "assertSetEqual",
    "assertSequenceEqual", "assertMultiLineEqual", "assertCountEqual",
})  # fmt: skip
_OPPOSITE = {
    "assertEqual": "assertNotEqual", "assertAlmostEqual": "assertNotAlmostEqual", "assertTrue": "assertFalse",
    "assertIn": "assertNotIn", "assertIs": "assertIsNot", "assertIsNone": "assertIsNotNone",
    "assertIsInstance": "assertNotIsInstance", "assertGreater": "assertLessEqual", "assertLess": "assertGreaterEqual",
    "assertRegex": "assertNotRegex", "assertListEqual": "assertNotEqual", "assertTupleEqual": "assertNotEqual",
    "assertDictEqual": "assertNotEqual", "assertSetEqual": "assertNotEqual", "assertMultiLineEqual": "assertNotEqual",
    "assertSequenceEqual": "assertNotEqual",
}  # fmt: skip
_OPPOSITE |= {value: key for key, value in list(_OPPOSITE.items()) if value != "assertNotEqual"}
_OPPOSITE["assertNotEqual"] = "assertEqual"


_NO_TEXT = frozenset({'""', "''", 'b""', "b''"})
CONSONANTS = "bcdfghjklmnpqrstvwxz"
FAR = 1e15
"""Numbers of at least this size are changed by a multiple of their own absolute value."""
TRIES = 16
_NO_LITERAL = object()


class Rank(IntEnum):
    """The quality of a changed check. The change with the lowest rank reveals most."""

    LITERAL = 0
    EMPTY = 1
    """The check expects an empty text, and the edit makes that text non-empty.

    The tested code may return an object that reads the value it is compared with. With a non-empty text, such an object
    may raise instead.
    """
    VALUE = 2
    TURNED = 3
    NEGATED = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A statement that checks something, and the edits that make it fail.

    Attributes:
        rank: the quality of the changed check.
        edit: the edit for a check that is certain to be reached.
        marked: the edit for a check that may not be reached. It makes the check fail, and records at run time that the
            check was reached. None if that is impossible.
    """

    rank: Rank
    edit: Edit
    marked: Edit | None


class Perturber:
    """Finds the edits that make checks fail.

    Args:
        source: the test module.
        helper: the name of the run-time helper in the must-fail copy.
        chance: picks the new values.
    """

    def __init__(self, source: Source, helper: str, chance: random.Random) -> None:
        self._source, self._helper, self._chance = source, helper, chance

    def check(self, statement: ast.stmt) -> Check | None:
        """Return a statement as a check with its edits; None if the statement checks nothing."""
        if isinstance(statement, ast.Assert):
            return self._assert(statement)
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            return self._method(statement.value)
        return None

    def _assert(self, statement: ast.Assert) -> Check | None:
        test = statement.test
        if isinstance(test, ast.Constant):
            return None  # `assert` with a constant says nothing about the code
        marked = self._source.replace(test, self._mark_check(test))
        rank, edit = next(self._ways(test))
        return Check(rank=rank, edit=edit, marked=marked)

    def _ways(self, test: ast.expr) -> Iterator[tuple[Rank, Edit]]:
        """Yield the edits that make a condition false, beginning with the most revealing."""
        if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
            yield min((way for part in test.values for way in [next(self._ways(part))]), key=lambda way: way[0])
        if isinstance(test, ast.Compare) and len(test.ops) == 1:
            yield from self._comparison(test, test.ops[0], test.left, test.comparators[0])
        yield Rank.NEGATED, self._source.replace(test, f"not ({self._source.segment(test)})")

    def _comparison(
        self, test: ast.Compare, operator: ast.cmpop, left: ast.expr, right: ast.expr
    ) -> Iterator[tuple[Rank, Edit]]:
        text = self._source.segment
        for side in (right, left):
            # `is` is handled for booleans only, because the compiler warns about other literals.
            fits = isinstance(operator, ast.Eq) or (isinstance(operator, ast.Is) and _is_bool(side))
            if fits and (edit := self._other_literal(side)):
                yield Rank.EMPTY if self._source.segment(side) in _NO_TEXT else Rank.LITERAL, edit
        if isinstance(operator, ast.Lt | ast.LtE) and (edit := self._beyond_tolerance(left, right)):
            yield Rank.LITERAL, edit
        if isinstance(operator, ast.Eq):
            yield Rank.VALUE, self._source.replace(test, f"{self._helper}.differ(({text(left)}), ({text(right)}))")
        if isinstance(operator, ast.In) and (edit := self._other_literal(left, far=True)):
            yield Rank.TURNED, edit
        turned = _COMPLEMENT.get(type(operator))
        if turned and (not isinstance(operator, _ORDERINGS) or _is_literal(left) or _is_literal(right)):
            yield Rank.TURNED, self._source.replace(test, f"({text(left)}) {turned} ({text(right)})")

    def _beyond_tolerance(self, left: ast.expr, right: ast.expr) -> Edit | None:
        """Return the edit that shifts the expected value of `abs(f(x) - 1.5) < 1e-6` just beyond the tolerance."""
        match left, _number(right):
            case ast.Call(func=ast.Name(id="abs"), args=[ast.BinOp(op=ast.Sub() | ast.Add()) as difference]), float(
                most
            ):
                for side in (difference.right, difference.left):
                    if (value := _number(side)) is not None:
                        step = max(most, abs(value) * 1e-12) * self._chance.uniform(3, 9)
                        return self._source.replace(side, f"({value + self._chance.choice((-step, step))!r})")
        return None

    def _mark_check(self, test: ast.expr) -> str:
        text = self._source.segment
        if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq):
            return f"{self._helper}.differ(({text(test.left)}), ({text(test.comparators[0])}))"
        return f"not {self._helper}.reached({text(test)})"

    def _method(self, call: ast.Call) -> Check | None:
        """Read a unittest check, such as `self.assertEqual(a, b)`."""
        if not isinstance(call.func, ast.Attribute) or not call.func.attr.startswith("assert"):
            return None
        name, edits = call.func.attr, list[Edit]()
        if name in _EQUALITIES and len(call.args) >= 2:
            far = name == "assertAlmostEqual"
            edits = [edit for side in (call.args[1], call.args[0]) if (edit := self._other_literal(side, far=far))]
        opposite = self._opposite(call, call.func)
        if not edits and opposite is None:
            return None
        marked = None
        if opposite and call.args:
            argument = call.args[0]
            inside = f"{self._helper}.reached({self._source.segment(argument)})"
            marked = _join_edits(self._source, opposite, self._source.replace(argument, inside))
        if edits:
            return Check(rank=Rank.LITERAL, edit=edits[0], marked=marked)
        assert opposite is not None
        return Check(rank=Rank.TURNED, edit=opposite, marked=marked)

    def _opposite(self, call: ast.Call, func: ast.Attribute) -> Edit | None:
        if (other := _OPPOSITE.get(func.attr)) is None or not call.args:
            return None
        end = self._source.span(func)[1]
        return Edit(end - len(func.attr), end, other)

    def _other_literal(self, node: ast.expr, *, far: bool = False) -> Edit | None:
        """Return the edit that changes a literal, also inside a call to `approx`; None if there is no literal."""
        if isinstance(node, ast.Call) and last_name(node.func) == "approx" and node.args:
            node, far = node.args[0], True
        if (value := _value(node)) is _NO_LITERAL:
            return None
        other = self._other(value, far=far)
        return None if other == value or repr(other) == repr(value) else self._source.replace(node, repr(other))

    def _other(self, value: Any, *, far: bool) -> Any:
        """Return a different value, if possible with the same number of minus signs.

        Up to `TRIES` values are tried. Cheating code may read the expected numbers from the text of the copy, and be
        unprepared for a new minus sign. The copied test would then fail, as it does with a right program, and the cheat
        would not be noticed.
        """
        for _ in range(TRIES):
            other = beyond(value, self._chance) if far else close(value, self._chance)
            if repr(other).count("-") == repr(value).count("-"):
                break
        return other


def beyond(value: Any, chance: random.Random) -> Any:
    """Return a value whose numbers are so far from the original ones that no usual tolerance accepts them."""
    if isinstance(value, list | tuple):
        return type(value)(beyond(item, chance) for item in value)
    if isinstance(value, dict):
        return {key: beyond(item, chance) for key, item in value.items()}
    if isinstance(value, int | float | complex) and not isinstance(value, bool):
        other = value + chance.randint(1000, 9999) * (1 + int(abs(value)) if abs(value) < FAR else abs(value))
        return other if other not in {value, math.inf} else 0.5
    if isinstance(value, str):
        return value + "".join(chance.choices(CONSONANTS, k=6))
    if isinstance(value, bytes):
        return value + bytes(chance.choices(CONSONANTS.encode(), k=6))
    return close(value, chance)


def _value(node: ast.expr) -> Any:
    """Return the value of a literal; `_NO_LITERAL` for any other expression."""
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return _NO_LITERAL


def _is_literal(node: ast.expr) -> bool:
    return _value(node) is not _NO_LITERAL


def _number(node: ast.expr) -> float | None:
    """Return the value of a literal number; None for anything else."""
    value = _value(node)
    return float(value) if type(value) in (int, float) and abs(value) < FAR else None


def _join_edits(source: Source, first: Edit, second: Edit) -> Edit:
    """Return one edit that makes two edits in the same statement."""
    return Edit(first.start, second.end, first.text + source.slice(first.end, second.start) + second.text)


def _is_bool(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, bool)
