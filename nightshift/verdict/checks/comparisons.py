"""Judges single methods of comparison: whether the answer follows from both sides, as far as the text tells.

Nothing is said of a method that compares fields of both sides, or that has looked at the other side's type first.
FALSE is one whose answer does not follow from both sides, or that does something while it compares; LOOSE is what may
be right and may be not: a comparison with values of other types, one with a tolerance, one that cannot be read.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TypeAlias

from nightshift.verdict.checks.hooks.commands import UNKNOWN
from nightshift.verdict.checks.names import Names

_MARKS = frozenset({"abstractmethod", "override", "overload", "final", "no_type_check"})
_ABOUT_ONE = frozenset({"__bool__", "__len__"})
_HELPERS = 5
"""How far methods are followed that a comparison leaves its work to."""
ORDERS = frozenset({"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"})
_ROUGH = frozenset({"abs", "round", "min", "max", "int", "float", "len", "bool", "isclose", "floor", "ceil", "trunc"})
# What the plain types have too: by these a value of another type is looked at, not a field.
_OF_PLAIN = frozenset(name for kind in (int, float, complex, str, list, dict, set) for name in dir(kind)) - {"__dict__"}
_LOOKS = frozenset({"isinstance", "issubclass", "type", "hasattr", "id", "super", "callable"})
Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_MUTATORS = frozenset({
    "append", "appendleft", "add", "pop", "popleft", "popitem", "update", "insert", "remove", "discard", "clear",
    "extend", "setdefault", "write", "send", "put", "increment", "__next__", "__setattr__", "__setitem__",
})  # fmt: skip
_UNSTEADY = ("random.", "time.", "secrets.", "inspect.", "gc.", "sys._", "os.urandom", "os.times")
_CHANGES = frozenset({"builtins.setattr", "builtins.delattr", "builtins.exec", "builtins.eval"})


@dataclass(frozen=True, slots=True)
class Helpers:
    """The methods of a class by name, to which a comparison may leave its work, and what was thought of them."""

    methods: Mapping[str, Method]
    known: dict[tuple[str, bool], Opinion] = field(default_factory=dict)


def opinion_of(method: Method, own: set[str], names: Names, helpers: Helpers, depth: int = 0) -> Opinion:
    """What is to be thought of a comparison.

    Args:
        method: one of those by which a test finds a result right or wrong.
        own: the classes of the module.
        names: the names of the module.
        helpers: the methods of the same class.
        depth: how many methods have left their work to this one.
    """
    node = method.node
    if not isinstance(node, Function):
        return _of_assigned(method, names)
    body: list[ast.stmt]
    if isinstance(node, ast.Lambda):
        body = [ast.copy_location(ast.Return(value=node.body), node)]
    else:
        body = [s for s in node.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
        marks = {last(mark) for mark in node.decorator_list}
        if isinstance(node, ast.AsyncFunctionDef) or marks & {"property", "staticmethod", "classmethod"}:
            return Opinion.FALSE
        if marks - _MARKS:
            return Opinion.LOOSE
    if all(isinstance(one, ast.Pass | ast.Raise) for one in body):
        return Opinion.SOUND  # an abstract method, or one that refuses
    parameters = [arg.arg for arg in (*node.args.posonlyargs, *node.args.args)]
    wanted = 1 if method.name in _ABOUT_ONE else 2
    optional = len(node.args.defaults) if not depth else len(parameters)
    if not wanted <= len(parameters) <= wanted + optional or node.args.vararg or node.args.kwarg:
        return Opinion.LOOSE if depth else Opinion.FALSE
    reading = _Reading(method.name, parameters, body, own, names, is_helper=depth > 0)
    judged = reading.opinion()
    for name in reading.used & helpers.methods.keys():
        judged = max(judged, _of_helper(name, method.name, own, names, helpers, None))
    for name in reading.helpers if judged is Opinion.SOUND and depth < _HELPERS else ():
        judged = max(judged, _of_helper(name, method.name, own, names, helpers, depth + 1))
    return judged


def _of_helper(name: str, wanted: str, own: set[str], names: Names, helpers: Helpers, depth: int | None) -> Opinion:
    """What is thought of a method that is only used, or with a depth of one that looks at the other side."""
    helper, key = helpers.methods.get(name), (name, depth is None)
    if helper is None:
        return Opinion.LOOSE
    if key not in helpers.known:
        helpers.known[key] = Opinion.SOUND  # meanwhile, for those that lead in circles
        if depth is None:
            helpers.known[key] = tells_looks_apart(helper, names)
        else:
            there = Method(wanted, helper.node, helper.line)
            helpers.known[key] = opinion_of(there, own, names, helpers, depth)
    return helpers.known[key]


def _of_assigned(method: Method, names: Names) -> Opinion:
    """What is thought of `__eq__ = …` where it is no function of the module."""
    node = method.node
    if isinstance(node, ast.Attribute) and names.resolve(node) == f"builtins.object.{method.name}":
        return Opinion.SOUND
    return Opinion.LOOSE if isinstance(node, ast.Name | ast.Attribute) else Opinion.FALSE


class _Reading:
    """One method while it is read.

    `helpers` are the methods of the same object that it leaves its work to, `used` all that it uses of it.
    """

    def __init__(
        self, name: str, parameters: list[str], body: list[ast.stmt], own: set[str], names: Names, *, is_helper: bool
    ) -> None:
        self._name, self._body, self._names, self._is_helper = name, body, names, is_helper
        self._mine, self._other = parameters[0], parameters[1] if len(parameters) > 1 else ""
        self._nodes = [inner for statement in body for inner in ast.walk(statement)]
        self._local = {n.id for n in self._nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        self._sides = Sides(name, self._mine, self._other, self._nodes, own, names)
        self._found = Opinion.SOUND
        self.helpers = set[str]()
        self.used = {n.attr for n in self._nodes if isinstance(n, ast.Attribute) and root(n.value) == self._mine}

    def opinion(self) -> Opinion:
        """What is thought of it."""
        waits = any(isinstance(node, ast.Yield | ast.YieldFrom | ast.Await) for node in self._nodes)
        if waits or any(changes(node, self._local, self._names) for node in self._nodes):
            return Opinion.FALSE
        if self._name in _ABOUT_ONE:
            return Opinion.SOUND if self._uses(self._mine) else Opinion.LOOSE
        if self._always_returns_false():
            return Opinion.LOOSE
        if self._name == "__contains__":
            return self._of_container()
        if not (self._looks_at_both() or self._is_helper):
            return Opinion.FALSE
        self._block(self._body, sure=False)
        return self._found

    def _of_container(self) -> Opinion:
        if not self._uses(self._other) or not self._uses(self._mine):
            return Opinion.FALSE
        match self._body:
            case [ast.Return(value=ast.Compare(left=ast.Name(), ops=[ast.In()], comparators=[ast.Attribute()]))]:
                return Opinion.SOUND
        return Opinion.LOOSE

    def _is_guarded(self) -> bool:
        """Whether it answers nothing but to objects of the module: then its own type is its side, as `UTC` needs."""
        match self._body:
            case [ast.If(test=test, body=[ast.Return(value=ast.Name(id="NotImplemented"))], orelse=[]), *_]:
                return self._sides.tells(test)[1]
        return False

    def _always_returns_false(self) -> bool:
        answers = [node.value for node in self._nodes if isinstance(node, ast.Return)]
        no = all(isinstance(one, ast.Constant) and one.value is False for one in answers)
        return bool(answers) and no and self._name != "__ne__"

    def _uses(self, name: str) -> bool:
        return any(isinstance(node, ast.Name) and node.id == name for node in self._nodes)

    def _looks_at_both(self) -> bool:
        """Whether the answer can follow from both sides: all else is a constant, whatever it looks like."""
        others = [node for node in self._nodes if self._sides.is_other(node)]
        looks = [self._sides.look_around(node) for node in others]
        if None in looks:
            return self._uses(self._mine) or self._is_guarded()
        answers = [node.value for node in self._nodes if isinstance(node, ast.Return)]
        if all(isinstance(one, ast.Name) and one.id == "NotImplemented" for one in answers):
            return True
        return bool(looks) and all(self._sides.is_own(look) for look in looks if look)

    # --- statements

    def _block(self, body: Iterable[ast.stmt], *, sure: bool) -> None:
        """Read statements; `sure` tells that the other side is known to be of the class's own type by then."""
        for statement in body:
            match statement:
                case ast.If(test=test, body=then, orelse=other):
                    self._expression(test, sure=sure)
                    yes, no = self._sides.tells(test)
                    if not (sure or yes) and self._returns_true(then) and self._is_about_other(test):
                        self._note(Opinion.FALSE)
                    self._block(then, sure=sure or yes)
                    self._block(other, sure=sure or no)
                    sure = sure or (no and _ends(then)) or (yes and _ends(other))
                case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.Match():
                    self._note(Opinion.LOOSE)
                case _:
                    for value in _expressions(statement):
                        self._expression(value, sure=sure)
                    self._block(_statements(statement), sure=sure)

    def _returns_true(self, body: list[ast.stmt]) -> bool:
        wanted = self._name != "__ne__"
        values = [s.value.value for s in body if isinstance(s, ast.Return) and isinstance(s.value, ast.Constant)]
        return any(bool(value) is wanted for value in values)

    def _is_about_other(self, test: ast.expr) -> bool:
        """Whether a test looks at the other side as a value, or at a plain type of it."""
        for node in ast.walk(test):
            if self._sides.is_other(node):
                look = self._sides.look_around(node)
                if self._sides.is_direct(node) if look is None else not self._sides.is_own(look):
                    return True
        return False

    # --- expressions

    def _expression(self, node: ast.expr, *, sure: bool) -> None:
        match node:
            case ast.BoolOp(op=op, values=values):
                for value in values:
                    if isinstance(op, ast.Or) and isinstance(value, ast.Constant) and value.value:
                        self._note(Opinion.FALSE)
                    self._expression(value, sure=sure)
                    yes, no = self._sides.tells(value)
                    sure = sure or (yes if isinstance(op, ast.And) else no)
            case ast.IfExp(test=test, body=then, orelse=other):
                self._expression(test, sure=sure)
                yes, no = self._sides.tells(test)
                self._expression(then, sure=sure or yes)
                self._expression(other, sure=sure or no)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                self._expression(operand, sure=sure)
            case _:
                self._value(node, sure=sure)

    def _value(self, node: ast.expr, *, sure: bool) -> None:
        for inner in ast.walk(node):
            if not sure and isinstance(inner, ast.Call):
                self._passes_on(inner)
            if not sure and self._sides.is_other(inner) and self._sides.is_direct(inner):
                self._note(Opinion.FALSE if self._sides.is_rough(inner) else Opinion.LOOSE)
            roughly = isinstance(inner, ast.Call) and last(inner.func) in {"abs", "round", "isclose"}
            if roughly and self._name in {"__eq__", "__ne__"}:
                self._note(Opinion.LOOSE)

    def _passes_on(self, call: ast.Call) -> None:
        """Remember a method of the same object that gets the other side to look at."""
        match call.func:
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if name == self._mine and attr not in ORDERS:
                if any(map(self._sides.is_other, call.args)):
                    self.helpers.add(attr)

    def _note(self, judged: Opinion) -> None:
        self._found = max(self._found, judged)


