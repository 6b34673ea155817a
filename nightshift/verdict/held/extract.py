"""Finds the checks of a test file that can be judged by value, each with its location in the text.

A right answer must never be refused. So a check that may depend on more than the inputs of its call is not extracted.
This excludes files with any set-up, tests that use fixtures, and tests that do more than check. It also excludes
functions that a test calls for their effect, without arguments, or twice with different results. The tests themselves
still run as always.

A check becomes a case only if its meaning is certain. The called function must be imported by the module. The arguments
and the expected value must be literals, or names that get literals from a table of test rows. A case made from `==` is
compared by `==`.
"""

from __future__ import annotations

import ast
import builtins
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from nightshift.core.code import literals
from nightshift.core.tasks.held_out import Compare, ValueCase
from nightshift.sandbox.source import Source
from nightshift.verdict.languages.python.outline import Function, last_name, outline
from nightshift.verdict.languages.python.pytest_settings import PytestSettings
from nightshift.verdict.languages.test_config import LIBRARY_NAMES

_SET_UP = re.compile(
    r"\b(autouse|setup_module|setup_function|setup_method|setup_class|setUp|setUpClass|setUpModule|pytestmark|"
    r"usefixtures|load_tests|teardown_\w+|tearDown\w*)\b"
)
_FOREIGN = sys.stdlib_module_names | LIBRARY_NAMES | {"numpy", "pandas", "requests", "mock"}
# Functions and classes that may be called to make a module-level value, because a tested function cannot notice these
# calls.
_HARMLESS = frozenset({
    "Decimal", "Fraction", "Path", "bytes", "date", "datetime", "dict", "float", "frozenset", "int", "json", "list",
    "math", "pathlib", "range", "re", "set", "str", "textwrap", "timedelta", "tuple",
})  # fmt: skip
_PLAIN = (ast.Assert, ast.Pass, ast.Import, ast.ImportFrom)
_EQUALITIES = frozenset({
    "assertEqual", "assertEquals", "assertListEqual", "assertTupleEqual", "assertDictEqual", "assertSetEqual",
    "assertSequenceEqual", "assertMultiLineEqual",
})  # fmt: skip
_TRUTHS = {"assertTrue": Compare.TRUE, "assertFalse": Compare.FALSE}
_APPROX, _ISCLOSE, _RAISES = frozenset({"approx"}), frozenset({"isclose"}), frozenset({"raises", "assertRaises"})
_PLACES = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """A check with its location.

    Attributes:
        case: the call, and the result that the check expects.
        path: the test file.
        holder: the function that contains the check.
        statement: the statement that makes the check.
        table: the table of test rows that the check belongs to; None without one.
        row: the number of the check's row in `table`.
        values: the names in the check, each with its value in the row.
        loop: true if the table belongs to a `for`, not to a `parametrize`.
        helper: true if `holder` is not a test but called by tests; such a function must keep at least one check.
    """

    case: ValueCase
    path: str
    holder: ast.FunctionDef
    statement: ast.stmt
    table: ast.List | ast.Tuple | None = None
    row: int = 0
    values: Mapping[str, ast.expr] = field(default_factory=dict)
    loop: bool = False
    helper: bool = False

    @property
    def node(self) -> ast.expr | ast.stmt:
        """The syntax node to remove for this check: the row of the table, or the statement if there is no table."""
        return self.table.elts[self.row] if self.table is not None else self.statement


def spots(path: str, source: Source) -> tuple[Spot, ...]:
    """Return the checks of a test file that can be judged by value, in the order in which they run."""
    if _SET_UP.search(source.text) or not all(map(_is_quiet, source.tree.body)):
        return ()
    reader = _Reader(path, source.tree)
    all_spots = list(reader.spots())
    return tuple(spot for spot in all_spots if spot.case.module not in reader.restless | _contradicting(all_spots))


def _is_quiet(node: ast.stmt) -> bool:
    """Check whether a top-level statement has no effect that tests could depend on."""
    if isinstance(node, ast.Assign | ast.AnnAssign):
        return all(_root(inner.func) in _HARMLESS for inner in ast.walk(node) if isinstance(inner, ast.Call))
    if isinstance(node, ast.If):
        return "__name__" in ast.dump(node.test)
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant) or _is_usual_path(node.value) or _is_named_call(node.value)
    return isinstance(node, Function | ast.ClassDef | ast.Import | ast.ImportFrom)


