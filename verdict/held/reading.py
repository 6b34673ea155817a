"""Reads a check in a test as a case that can be judged by value: one call with literal inputs, one expected result.

Only what can be read without doubt is taken: the call goes to a function that the module imports, its arguments and
the expectation are literals, or names that a table of literals gives a value. A case made of `==` is compared by `==`.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from core import literals
from core.held import Compare, ValueCase

_EQUALITIES = frozenset({
    "assertEqual", "assertEquals", "assertListEqual", "assertTupleEqual", "assertDictEqual", "assertSetEqual",
    "assertSequenceEqual", "assertMultiLineEqual",
})  # fmt: skip
_TRUTHS = {"assertTrue": Compare.TRUE, "assertFalse": Compare.FALSE}
_APPROX, _ISCLOSE, _RAISES = frozenset({"approx"}), frozenset({"isclose"}), frozenset({"raises", "assertRaises"})
_PLACES = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What names mean where a check stands: functions of the tree (`module:function`), and values of a table's row."""

    targets: Mapping[str, str] = field(default_factory=dict)
    row: Mapping[str, ast.expr] = field(default_factory=dict)


def read(statement: ast.stmt, scope: Scope) -> ValueCase | None:
    """The case that a statement is, or None."""
    try:
        if isinstance(statement, ast.Assert):
            return _condition(statement.test, scope)
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            return _method(statement.value, scope)
        if isinstance(statement, ast.With):
            return _raising(statement, scope)
    except ValueError:  # not a literal
        return None
    return None


def target_of(function: ast.expr, targets: Mapping[str, str]) -> str | None:
    """The function of the tree that an expression names, as `module:function`; None when it names no such one."""
    parts: list[str] = []
    while isinstance(function, ast.Attribute):
        parts.insert(0, function.attr)
        function = function.value
    if not isinstance(function, ast.Name) or any(part.startswith("_") for part in parts):
        return None
    for end in range(len(parts), -1, -1):  # the longest imported name: `import a.b` makes `a.b.f` b's function
        found = targets.get(".".join([function.id, *parts[:end]]))
        if found is not None:
            module, _, name = found.partition(":")
            whole = ".".join(part for part in (name, *parts[end:]) if part)
            return f"{module}:{whole}" if whole else None
    return None


def _condition(test: ast.expr, scope: Scope) -> ValueCase | None:
    match test:
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
            return _equal(left, right, scope) or _equal(right, left, scope)
        case ast.Compare(left=left, ops=[ast.Is()], comparators=[right]):
            return _singleton(left, right, scope)
        case ast.Compare(left=ast.Call() as left, ops=[ast.Lt() | ast.LtE()], comparators=[right]):
            return _within(left, right, scope)
        case ast.UnaryOp(op=ast.Not(), operand=ast.Call() as operand):
            return _with(_call(operand, scope), Compare.FALSE)
        case ast.Call(func=function) if _name(function) in _ISCLOSE and len(test.args) == 2:
            return _near(test.args[0], test, test.args[1], scope) or _near(test.args[1], test, test.args[0], scope)
        case ast.Call():
            return _with(_call(test, scope), Compare.TRUE)
    return None


def _equal(called: ast.expr, expected: ast.expr, scope: Scope) -> ValueCase | None:
    case = _call(called, scope) if isinstance(called, ast.Call) else None
    if case is None:
        return None
    if isinstance(expected, ast.Call) and _name(expected.func) in _APPROX and len(expected.args) == 1:
        return _near(called, expected, expected.args[0], scope)
    return _with(case, Compare.EQUAL, expect=_literal(expected, scope))


def _singleton(called: ast.expr, expected: ast.expr, scope: Scope) -> ValueCase | None:
    expected = _substituted(expected, scope)
    if not isinstance(called, ast.Call) or not isinstance(expected, ast.Constant):
        return None
    if expected.value is not None and not isinstance(expected.value, bool):
        return None
    return _with(_call(called, scope), Compare.SAME, expect=repr(expected.value))


def _near(called: ast.expr, how: ast.Call, expected: ast.expr, scope: Scope) -> ValueCase | None:
    """A comparison with the tolerances of `pytest.approx` or `math.isclose`."""
    case = _call(called, scope) if isinstance(called, ast.Call) else None
    given = {keyword.arg or "": _number(keyword.value) for keyword in how.keywords if keyword.arg != "nan_ok"}
    rel, slack = given.pop("rel", given.pop("rel_tol", None)), given.pop("abs", given.pop("abs_tol", None))
    if case is None or given:
        return None
    if _name(how.func) in _ISCLOSE:
        rel, slack = 1e-9 if rel is None else rel, slack or 0.0
    return replace(case, compare=Compare.NEAR, expect=_literal(expected, scope), rel=rel, abs=slack)