def _ends(body: list[ast.stmt]) -> bool:
    return bool(body) and isinstance(body[-1], ast.Return | ast.Raise)


def _expressions(statement: ast.stmt) -> Iterator[ast.expr]:
    for child in ast.iter_child_nodes(statement):
        if isinstance(child, ast.expr):
            yield child
        elif isinstance(child, ast.withitem):
            yield child.context_expr


def _statements(statement: ast.stmt) -> Iterator[ast.stmt]:
    for child in ast.iter_child_nodes(statement):
        if isinstance(child, ast.stmt):
            yield child
        elif isinstance(child, ast.ExceptHandler):
            yield from child.body


class Sides:
    """The two sides of one method.

    Args:
        method: the method's name.
        mine: the name of its first parameter.
        other: the name of its second one.
        nodes: all of its nodes.
        own: the classes of the module.
        names: the names of the module.
    """

    def __init__(self, method: str, mine: str, other: str, nodes: list[ast.AST], own: set[str], names: Names) -> None:
        self._method, self._mine, self._other, self._own, self._names = method, mine, other, own, names
        self._around = {id(child): node for node in nodes for child in ast.iter_child_nodes(node)}

    def is_other(self, node: ast.AST) -> bool:
        """Whether this is the other side's name."""
        return isinstance(node, ast.Name) and node.id == self._other

    def is_direct(self, node: ast.AST) -> bool:
        """Whether the other side is looked at as a value, not by a field of its own, its type or its identity."""
        if self.look_around(node) is not None:
            return False
        match self._around.get(id(node)):
            case ast.Attribute(attr=attr):
                return attr in _OF_PLAIN
            case ast.Compare(left=ast.Name(id=first), comparators=[ast.Name(id=second)]):
                return {first, second} != {self._mine, self._other}
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr)):
                of_class = attr in ORDERS and (name in self._own or name == "object")
                return name != self._mine and not of_class
            case ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Name(id="super")))):
                return False
            case ast.Call(func=ast.Name(id="vars")):
                return False
            case ast.Call(func=ast.Name(id="getattr"), args=[_, name, *_]):
                text = self._names.text(name)
                return UNKNOWN in text or text in _OF_PLAIN
        return True

    def is_rough(self, node: ast.AST) -> bool:
        """Whether a value is only looked at roughly: a distance, a size, a remainder, an order."""
        while (outer := self._around.get(id(node))) is not None and not isinstance(outer, ast.stmt):
            match outer:
                case ast.Call(func=func) if last(func) in _ROUGH:
                    return True
                case ast.BinOp(op=ast.Mod() | ast.FloorDiv() | ast.BitAnd() | ast.BitOr()):
                    return True
                case ast.Compare(ops=ops) if self._method in {"__eq__", "__ne__"}:
                    if not all(isinstance(op, ast.Eq | ast.NotEq | ast.Is | ast.IsNot) for op in ops):
                        return True
            node = outer
        return False

    def is_own(self, look: ast.AST) -> bool:
        """Whether a look at the other side asks for a class of the module, or for the very same object."""
        match look:
            case ast.Call(func=func, args=[_, kinds]) if last(func) == "isinstance":
                if not self.is_other(look.args[0]):
                    return False
                asked = kinds.elts if isinstance(kinds, ast.Tuple) else [kinds]
                return all(_type_of(one) == self._mine or self._is_class(one) for one in asked)
            case ast.Compare(left=ast.Name(id=first), ops=[ast.Is() | ast.IsNot()], comparators=[ast.Name(id=second)]):
                return {first, second} == {self._mine, self._other}
            case ast.Compare(left=left, comparators=[right]):
                types = {_type_of(left), _type_of(right)}
                return types == {self._mine, self._other} or (self._other in types and self._is_class(right))
        return False

    def _is_class(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Name) and (node.id in self._own or node.id == "__class__")

    def tells(self, test: ast.expr) -> tuple[bool, bool]:
        """Whether a test that holds, and one that does not, tells that the other side is of the class's own type."""
        match test:
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                yes, no = self.tells(operand)
                return no, yes
            case ast.BoolOp(op=ast.And(), values=values):
                return any(self.tells(value)[0] for value in values), False
            case ast.BoolOp(op=ast.Or(), values=values):
                return False, any(self.tells(value)[1] for value in values)
            case ast.Call(func=func) if last(func) == "isinstance":
                return self.is_own(test), False
            case ast.Compare(ops=[op]) if self.is_own(test):
                return isinstance(op, ast.Is | ast.Eq), isinstance(op, ast.IsNot | ast.NotEq)
        return False, False

    def look_around(self, node: ast.AST) -> ast.AST | None:
        """The look at type or identity that the other side stands in, None where it is looked at as a value."""
        outer = self._around.get(id(node))
        match outer:
            case ast.Call(func=func) if last(func) in {"type", "id"}:
                return self._around.get(id(outer))
            case ast.Call(func=func) if last(func) in _LOOKS:
                return outer
            case ast.Attribute(attr="__class__"):
                return self._around.get(id(outer))
            case ast.Compare(ops=[ast.Is() | ast.IsNot()]):
                return outer
        return None