def _is_usual_path(node: ast.expr) -> bool:
    """Check for a `sys.path` call whose only text arguments are the tree's root or its `src` folder.

    An example is `sys.path.insert(0, "src")`. Both folders are on the import path anyway.
    """
    texts = {
        constant.value
        for constant in ast.walk(node)
        if isinstance(constant, ast.Constant) and isinstance(constant.value, str)
    }
    is_call = isinstance(node, ast.Call) and ast.unparse(node.func).startswith("sys.path.")
    return is_call and texts <= {"..", ".", "src", "../src"}


def _root(function: ast.expr) -> str:
    """Return the leftmost name of a dotted name or of a chain of calls; empty for other expressions."""
    while isinstance(function, ast.Attribute | ast.Call):
        function = function.value if isinstance(function, ast.Attribute) else function.func
    return function.id if isinstance(function, ast.Name) else ""


def _is_named_call(node: ast.expr) -> bool:
    """Check for a call like `check(f)`, whose function and arguments are plain names."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and all(isinstance(argument, ast.Name) for argument in node.args)
        and not node.keywords
    )


class _Reader:
    def __init__(self, path: str, tree: ast.Module) -> None:
        self._path, self._tree = path, tree
        self._bound = _bindings(tree)
        self._targets = self._list_imported(tree.body)
        self._helpers = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
        self.restless: set[str] = set()
        """Modules with a function that a test calls for its effect, or without arguments."""

    def spots(self) -> Iterator[Spot]:
        cases = outline(self._tree, PytestSettings()).cases
        tests = {id(case.node): case.node for case in cases if case.required}
        self._find_restless()
        for node in tests.values():
            if isinstance(node, ast.FunctionDef) and all(map(self._checks_only, node.body)):
                yield from self._of_test(node)
        for name, helper in self._helpers.items():
            if id(helper) in tests or not all(map(self._checks_only, helper.body)):
                continue
            if scope := self._scope_of_helper(name, helper):
                yield from self._statements(helper, scope, helper=True)

    def _of_test(self, test: ast.FunctionDef) -> Iterator[Spot]:
        names = [argument.arg for argument in test.args.args if argument.arg != "self"]
        others = (*test.args.posonlyargs, *test.args.kwonlyargs, *([test.args.vararg] if test.args.vararg else ()))
        if others or test.args.kwarg or test.args.defaults:
            return
        scope = Scope(targets={**self._targets, **self._list_imported(test.body)})
        if not names and not test.decorator_list:
            yield from self._statements(test, scope)
        elif len(test.decorator_list) == 1 and (table := _table(test.decorator_list[0], names)):
            yield from self._rows(test, test.body, table, _list_parameters(test.decorator_list[0]), scope)

    def _statements(self, holder: ast.FunctionDef, scope: Scope, *, helper: bool = False) -> Iterator[Spot]:
        for statement in holder.body:
            if case := read(statement, scope):
                yield Spot(case=case, path=self._path, holder=holder, statement=statement, helper=helper)
            elif isinstance(statement, ast.For) and isinstance(statement.iter, ast.List | ast.Tuple):
                rows = self._rows(holder, statement.body, statement.iter, _list_bound(statement.target), scope)
                yield from (replace(spot, loop=True, helper=helper) for spot in rows)

    def _rows(
        self,
        test: ast.FunctionDef,
        body: list[ast.stmt],
        table: ast.List | ast.Tuple,
        order: list[str],
        scope: Scope,
    ) -> Iterator[Spot]:
        """Yield a check for each row of a table, if the test or loop body consists of a single check.

        `order` contains the names that the values of a row are bound to, in order.
        """
        body = [statement for statement in body if not _is_docstring(statement)]
        if len(body) != 1 or not order or set(order) & scope.targets.keys():
            return
        for number, row in enumerate(table.elts):
            values = _values(row, len(order))
            if values is None:
                continue
            row_values = dict(zip(order, values, strict=True))
            if case := read(body[0], replace(scope, row=row_values)):
                yield Spot(
                    case=case, path=self._path, holder=test, statement=body[0], table=table, row=number,
                    values=row_values,
                )  # fmt: skip

    def _scope_of_helper(self, name: str, helper: ast.FunctionDef) -> Scope | None:
        """Return the scope of a helper that has one parameter, if all calls pass the same imported function to it.

        The result is None for any other helper.
        """
        names = [argument.arg for argument in helper.args.args]
        if len(names) != 1 or helper.decorator_list or helper.args.defaults or names[0] in _list_stored(helper):
            return None
        calls = [n for n in ast.walk(self._tree) if isinstance(n, ast.Call) and last_name(n.func) == name]
        words = [call.args[0] for call in calls if _is_named_call(call) and len(call.args) == 1]
        given = {self._targets.get(word.id, "") for word in words if isinstance(word, ast.Name)}
        if len(words) != len(calls) or len(given) != 1 or "" in given:
            return None
        return Scope(targets={**self._targets, names[0]: given.pop()})

    def _list_imported(self, body: list[ast.stmt]) -> dict[str, str]:
        """Return the names that imports bind to the tree's modules and functions.

        Each name is mapped to `module:function`, where the function is empty for a module. Names that are bound a
        second time are left out.
        """
        targets: dict[str, str] = {}
        for node in body:
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                pairs = [(alias.asname or alias.name, f"{node.module}:{alias.name}") for alias in node.names]
            elif isinstance(node, ast.Import):
                pairs = [(alias.asname or alias.name, f"{alias.name}:") for alias in node.names]
            else:
                continue
            for name, target in pairs:
                taken = targets.get(name, target) != target or name.partition(".")[0] in self._bound
                ours = target.partition(":")[0].partition(".")[0] not in _FOREIGN and not target.endswith(":*")
                targets[name] = target if ours and not taken else ""
        return {name: target for name, target in targets.items() if target}

    def _checks_only(self, statement: ast.stmt) -> bool:
        """Check whether a statement only makes checks and binds names."""
        match statement:
            case ast.With(items=[item], body=body):
                context = item.context_expr
                raising = isinstance(context, ast.Call) and last_name(context.func) in {
                    "raises",
                    "assertRaises",
                    "subTest",
                }
                return raising and all(isinstance(inner, ast.Expr | ast.Assert) for inner in body)
            case ast.For(body=body, orelse=[]):
                return all(self._checks_only(inner) for inner in body)
            case ast.Expr(value=ast.Call() as call):
                asserted = isinstance(call.func, ast.Attribute) and last_name(call.func.value) == "self"
                return asserted or _is_named_call(call)
            case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value):
                return not isinstance(value, ast.Await)
        return isinstance(statement, _PLAIN) or _is_docstring(statement)

    def _find_restless(self) -> None:
        """Record the modules with functions that are called for their effect, or without arguments."""
        raising = {id(b) for n in ast.walk(self._tree) if isinstance(n, ast.With) for b in n.body}
        for node in ast.walk(self._tree):
            if isinstance(node, ast.Expr) and id(node) not in raising and isinstance(node.value, ast.Call):
                self._note(node.value)
            elif isinstance(node, ast.Call) and not (node.args or node.keywords):
                self._note(node)

    def _note(self, call: ast.Call) -> None:
        targets = {
            **self._targets,
            **{k: v for n in self._helpers.values() for k, v in self._list_imported(n.body).items()},
        }
        target = target_of(call.func, targets)
        if target and not target.rpartition(":")[2].rpartition(".")[2][:1].isupper():
            self.restless.add(target.partition(":")[0])


def _contradicting(spots: list[Spot]) -> set[str]:
    """Return the modules with contradicting checks: checks that expect different results from the same call."""
    expected: dict[tuple[str, str, str], set[tuple[str | None, tuple[str, ...]]]] = defaultdict(set)
    for spot in spots:
        case = spot.case
        expected[case.call, case.args, case.kwargs].add((case.expect, case.raises))
    return {key[0].partition(":")[0] for key, results in expected.items() if len(results) > 1}


def _bindings(tree: ast.Module) -> set[str]:
    """Return all names that a module binds at any depth, except by imports."""
    bound = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    bound |= {node.name for node in ast.walk(tree) if isinstance(node, Function | ast.ClassDef)}
    return bound | {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}


def _table(decorator: ast.expr, names: list[str]) -> ast.List | ast.Tuple | None:
    """Return the literal table of a `parametrize` that supplies all arguments of a test; otherwise None."""
    match decorator:
        case ast.Call(func=function, args=[_, ast.List() | ast.Tuple() as table], keywords=[]):
            fits = last_name(function) == "parametrize" and sorted(_list_parameters(decorator)) == sorted(names)
            return table if fits and names else None
    return None


def _list_parameters(decorator: ast.expr) -> list[str]:
    """Return the parameter names of a `parametrize` decorator."""
    first = decorator.args[0] if isinstance(decorator, ast.Call) and decorator.args else None
    if isinstance(first, ast.Constant) and isinstance(first.value, str):
        return [name.strip() for name in first.value.split(",") if name.strip()]
    if isinstance(first, ast.List | ast.Tuple):
        return [str(item.value) for item in first.elts if isinstance(item, ast.Constant)]
    return []


def _list_bound(target: ast.expr) -> list[str]:
    """Return the loop variables of a `for`; empty if a target is not a plain name."""
    names = target.elts if isinstance(target, ast.Tuple) else [target]
    return [name.id for name in names if isinstance(name, ast.Name)] if all(map(last_name, names)) else []


def _values(row: ast.expr, count: int) -> list[ast.expr] | None:
    """Return the values of a table's row; None if their number differs, or the row has marks."""
    if isinstance(row, ast.Call):
        simple = last_name(row.func) == "param" and all(keyword.arg == "id" for keyword in row.keywords)
        return list(row.args) if simple and len(row.args) == count else None
    if count == 1:
        return [row]
    return list(row.elts) if isinstance(row, ast.Tuple | ast.List) and len(row.elts) == count else None