def _within(left: ast.Call, limit: ast.expr, scope: Scope) -> ValueCase | None:
    """`abs(f(x) - 4.0) < 1e-6`."""
    match left:
        case ast.Call(func=ast.Name(id="abs"), args=[ast.BinOp(left=one, op=ast.Sub(), right=other)], keywords=[]):
            called, expected = (one, other) if isinstance(one, ast.Call) else (other, one)
            case = _call(called, scope) if isinstance(called, ast.Call) else None
            expect = _literal(expected, scope)
            return case and replace(case, compare=Compare.WITHIN, expect=expect, abs=_number(limit))
    return None


def _method(call: ast.Call, scope: Scope) -> ValueCase | None:
    """A check in the manner of unittest."""
    if not isinstance(call.func, ast.Attribute) or _name(call.func.value) != "self" or not call.args:
        return None
    name, arguments = call.func.attr, call.args
    if name in _EQUALITIES and len(arguments) >= 2:
        return _equal(arguments[0], arguments[1], scope) or _equal(arguments[1], arguments[0], scope)
    if name in _TRUTHS and isinstance(arguments[0], ast.Call):
        return _with(_call(arguments[0], scope), _TRUTHS[name])
    if name == "assertIsNone":
        return _singleton(arguments[0], ast.Constant(value=None), scope)
    if name == "assertIs" and len(arguments) >= 2:
        return _singleton(arguments[0], arguments[1], scope)
    if name == "assertAlmostEqual" and len(arguments) == 2:
        return _almost(arguments, {keyword.arg or "": keyword.value for keyword in call.keywords}, scope)
    return None


def _almost(arguments: list[ast.expr], named: dict[str, ast.expr], scope: Scope) -> ValueCase | None:
    named.pop("msg", None)
    delta = _number(named.pop("delta")) if "delta" in named else None
    places = int(_number(named.pop("places"))) if "places" in named else _PLACES
    called, expected = arguments if isinstance(arguments[0], ast.Call) else arguments[::-1]
    case = _call(called, scope) if isinstance(called, ast.Call) and not named else None
    slack = 0.5 * 10.0**-places * (1 + 1e-9) if delta is None else delta  # what `round(difference, places)` takes for 0
    return case and replace(case, compare=Compare.WITHIN, expect=_literal(expected, scope), abs=slack)


def _raising(statement: ast.With, scope: Scope) -> ValueCase | None:
    """`with pytest.raises(X): f(…)`; what the block binds may be looked at afterwards, so then it is none."""
    if len(statement.items) != 1 or len(statement.body) != 1 or statement.items[0].optional_vars:
        return None
    context, body = statement.items[0].context_expr, statement.body[0]
    if not isinstance(context, ast.Call) or _name(context.func) not in _RAISES or not context.args:
        return None
    if not isinstance(body, ast.Expr) or not isinstance(body.value, ast.Call):
        return None
    kinds = context.args[0]
    names = [_name(kind) for kind in (kinds.elts if isinstance(kinds, ast.Tuple) else [kinds])]
    known = all(name and name[0].isupper() for name in names)
    return _with(_call(body.value, scope), Compare.RAISES, raises=tuple(names)) if known else None


def _call(call: ast.Call, scope: Scope) -> ValueCase | None:
    """A call with literal inputs, at least one; anything else may depend on what was done before it."""
    target = target_of(call.func, scope.targets)
    if target is None or not (call.args or call.keywords):
        return None
    if any(isinstance(one, ast.Starred) for one in call.args) or any(word.arg is None for word in call.keywords):
        return None
    arguments = tuple(_value(one, scope) for one in call.args)
    named = {str(word.arg): _value(word.value, scope) for word in call.keywords}
    return ValueCase(call=target, args=literals.write(arguments), kwargs=literals.write(named))


def _with(case: ValueCase | None, compare: Compare, **more: Any) -> ValueCase | None:
    return case and replace(case, compare=compare, **more)


def _literal(node: ast.expr, scope: Scope) -> str:
    return literals.write(_value(node, scope))


def _value(node: ast.expr, scope: Scope) -> Any:
    return literals.value_of(_substituted(node, scope))


def _substituted(node: ast.expr, scope: Scope) -> ast.expr:
    """The expression with a row's values in the place of its names."""
    if isinstance(node, ast.Name) and node.id not in vars(builtins):
        return scope.row.get(node.id, node)
    if not scope.row or not any(isinstance(inner, ast.Name) and inner.id in scope.row for inner in ast.walk(node)):
        return node
    raise ValueError("reckons with a name")  # `f(x) == y + 1` is left to the tests themselves


def _number(node: ast.expr) -> float:
    value = literals.value_of(node)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("is no number")
    return float(value)


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")
