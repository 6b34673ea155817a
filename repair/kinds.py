"""The kind of an expression: the names of the types it may have, as far as can be told without running it.

A kind is a set of type names as `type(x).__name__` gives them (`int`, `NoneType`, `Node`); the empty set is unknown.
Functions and classes are `callable`, generators and other iterators `iterator`. Kinds steer the order of a search and
are no proof: they come from values that were seen at run time, from literals and operators, and from what well-known
builtins and methods return.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

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
"""Builtins that return what their first argument is, where they have so many."""
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


def seen(names: frozenset[str]) -> Kind:
    """A kind from names of types that were seen at run time."""
    return frozenset(_SEEN_AS.get(name, name) for name in names)


@lru_cache(maxsize=4096)
def fits(have: Kind, want: Kind) -> float:
    """How well something of one kind may stand for another, from 0 (not at all) to 1 (the same type was seen).

    What is unknown fits everything less well. An int stands for a float and, rarely, the other way round.
    """
    if not have or not want:
        return 0.5
    if have & want:
        return 1.0
    if have >= NONE or want >= NONE:
        # None alone was seen: a variable that is yet to get its value, or a missing one.
        return fits(have - NONE, want - NONE) * 0.6
    if have & NUMBER and want & NUMBER:
        return 0.3 if "bool" in have | want else 0.7
    if have & ITERABLE and want & ITERABLE and not (have | want) & STR:
        return 0.3
    return 0.0


def is_number(kind: Kind) -> bool:
    """Whether it is known to be a number and not a bool, apart from being missing."""
    return bool(kind - NONE) and kind - NONE <= INT | FLOAT


class Kinds:
    """Tells the kinds of expressions where variables and functions have the kinds that are given."""

    def __init__(self, variables: Mapping[str, Kind], callables: Mapping[str, Kind] | None = None) -> None:
        """`callables` are the functions and classes of the file, each with the kind of what it returns."""
        self._variables = variables
        self._callables = callables or {}

    def of(self, node: ast.AST) -> Kind:
        """The kind of an expression; empty when nothing is known."""
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
        """The kind of a variable or of a function by its name."""
        known = self._variables.get(name)
        if known is not None:
            return known
        return CALLABLE if name in self._callables or name in _CALLS else UNKNOWN

    def of_call(self, name: str) -> Kind:
        """The kind of what a function or class returns that is called by this name."""
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
    one, other = kinds.of(node.body), kinds.of(node.orelse)
    return one | other if one and other else UNKNOWN


def _call(kinds: Kinds, node: ast.Call) -> Kind:
    if isinstance(node.func, ast.Name):
        if node.func.id in _LIKE_ARGUMENT and len(node.args) >= _LIKE_ARGUMENT[node.func.id]:
            return kinds.of(node.args[0])
        return kinds.of_call(node.func.id)
    if isinstance(node.func, ast.Attribute):
        if node.func.attr == "copy":
            return kinds.of(node.func.value)
        known = kinds.of_call(f".{node.func.attr}")
        return known or _METHODS.get(node.func.attr, _CALLS.get(node.func.attr, UNKNOWN))
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


def _named(kinds: Kinds, node: ast.NamedExpr) -> Kind:
    return kinds.of(node.value)


_RULES: dict[type[ast.AST], Callable[[Kinds, Any], Kind]] = {
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.BoolOp: _boolean,
    ast.IfExp: _choice,
    ast.Call: _call,
    ast.Subscript: _subscript,
    ast.Attribute: _attribute,
    ast.NamedExpr: _named,
}
