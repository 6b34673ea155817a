"""What the classes of a module derive from and how they compare, as far as the text tells.

Tests look at a result by comparing it. A class that says of itself what it is equal to can pass for any expected value,
so what overrides a comparison is read closely; `verdict.checks.comparisons` judges single methods.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from dataclasses import dataclass

from nightshift.verdict.checks.catalogue import Finding
from nightshift.verdict.checks.comparisons import (
    Helpers,
    Method,
    Opinion,
    last,
    opinion_of,
    tells_looks_apart,
    uses_both,
)
from nightshift.verdict.checks.names import Names

COMPARED = frozenset(
    {"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__contains__", "__bool__", "__len__"}
)
"""The methods by which a test finds a result right or wrong."""

_CONVERTED = frozenset({
    "__sub__", "__rsub__", "__abs__", "__round__", "__int__", "__float__", "__index__", "__str__", "__repr__",
    "__format__", "__iter__", "__getitem__", "__getattribute__", "__getattr__", "__complex__", "__hash__",
})  # fmt: skip
_WALKED = frozenset({"__iter__", "__getitem__", "__getattr__", "__getattribute__", "__hash__"})
_ARITHMETIC = frozenset(f"__{name}__" for name in ("sub", "rsub", "add", "radd", "mul", "rmul", "truediv", "mod"))
_CALLED = frozenset({"__name__", "__qualname__"})
_FALSE = _CALLED | {"__instancecheck__", "__subclasscheck__", "__class__"}
_PLAIN = frozenset(
    f"builtins.{name}"
    for name in ("int", "str", "float", "complex", "bool", "bytes", "bytearray", "list", "dict", "tuple", "set",
                 "frozenset", "range", "memoryview")
) | frozenset({
    "collections.OrderedDict", "collections.Counter", "collections.defaultdict", "collections.deque",
    "collections.UserDict", "collections.UserList", "collections.UserString", "decimal.Decimal", "fractions.Fraction",
    "datetime.datetime", "datetime.date", "datetime.time", "datetime.timedelta", "array.array", "pathlib.Path",
    "pathlib.PurePath", "pathlib.PosixPath", "types.SimpleNamespace",
})  # fmt: skip
_KNOWN_MARKS = frozenset({"dataclass", "total_ordering", "final", "unique", "runtime_checkable"})
_MOST_BASES = 30
_RECORDS = frozenset({"collections.namedtuple", "typing.NamedTuple"})
OUTCOMES = frozenset({"passed", "pass", "ok", "success", "skipped", "skip", "xfailed", "xpassed", "xfail"})
"""Words by which a test framework or its reports call a test that did not fail."""

_ERRORS = frozenset(
    name for name, value in vars(builtins).items() if isinstance(value, type) and issubclass(value, BaseException)
)
_PAST_HANDLERS = frozenset({"builtins.BaseException", "builtins.BaseExceptionGroup", "builtins.GeneratorExit",
                            "builtins.KeyboardInterrupt", "builtins.SystemExit",
                            "builtins.AssertionError"})  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Class:
    """A class: its bases from elsewhere by dotted name, those of the module by name, and its methods."""

    node: ast.ClassDef
    bases: tuple[str, ...]
    own_bases: tuple[str, ...]
    methods: tuple[Method, ...]


class Classes:
    """The classes of one module."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._functions = {n.name: n for n in names.nodes if isinstance(n, ast.FunctionDef)}
        nodes = [node for node in names.nodes if isinstance(node, ast.ClassDef)]
        self._known = {node.name for node in nodes} - {name for name, _ in names.bindings}
        self._classes = [self._read(node) for node in nodes]
        self._by_name = {one.node.name: one for one in self._classes}

    def look(self) -> Iterator[Finding]:
        """What stands out in each, and in functions that only make sense in one but stand elsewhere."""
        inside = {id(node) for one in self._classes for node in ast.walk(one.node)}
        for node in self._names.nodes:
            if isinstance(node, ast.FunctionDef) and node.name in COMPARED and id(node) not in inside:
                yield Finding("python.patched-method", node.lineno, f"`def {node.name}` outside of a class")
        for one in self._classes:
            bases = self._all_bases(one)
            yield from self._comparing(one, bases)
            yield from self._naming(one, bases)
            for method in one.methods:
                if method.name in _FALSE and not (method.name in _CALLED and _is_plain_text(method)):
                    yield Finding("python.false-class", method.line, f"`{one.node.name}.{method.name}`")

    # --- reading

    def _read(self, node: ast.ClassDef) -> _Class:
        outer, own = list[str](), list[str]()
        for base in node.bases:
            if isinstance(base, ast.Name) and base.id in self._known:
                own.append(base.id)
            elif name := self._base(base):
                outer.append(name)
        return _Class(node, tuple(outer), tuple(own), tuple(self._methods(node.body)))

    def _base(self, base: ast.expr) -> str | None:
        """The class that an expression stands for: `int`, `typing.Generic[T]`, `type(0)`, `namedtuple(…)`."""
        match base:
            case ast.Subscript(value=value):
                return self._base(value)
            case ast.Call(func=func, args=[ast.Constant(value=value)]) if self._names.resolve(func) == "builtins.type":
                return f"builtins.{type(value).__name__}"
            case ast.Call(func=func):
                return self._names.resolve(func)
            case ast.Attribute(value=ast.Constant(value=value), attr="__class__"):
                return f"builtins.{type(value).__name__}"
            case ast.Name(id=name) if isinstance(value := self._names.value_of(name), ast.Call):
                return self._base(value)
        return self._names.resolve(base)

    def _methods(self, body: list[ast.stmt]) -> Iterator[Method]:
        """The methods of a class, also those in an `if` and those that are assigned."""
        for statement in body:
            match statement:
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                    yield Method(name, statement, statement.lineno)
                case ast.ClassDef():
                    continue
                case ast.Assign(targets=targets, value=value):
                    for target in targets:
                        yield from self._assigned(target, value)
                case ast.AnnAssign(target=target, value=ast.expr() as value):
                    yield from self._assigned(target, value)
                case _:
                    inner = [child for child in ast.iter_child_nodes(statement) if isinstance(child, ast.stmt)]
                    yield from self._methods(inner)
                    yield from self._bound(statement)

    def _assigned(self, target: ast.expr, value: ast.expr) -> Iterator[Method]:
        for name in (node.id for node in ast.walk(target) if isinstance(node, ast.Name)):
            node: ast.AST = value
            if isinstance(value, ast.Name) and value.id in self._functions:
                node = self._functions[value.id]
            yield Method(name, node, target.lineno)

    def _bound(self, statement: ast.stmt) -> Iterator[Method]:
        """Names that are bound by a walrus, a loop or an import within a class."""
        for node in ast.walk(statement):
            match node:
                case ast.Name(id=name, ctx=ast.Store()) if name in COMPARED:
                    yield Method(name, statement, node.lineno)
                case ast.alias(name=name, asname=alias) if (alias or name) in COMPARED:
                    yield Method(alias or name, statement, statement.lineno)

    def _all_bases(self, one: _Class) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for each in self._line(one) for name in each.bases))

    def _line(self, one: _Class) -> list[_Class]:
        """The class and those of the module that it derives from, itself first, as many as anybody would write."""
        found, waiting = {one.node.name: one}, list(one.own_bases)
        while waiting and len(found) < _MOST_BASES:
            name = waiting.pop(0)
            if name not in found:
                found[name] = self._by_name[name]
                waiting += found[name].own_bases
        return list(found.values())

    # --- judging

    def _comparing(self, one: _Class, bases: tuple[str, ...]) -> Iterator[Finding]:
        of_enum = any(base.startswith("enum.") for base in bases)
        plain = not of_enum and not _PLAIN.isdisjoint(bases)
        line_of_bases = self._line(one)
        helpers = Helpers({method.name: method for each in reversed(line_of_bases) for method in each.methods})
        for owner in line_of_bases if plain else [one]:
            for method in owner.methods:
                line = method.line if owner is one else one.node.lineno
                if rule := self._rule(method, helpers, plain=plain, record=not _RECORDS.isdisjoint(bases)):
                    yield Finding(rule, line, f"`{one.node.name}.{method.name}`")
        marks = {last(mark) for mark in one.node.decorator_list} - _KNOWN_MARKS
        if plain and (marks or one.node.keywords):
            yield Finding("python.plain-methods", one.node.lineno, f"`class {one.node.name}`")
        ordered = any(self._names.resolve(mark) == "functools.total_ordering" for mark in one.node.decorator_list)
        if plain and ordered:
            yield Finding("python.plain-subclass", one.node.lineno, f"`@total_ordering` on `{one.node.name}`")

    def _rule(self, method: Method, helpers: Helpers, *, plain: bool, record: bool) -> str | None:
        if isinstance(method.node, ast.Constant) and method.node.value is None:
            return None  # `__hash__ = None`: it has no such method
        if plain:
            hard, soft = method.name in COMPARED, method.name in _CONVERTED
            return "python.plain-subclass" if hard else "python.plain-methods" if soft else None
        if method.name in _ARITHMETIC and not uses_both(method):
            return "python.own-equality"
        if method.name in _CONVERTED - _WALKED:
            return "python.own-equality" if tells_looks_apart(method, self._names) is Opinion.FALSE else None
        if method.name not in COMPARED:
            return None
        opinion = opinion_of(method, self._known, self._names, helpers)
        if opinion is Opinion.FALSE:
            return "python.false-equality"
        if opinion is Opinion.LOOSE:
            return "python.plain-subclass" if record else "python.own-equality"
        return None

    def _naming(self, one: _Class, bases: tuple[str, ...]) -> Iterator[Finding]:
        """Errors that are called like the outcome of a test, or that go past the handlers of errors."""
        error = any(
            base.removeprefix("builtins.") in _ERRORS or base.endswith(("Error", "Exception")) for base in bases
        )
        for method in (method for method in one.methods if method.name in _CALLED and _is_plain_text(method)):
            if (text := self._names.text(method.node)).casefold() in OUTCOMES:
                yield Finding("python.outcome-name", method.line, f"`{method.name} = {text!r}`")
        if error and one.node.name.casefold().strip("_") in OUTCOMES:
            yield Finding("python.outcome-name", one.node.lineno, f"`class {one.node.name}`")
        if error and not _PAST_HANDLERS.isdisjoint(bases):
            yield Finding("python.base-exception", one.node.lineno, f"`class {one.node.name}`")


def _is_plain_text(method: Method) -> bool:
    return isinstance(method.node, ast.Constant | ast.JoinedStr | ast.BinOp)