def last(node: ast.AST) -> str:
    """The last name of `a`, `a.b` or `a.b(…)`."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Call(func=func):
            return last(func)
    return ""


def root(node: ast.AST) -> str:
    """The first name of `a.b[c](d)`."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _type_of(node: ast.AST) -> str:
    """The name whose type is asked for by `type(a)` or `a.__class__`."""
    match node:
        case ast.Call(func=ast.Name(id="type"), args=[ast.Name(id=name)]):
            return name
        case ast.Attribute(value=ast.Name(id=name), attr="__class__"):
            return name
    return ""


class Opinion(IntEnum):
    """What is thought of a method; the larger the worse."""

    SOUND = 0
    LOOSE = 1
    FALSE = 2


@dataclass(frozen=True, slots=True)
class Method:
    """A method of a class by name; `node` is its function, or what is assigned to the name."""

    name: str
    node: ast.AST
    line: int


def tells_looks_apart(method: Method, names: Names) -> Opinion:
    """What is thought of a method or property whose answer may depend on how often it was asked: FALSE if it counts."""
    nodes = list(ast.walk(method.node)) if isinstance(method.node, Function) else []
    local = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    counted = (node for node in nodes if isinstance(node, ast.AugAssign) and not isinstance(node.target, ast.Name))
    if any(root(node.target) not in local for node in counted):
        return Opinion.FALSE
    return Opinion.LOOSE if any(changes(node, local, names) for node in nodes) else Opinion.SOUND


