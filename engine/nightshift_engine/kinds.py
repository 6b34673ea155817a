"""The names of a scope: where each is visible, and the kinds of its values.

A kind is a set of type names as `type(x).__name__` gives them (`int`, `NoneType`, `Node`); the empty set is unknown.
Functions and classes are `callable`, generators and other iterators `iterator`. Kinds guide the order of a search and
prove nothing: they come from values seen at run time, from literals and operators, and from the results of well-known
builtins and methods.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from nightshift_engine.tree import Function

Kind = frozenset[str]

UNKNOWN: Kind = frozenset()
BOOL, INT, FLOAT, STR, NONE = (frozenset({name}) for name in ("bool", "int", "float", "str", "NoneType"))
LIST, TUPLE, SET, DICT, BYTES = (frozenset({name}) for name in ("list", "tuple", "set", "dict", "bytes"))
CALLABLE, ITERATOR, RANGE = (frozenset({name}) for name in ("callable", "iterator", "range"))

NUMBER: Kind = INT | FLOAT | BOOL
SEQUENCE: Kind = LIST | TUPLE | STR | BYTES | RANGE | {"deque"}
SIZED: Kind = SEQUENCE | SET | DICT | {"frozenset", "defaultdict", "Counter", "OrderedDict"}
ITERABLE: Kind = SIZED | ITERATOR
MAPPING: Kind = DICT | {"defaultdict", "Counter", "OrderedDict"}

_SEEN_AS = {
    "function": "callable",
    "method": "callable",
    "builtin_function_or_method": "callable",
    "type": "callable",
    "generator": "iterator",
    "list_iterator": "iterator",
    "map": "iterator",
    "filter": "iterator",
    "zip": "iterator",
    "enumerate": "iterator",
    "reversed": "iterator",
}
_CALLS: dict[str, Kind] = {
    **dict.fromkeys(("len", "int", "ord", "hash", "id", "floor", "ceil", "gcd"), INT),
    **dict.fromkeys(("bool", "isinstance", "issubclass", "hasattr", "callable", "any", "all"), BOOL),
    **dict.fromkeys(("str", "repr", "chr", "hex", "bin", "oct", "format", "input"), STR),
    **dict.fromkeys(("float", "sqrt", "log", "exp", "sin", "cos"), FLOAT),
    **dict.fromkeys(("list", "sorted"), LIST),
    **dict.fromkeys(("map", "filter", "zip", "enumerate", "iter", "reversed"), ITERATOR),
    **{name: frozenset({name}) for name in ("tuple", "set", "dict", "frozenset", "bytes", "range")},
    **{name: frozenset({name}) for name in ("deque", "defaultdict", "Counter", "OrderedDict")},
}
_METHODS: dict[str, Kind] = {
    **dict.fromkeys(("lower", "upper", "strip", "lstrip", "rstrip", "title", "capitalize", "swapcase", "join"), STR),
    **dict.fromkeys(("replace", "format", "zfill", "ljust", "rjust", "center", "casefold", "expandtabs"), STR),
    **dict.fromkeys(("split", "rsplit", "splitlines", "readlines", "most_common"), LIST),
    **dict.fromkeys(("partition", "rpartition"), TUPLE),
    **dict.fromkeys(("find", "rfind", "index", "rindex", "count", "bit_length"), INT),
    **dict.fromkeys(("startswith", "endswith", "isdigit", "isalpha", "isalnum", "isspace", "isupper"), BOOL),
    **dict.fromkeys(("islower", "isnumeric", "isidentifier", "issubset", "issuperset", "isdisjoint"), BOOL),
    **dict.fromkeys(("append", "extend", "insert", "remove", "clear", "sort", "reverse", "add", "discard"), NONE),
    **dict.fromkeys(("appendleft", "update"), NONE),
    **dict.fromkeys(("keys", "values", "items"), ITERATOR),
    **dict.fromkeys(("union", "intersection", "difference", "symmetric_difference"), SET),
}
_LIKE_ARGUMENT = {"abs": 1, "max": 2, "min": 2, "round": 2}
"""Maps a builtin to a number of arguments: with at least so many, the kind of its result is that of its first argument.
"""
_DISPLAYS: dict[type[ast.AST], Kind] = {
    ast.List: LIST,
    ast.ListComp: LIST,
    ast.Tuple: TUPLE,
    ast.Set: SET,
    ast.SetComp: SET,
    ast.Dict: DICT,
    ast.DictComp: DICT,
    ast.GeneratorExp: ITERATOR,
    ast.JoinedStr: STR,
    ast.Lambda: CALLABLE,
    ast.Compare: BOOL,
}


def read_kind(names: frozenset[str]) -> Kind:
    """Return the kind for the names of types that were seen at run time."""
    return frozenset(_SEEN_AS.get(name, name) for name in names)


@lru_cache(maxsize=4096)
def fits(have: Kind, want: Kind) -> float:
    """Rate how well a value of one kind may replace another, from 0 (not at all) to 1 (a common type was seen).

    An unknown kind fits everything at 0.5. An int and a float may replace each other at 0.7.
    """
    if not have or not want:
        return 0.5
    if have & want:
        return 1.0
    if have >= NONE or want >= NONE:
        # NoneType is one of the kinds. Either the variable gets its value later, or the value may be missing.
        return fits(have - NONE, want - NONE) * 0.6
    if have & NUMBER and want & NUMBER:
        return 0.3 if "bool" in have | want else 0.7
    if have & ITERABLE and want & ITERABLE and not (have | want) & STR:
        return 0.3
    return 0.0


def is_number(kind: Kind) -> bool:
    """Check whether a kind is known to be a number and not a bool; NoneType in it is ignored."""
    return bool(kind - NONE) and kind - NONE <= INT | FLOAT


class Kinds:
    """The kinds of expressions, given the kinds of variables and functions."""

    def __init__(self, variables: Mapping[str, Kind], callables: Mapping[str, Kind] | None = None) -> None:
        """Keep the given kinds; `callables` maps functions and classes of the file to the kind of their result."""
        self._variables = variables
        self._callables = callables or {}

    def of(self, node: ast.AST) -> Kind:
        """Return the kind of an expression; empty if unknown."""
        if isinstance(node, ast.Constant):
            return frozenset({type(node.value).__name__})
        if isinstance(node, ast.Name):
            return self.of_name(node.id)
        display = _DISPLAYS.get(type(node))
        if display is not None:
            return display
        rule = _RULES.get(type(node))
        return rule(self, node) if rule else UNKNOWN

    def of_name(self, name: str) -> Kind:
        """Return the kind of a variable or of a function by its name."""
        kind = self._variables.get(name)
        if kind is not None:
            return kind
        return CALLABLE if name in self._callables or name in _CALLS else UNKNOWN

    def of_call(self, name: str) -> Kind:
        """Return the kind of the result of the function or class with this name."""
        return self._callables.get(name, _CALLS.get(name, UNKNOWN))


def _binary(kinds: Kinds, node: ast.BinOp) -> Kind:
    left, right = kinds.of(node.left), kinds.of(node.right)
    if isinstance(node.op, ast.Mod) and left == STR:
        return STR
    if isinstance(node.op, ast.Mult) and (left | right) & SEQUENCE:
        return (left | right) & SEQUENCE
    numbers = is_number(left) or is_number(right)
    if isinstance(node.op, ast.Div):
        return FLOAT if numbers else UNKNOWN
    if numbers:
        return FLOAT if left | right >= FLOAT else INT
    return left or right


def _unary(kinds: Kinds, node: ast.UnaryOp) -> Kind:
    return BOOL if isinstance(node.op, ast.Not) else kinds.of(node.operand)


def _boolean(kinds: Kinds, node: ast.BoolOp) -> Kind:
    each = [kinds.of(value) for value in node.values]
    return frozenset().union(*each) if all(each) else UNKNOWN


def _choice(kinds: Kinds, node: ast.IfExp) -> Kind:
    kind, other = kinds.of(node.body), kinds.of(node.orelse)
    return kind | other if kind and other else UNKNOWN


def _call(kinds: Kinds, node: ast.Call) -> Kind:
    if isinstance(node.func, ast.Name):
        if node.func.id in _LIKE_ARGUMENT and len(node.args) >= _LIKE_ARGUMENT[node.func.id]:
            return kinds.of(node.args[0])
        return kinds.of_call(node.func.id)
    if isinstance(node.func, ast.Attribute):
        if node.func.attr == "copy":
            return kinds.of(node.func.value)
        kind = kinds.of_call(f".{node.func.attr}")
        return kind or _METHODS.get(node.func.attr, _CALLS.get(node.func.attr, UNKNOWN))
    return UNKNOWN


def _subscript(kinds: Kinds, node: ast.Subscript) -> Kind:
    holder = kinds.of(node.value)
    if isinstance(node.slice, ast.Slice):
        return holder
    if holder == STR:
        return STR
    if isinstance(node.value, ast.Name):
        return kinds.of_name(f"{node.value.id}[]") if holder != CALLABLE else UNKNOWN
    return UNKNOWN


def _attribute(kinds: Kinds, node: ast.Attribute) -> Kind:
    return kinds.of_name(f"{node.value.id}.{node.attr}") if isinstance(node.value, ast.Name) else UNKNOWN


def _name_kind(kinds: Kinds, node: ast.NamedExpr) -> Kind:
    return kinds.of(node.value)


_RULES: dict[type[ast.AST], Callable[[Kinds, Any], Kind]] = {
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.BoolOp: _boolean,
    ast.IfExp: _choice,
    ast.Call: _call,
    ast.Subscript: _subscript,
    ast.Attribute: _attribute,
    ast.NamedExpr: _name_kind,
}


BUILTINS = (
    *("abs", "all", "any", "bool", "dict", "enumerate", "float", "int", "iter", "len", "list", "max", "min", "next"),
    *("range", "reversed", "round", "set", "sorted", "str", "sum", "tuple", "zip"),
)
"""Builtins that a fix may introduce; other builtins are used only if the file uses them."""

_INNER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outside:
    """The names of the module itself, in the order of the text.

    `functions` are the functions that can be called by name; methods are not included.
    """

    functions: Mapping[str, Function] = field(default_factory=dict)
    classes: Mapping[str, ast.ClassDef] = field(default_factory=dict)
    imports: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Visible:
    """The names that are visible at one place.

    Attributes:
        near: names that have a value there: parameters, variables of comprehensions, locals that were set before or in
            the same loop; the innermost last.
        later: locals of the function that are set only after the place.
        owner: the name of a method's first parameter (`self`); empty elsewhere.
        attributes: data attributes of that object that its class mentions.
        methods: methods of that object by name.
    """

    near: tuple[str, ...] = ()
    later: tuple[str, ...] = ()
    owner: str = ""
    attributes: tuple[str, ...] = ()
    methods: Mapping[str, Function] = field(default_factory=dict)

    def within(self, names: Iterable[str]) -> Visible:
        """Return a copy with further names that have a value, such as the variables of a comprehension."""
        new = tuple(names)
        return replace(self, near=(*(name for name in self.near if name not in new), *dict.fromkeys(new)))


def outside(tree: ast.Module) -> Outside:
    """Return the names that the module binds at its top level, in any branch."""
    functions: dict[str, Function] = {}
    classes: dict[str, ast.ClassDef] = {}
    imports: dict[str, None] = {}
    variables: dict[str, None] = {}
    for statement in _flat(tree.body):
        if isinstance(statement, Function):
            functions[statement.name] = statement
        elif isinstance(statement, ast.ClassDef):
            classes[statement.name] = statement
        elif isinstance(statement, ast.Import | ast.ImportFrom):
            imports.update(dict.fromkeys(list_bound(statement)))
        else:
            variables.update(dict.fromkeys(list_bound(statement)))
    return Outside(functions=functions, classes=classes, imports=tuple(imports), variables=tuple(variables))


def list_bound(node: ast.AST) -> Iterator[str]:
    """Yield the names that a statement or a target itself binds; statements and scopes inside it are left out."""
    if isinstance(node, Function | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Name):
        if isinstance(node.ctx, ast.Store):
            yield node.id
    elif isinstance(node, ast.alias):
        yield from () if node.name == "*" else ((node.asname or node.name).split(".")[0],)
    elif not isinstance(node, (*_COMPREHENSIONS, ast.Lambda)):
        yield from _list_captured(node)
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ExceptHandler | ast.match_case):
                yield from _of_clause(child)
            elif not isinstance(child, ast.stmt):
                yield from list_bound(child)


def _list_captured(node: ast.AST) -> Iterator[str]:
    """Yield the name that a pattern itself binds."""
    name = node.rest if isinstance(node, ast.MatchMapping) else None
    if isinstance(node, ast.MatchAs | ast.MatchStar):
        name = node.name
    if name:
        yield name


def _of_clause(clause: ast.ExceptHandler | ast.match_case) -> Iterator[str]:
    if isinstance(clause, ast.match_case):
        yield from list_bound(clause.pattern)
    elif clause.name:
        yield clause.name


def parameters(args: ast.arguments) -> tuple[str, ...]:
    """Return the names of all parameters, in order."""
    every = [*args.posonlyargs, *args.args, args.vararg, *args.kwonlyargs, args.kwarg]
    return tuple(arg.arg for arg in every if arg)


class Locals:
    """The locals of one function body (or of a module or a class body), and the statement that first sets each."""

    def __init__(self, body: Iterable[ast.stmt], given: Iterable[str] = ()) -> None:
        self._given = tuple(given)
        self._number: dict[int, int] = {}
        self._until: dict[int, int] = {}
        self._first: dict[str, int] = {}
        self._count(body, 0)

    def at(self, statement: ast.stmt) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the names that may have a value when the statement begins, and those that are set only later."""
        number = self._number[id(statement)]
        last = max(number - 1, self._until[id(statement)])
        near = [name for name, first in self._first.items() if first <= last]
        later = tuple(name for name, first in self._first.items() if first > last and name not in self._given)
        return (*(name for name in self._given if name not in near), *near), later

    def _count(self, body: Iterable[ast.stmt], until: int) -> None:
        for statement in body:
            number = self._number[id(statement)] = len(self._number) + 1
            for name in list_bound(statement):
                self._first.setdefault(name, number)
            inside = until
            if isinstance(statement, _LOOPS):
                inside = max(until, number + sum(1 for _ in _flat(_blocks(statement))))
            self._until[id(statement)] = inside if isinstance(statement, ast.While) else until
            self._count(_blocks(statement), inside)