def _list_stored(function: ast.FunctionDef) -> set[str]:
    """Return the names that the body of a function binds."""
    return {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The meaning of the names in a check.

    Attributes:
        targets: names of the tree's functions and modules, each with its target as `module:function`.
        row: names bound by a table's row, each with its value.
    """

    targets: Mapping[str, str] = field(default_factory=dict)
    row: Mapping[str, ast.expr] = field(default_factory=dict)


def read(statement: ast.stmt, scope: Scope) -> ValueCase | None:
    """Convert a statement into a case; None if the statement is not a check that can be judged by value."""
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
    """Return the function of the tree that an expression refers to, as `module:function`; otherwise None."""
    parts: list[str] = []
    while isinstance(function, ast.Attribute):
        parts.insert(0, function.attr)
        function = function.value
    if not isinstance(function, ast.Name) or any(part.startswith("_") for part in parts):
        return None
    for end in range(len(parts), -1, -1):  # longest imported name first: after `import a.b`, `a.b.f` belongs to `a.b`
        target = targets.get(".".join([function.id, *parts[:end]]))
        if target is not None:
            module, _, name = target.partition(":")
            full_name = ".".join(part for part in (name, *parts[end:]) if part)
            return f"{module}:{full_name}" if full_name else None
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
        case ast.Call(func=function) if last_name(function) in _ISCLOSE and len(test.args) == 2:
            return _near(test.args[0], test, test.args[1], scope) or _near(test.args[1], test, test.args[0], scope)
        case ast.Call():
            return _with(_call(test, scope), Compare.TRUE)
    return None


def _equal(called: ast.expr, expected: ast.expr, scope: Scope) -> ValueCase | None:
    case = _call(called, scope) if isinstance(called, ast.Call) else None
    if case is None:
        return None
    if isinstance(expected, ast.Call) and last_name(expected.func) in _APPROX and len(expected.args) == 1:
        return _near(called, expected, expected.args[0], scope)
    return _with(case, Compare.EQUAL, expect=_literal(expected, scope))


def _singleton(called: ast.expr, expected: ast.expr, scope: Scope) -> ValueCase | None:
    expected = _substitute_names(expected, scope)
    if not isinstance(called, ast.Call) or not isinstance(expected, ast.Constant):
        return None
    if expected.value is not None and not isinstance(expected.value, bool):
        return None
    return _with(_call(called, scope), Compare.SAME, expect=repr(expected.value))


def _near(called: ast.expr, how: ast.Call, expected: ast.expr, scope: Scope) -> ValueCase | None:
    """Read a comparison that uses `pytest.approx` or `math.isclose`, with its tolerances."""
    case = _call(called, scope) if isinstance(called, ast.Call) else None
    given = {keyword.arg or "": _number(keyword.value) for keyword in how.keywords if keyword.arg != "nan_ok"}
    rel, slack = given.pop("rel", given.pop("rel_tol", None)), given.pop("abs", given.pop("abs_tol", None))
    if case is None or given:
        return None
    if last_name(how.func) in _ISCLOSE:
        rel, slack = 1e-9 if rel is None else rel, slack or 0.0
    return replace(case, compare=Compare.NEAR, expect=_literal(expected, scope), rel=rel, abs=slack)


def _within(left: ast.Call, limit: ast.expr, scope: Scope) -> ValueCase | None:
    """Read a comparison like `abs(f(x) - 4.0) < 1e-6`."""
    match left:
        case ast.Call(func=ast.Name(id="abs"), args=[ast.BinOp(left=minuend, op=ast.Sub(), right=other)], keywords=[]):
            called, expected = (minuend, other) if isinstance(minuend, ast.Call) else (other, minuend)
            case = _call(called, scope) if isinstance(called, ast.Call) else None
            expect = _literal(expected, scope)
            return case and replace(case, compare=Compare.WITHIN, expect=expect, abs=_number(limit))
    return None


def _method(call: ast.Call, scope: Scope) -> ValueCase | None:
    """Read a check of unittest, such as `self.assertEqual(f(1), 2)`."""
    if not isinstance(call.func, ast.Attribute) or last_name(call.func.value) != "self" or not call.args:
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
    slack = 0.5 * 10.0**-places * (1 + 1e-9) if delta is None else delta  # largest difference that rounds to 0
    return case and replace(case, compare=Compare.WITHIN, expect=_literal(expected, scope), abs=slack)


def _raising(statement: ast.With, scope: Scope) -> ValueCase | None:
    """Read `with pytest.raises(X): f(…)`.

    The result is None for `with … as name`, because later statements may inspect the exception.
    """
    if len(statement.items) != 1 or len(statement.body) != 1 or statement.items[0].optional_vars:
        return None
    context, body = statement.items[0].context_expr, statement.body[0]
    if not isinstance(context, ast.Call) or last_name(context.func) not in _RAISES or not context.args:
        return None
    if not isinstance(body, ast.Expr) or not isinstance(body.value, ast.Call):
        return None
    kinds = context.args[0]
    names = [last_name(kind) for kind in (kinds.elts if isinstance(kinds, ast.Tuple) else [kinds])]
    has_names = all(name and name[0].isupper() for name in names)
    return _with(_call(body.value, scope), Compare.RAISES, raises=tuple(names)) if has_names else None


def _call(call: ast.Call, scope: Scope) -> ValueCase | None:
    """Read a call with literal inputs.

    The result is None for a call without inputs, because it may depend on what ran before.
    """
    target = target_of(call.func, scope.targets)
    if target is None or not (call.args or call.keywords):
        return None
    if any(isinstance(argument, ast.Starred) for argument in call.args) or any(
        word.arg is None for word in call.keywords
    ):
        return None
    arguments = tuple(_value(argument, scope) for argument in call.args)
    named = {str(word.arg): _value(word.value, scope) for word in call.keywords}
    return ValueCase(call=target, args=literals.write(arguments), kwargs=literals.write(named))


def _with(case: ValueCase | None, compare: Compare, **more: Any) -> ValueCase | None:
    return case and replace(case, compare=compare, **more)


def _literal(node: ast.expr, scope: Scope) -> str:
    return literals.write(_value(node, scope))


def _value(node: ast.expr, scope: Scope) -> Any:
    return literals.value_of(_substitute_names(node, scope))


def _substitute_names(node: ast.expr, scope: Scope) -> ast.expr:
    """Return an expression; if it is a name that the table's row binds, return the value of the name instead."""
    if isinstance(node, ast.Name) and node.id not in vars(builtins):
        return scope.row.get(node.id, node)
    if not scope.row or not any(isinstance(inner, ast.Name) and inner.id in scope.row for inner in ast.walk(node)):
        return node
    raise ValueError("reckons with a name")  # the tests judge a check with a computed value, as in `f(x) == y + 1`


def _number(node: ast.expr) -> float:
    value = literals.value_of(node)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("is no number")
    return float(value)