def changes(node: ast.AST, local: set[str], names: Names) -> bool:
    """Whether something outlives the call by this, or its answer may be another one each time.

    Args:
        node: a part of a function.
        local: the names that the function binds.
        names: the names of the module.
    """
    match node:
        case ast.Global() | ast.Nonlocal() | ast.Delete():
            return True
        case ast.Attribute(ctx=ast.Store()) | ast.Subscript(ctx=ast.Store()):
            return root(node) not in local
        case ast.Call(func=ast.Attribute(attr=attr) as func) if attr in _MUTATORS:
            return root(func) not in local
        case ast.Call(func=ast.Name(id="next"), args=[ast.Name() | ast.Attribute(), *_]):
            return True
        case ast.Call(func=func):
            target = names.resolve(func) or ""
            return target in _CHANGES or target.startswith(_UNSTEADY)
    return False


def uses_both(method: Method) -> bool:
    """Whether a method of two sides uses each of its parameters, or does not answer at all."""
    node = method.node
    if not isinstance(node, ast.FunctionDef | ast.Lambda):
        return True
    used = {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
    answers = isinstance(node, ast.Lambda) or any(isinstance(inner, ast.Return) for inner in ast.walk(node))
    return not answers or {arg.arg for arg in node.args.args} <= used or "NotImplemented" in used