def attributes(owner: ast.ClassDef) -> tuple[str, ...]:
    """Return the data attributes that a class's methods use through their first parameter; methods are left out."""
    methods = {item.name for item in owner.body if isinstance(item, Function)}
    names: dict[str, None] = {}
    for item in owner.body:
        if not isinstance(item, Function) or not item.args.args:
            continue
        me = item.args.args[0].arg
        for node in ast.walk(item):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == me:
                names.setdefault(node.attr)
    return tuple(name for name in names if name not in methods)


def methods(owner: ast.ClassDef) -> dict[str, Function]:
    """Return the functions of a class's body by name."""
    return {item.name: item for item in owner.body if isinstance(item, Function)}


def _flat(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield all statements of a body and of the blocks in it, but not the statements of functions and classes."""
    for statement in body:
        yield statement
        yield from _flat(_blocks(statement))


def _blocks(statement: ast.stmt) -> Iterator[ast.stmt]:
    if isinstance(statement, _INNER):
        return
    for name in ("body", "handlers", "cases", "orelse", "finalbody"):
        for item in getattr(statement, name, ()):
            if isinstance(item, ast.ExceptHandler | ast.match_case):
                yield from item.body
            else:
                yield item


_ANNOTATED = {"int", "float", "str", "bool", "list", "dict", "set", "tuple", "bytes", "deque"}


def infer(nodes: list[ast.AST], outer: Outside, at_run_time: Mapping[str, frozenset[str]]) -> Kinds:
    """Infer the kinds in a scope that consists of these nodes.

    The entry `x[]` is the kind of the items of `x` (by iteration or index). The entry `self.x` is the kind of an
    attribute.
    """
    callables = _callables(outer)
    variables: dict[str, Kind] = {name: read_kind(kinds) for name, kinds in at_run_time.items()}
    for name in (*outer.functions, *outer.classes):
        variables.setdefault(name, CALLABLE)
    kinds = Kinds(variables, callables)
    for name, kind in _of_objects(outer, Kinds({}, callables)).items():
        variables.setdefault(name, kind)
    # Two passes, because a loop may use a name before the line that shows its kind.
    for _ in range(2):
        for node in nodes:
            for name, kind in _list_shown(node, kinds):
                if kind:
                    variables.setdefault(name, kind)
    return kinds


def read_annotation(annotation: ast.expr | None) -> Kind:
    """Return the kind that an annotation names; unknown if the annotation is not a plain one."""
    if isinstance(annotation, ast.Subscript):
        return read_annotation(annotation.value)
    if isinstance(annotation, ast.BinOp):
        kind, other = read_annotation(annotation.left), read_annotation(annotation.right)
        return kind | other if kind and other else UNKNOWN
    if isinstance(annotation, ast.Constant) and annotation.value is None:
        return frozenset({"NoneType"})
    name = annotation.id.lower() if isinstance(annotation, ast.Name) else ""
    return frozenset({name}) if name in _ANNOTATED else UNKNOWN


def _callables(outer: Outside) -> dict[str, Kind]:
    kinds: dict[str, Kind] = {name: frozenset({name}) for name in outer.classes}
    for name, function in outer.functions.items():
        kinds[name] = _infer_result(function)
    for owner in outer.classes.values():
        for item in owner.body:
            if isinstance(item, Function):
                kinds[f".{item.name}"] = _infer_result(item)
    return kinds


def _of_objects(outer: Outside, kinds: Kinds) -> dict[str, Kind]:
    """Return the kinds of `self.x` as the file's classes set them; attributes of several kinds are left out."""
    kinds_by_name: dict[str, set[Kind]] = {}
    for owner in outer.classes.values():
        for node in ast.walk(owner):
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    own = isinstance(target, ast.Name) and node in owner.body
                    of_self = isinstance(target, ast.Attribute) and _name(target).startswith("self.")
                    if own or of_self:
                        name = _name(target) if of_self else f"self.{_name(target)}"
                        kinds_by_name.setdefault(name, set()).add(kinds.of(node.value) - NONE)
    known_kinds = {name: [kind for kind in each if kind] for name, each in kinds_by_name.items()}
    return {name: each[0] for name, each in known_kinds.items() if len(each) == 1}


def _infer_result(function: Function) -> Kind:
    kind = read_annotation(function.returns)
    if kind:
        return kind
    own = list(_own(function.body))
    if any(isinstance(node, ast.Yield | ast.YieldFrom) for node in own):
        return ITERATOR
    values = [Kinds({}).of(node.value) for node in own if isinstance(node, ast.Return) and node.value]
    result_kinds = [value for value in values if value]
    return frozenset().union(*result_kinds) if result_kinds else UNKNOWN


def _own(body: list[ast.stmt]) -> Iterator[ast.AST]:
    pending: list[ast.AST] = list(body)
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, Function | ast.Lambda | ast.ClassDef):
            pending.extend(ast.iter_child_nodes(node))


def _list_shown(node: ast.AST, kinds: Kinds) -> Iterator[tuple[str, Kind]]:
    """Yield names with the kinds that one node shows."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield from _infer_assigned(target, node.value, kinds)
    elif isinstance(node, ast.AnnAssign):
        yield _name(node.target), read_annotation(node.annotation)
    elif isinstance(node, ast.arg):
        yield node.arg, read_annotation(node.annotation)
    elif isinstance(node, ast.arguments):
        yield from _defaults(node, kinds)
    elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
        yield from _infer_iterated(node.target, node.iter, kinds)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and len(node.args) == 1:
        yield from _put_in(node.func, node.args[0], kinds)


def _put_in(method: ast.Attribute, item: ast.expr, kinds: Kinds) -> Iterator[tuple[str, Kind]]:
    if method.attr in ("append", "add", "appendleft"):
        yield f"{_name(method.value)}[]", kinds.of(item)


def _infer_assigned(target: ast.expr, value: ast.expr, kinds: Kinds) -> Iterator[tuple[str, Kind]]:
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        for part, item in zip(target.elts, value.elts, strict=True):
            yield from _infer_assigned(part, item, kinds)
    elif isinstance(target, ast.Subscript):
        yield f"{_name(target.value)}[]", kinds.of(value)
    elif isinstance(target, ast.Name | ast.Attribute):
        yield _name(target), kinds.of(value)
        if isinstance(value, ast.List | ast.Tuple | ast.Set) and value.elts:
            yield f"{_name(target)}[]", kinds.of(value.elts[0])
        elif isinstance(value, ast.ListComp | ast.SetComp):
            yield f"{_name(target)}[]", kinds.of(value.elt)


def _defaults(node: ast.arguments, kinds: Kinds) -> Iterator[tuple[str, Kind]]:
    positional = [*node.posonlyargs, *node.args]
    for arg, default in zip(positional[len(positional) - len(node.defaults) :], node.defaults, strict=True):
        kind = kinds.of(default)
        # A default of None shows that the value may be missing; it does not show the kind that the value usually has.
        yield arg.arg, kind if kind != frozenset({"NoneType"}) else UNKNOWN


def _infer_iterated(target: ast.expr, over: ast.expr, kinds: Kinds) -> Iterator[tuple[str, Kind]]:
    called = over.func.id if isinstance(over, ast.Call) and isinstance(over.func, ast.Name) else ""
    if called == "range":
        yield _name(target), INT
    elif called == "enumerate" and isinstance(target, ast.Tuple):
        yield _name(target.elts[0]), INT
    elif isinstance(over, ast.Name | ast.Attribute):
        element = kinds.of_name(f"{_name(over)}[]") or (STR if kinds.of(over) == STR else UNKNOWN)
        yield _name(target), element
        yield f"{_name(over)}[]", kinds.of(target)


def _name(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{node.value.id}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""
