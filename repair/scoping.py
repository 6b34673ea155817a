"""Which names are visible at a place of a file: what an edit may speak of without a NameError."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from repair.tree import Function

BUILTINS = (
    *("abs", "all", "any", "bool", "dict", "enumerate", "float", "int", "iter", "len", "list", "max", "min", "next"),
    *("range", "reversed", "round", "set", "sorted", "str", "sum", "tuple", "zip"),
)
"""Builtins that a mend may bring in; others are used only where the file uses them."""

_INNER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outside:
    """What the module itself offers, in the order of the text; `functions` are those that can be called by name."""

    functions: Mapping[str, Function] = field(default_factory=dict)
    classes: Mapping[str, ast.ClassDef] = field(default_factory=dict)
    imports: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Visible:
    """The names at one place.

    Attributes:
        near: those that have a value there: parameters, variables of comprehensions, locals that were set before or in
            the same loop; the innermost last.
        later: locals of the function that are set only after the place.
        owner: the name by which a method knows its object, empty elsewhere.
        attributes: data attributes of that object that the class speaks of.
        methods: its methods.
    """

    near: tuple[str, ...] = ()
    later: tuple[str, ...] = ()
    owner: str = ""
    attributes: tuple[str, ...] = ()
    methods: Mapping[str, Function] = field(default_factory=dict)

    def within(self, names: Iterable[str]) -> Visible:
        """The same with further names that have a value, such as the variables of a comprehension."""
        new = tuple(names)
        return replace(self, near=(*(name for name in self.near if name not in new), *dict.fromkeys(new)))


def outside(tree: ast.Module) -> Outside:
    """The names that the module binds at its top, in whatever branch."""
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
            imports.update(dict.fromkeys(bound(statement)))
        else:
            variables.update(dict.fromkeys(bound(statement)))
    return Outside(functions=functions, classes=classes, imports=tuple(imports), variables=tuple(variables))


def bound(node: ast.AST) -> Iterator[str]:
    """The names that a statement, or a target, gives a value itself; not those of statements and scopes inside it."""
    if isinstance(node, Function | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Name):
        if isinstance(node.ctx, ast.Store):
            yield node.id
    elif isinstance(node, ast.alias):
        yield from () if node.name == "*" else ((node.asname or node.name).split(".")[0],)
    elif not isinstance(node, (*_COMPREHENSIONS, ast.Lambda)):
        yield from _captured(node)
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ExceptHandler | ast.match_case):
                yield from _of_clause(child)
            elif not isinstance(child, ast.stmt):
                yield from bound(child)


def _captured(node: ast.AST) -> Iterator[str]:
    """The name that a pattern itself gives a value."""
    name = node.rest if isinstance(node, ast.MatchMapping) else None
    if isinstance(node, ast.MatchAs | ast.MatchStar):
        name = node.name
    if name:
        yield name


def _of_clause(clause: ast.ExceptHandler | ast.match_case) -> Iterator[str]:
    if isinstance(clause, ast.match_case):
        yield from bound(clause.pattern)
    elif clause.name:
        yield clause.name


def parameters(args: ast.arguments) -> tuple[str, ...]:
    """The names of all parameters, in order."""
    every = [*args.posonlyargs, *args.args, args.vararg, *args.kwonlyargs, args.kwarg]
    return tuple(arg.arg for arg in every if arg)


class Locals:
    """The locals of one function body (or of a module or a class body), and where each first gets a value."""

    def __init__(self, body: Iterable[ast.stmt], given: Iterable[str] = ()) -> None:
        self._given = tuple(given)
        self._number: dict[int, int] = {}
        self._until: dict[int, int] = {}
        self._first: dict[str, int] = {}
        self._count(body, 0)

    def at(self, statement: ast.stmt) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The names that may have a value when the statement begins, and those that get theirs only later."""
        number = self._number[id(statement)]
        last = max(number - 1, self._until[id(statement)])
        near = [name for name, first in self._first.items() if first <= last]
        later = tuple(name for name, first in self._first.items() if first > last and name not in self._given)
        return (*(name for name in self._given if name not in near), *near), later

    def _count(self, body: Iterable[ast.stmt], until: int) -> None:
        for statement in body:
            number = self._number[id(statement)] = len(self._number) + 1
            for name in bound(statement):
                self._first.setdefault(name, number)
            inside = until
            if isinstance(statement, _LOOPS):
                inside = max(until, number + sum(1 for _ in _flat(_blocks(statement))))
            self._until[id(statement)] = inside if isinstance(statement, ast.While) else until
            self._count(_blocks(statement), inside)


def attributes(owner: ast.ClassDef) -> tuple[str, ...]:
    """The data attributes that the methods of a class speak of through their first parameter; methods left out."""
    methods = {item.name for item in owner.body if isinstance(item, Function)}
    found: dict[str, None] = {}
    for item in owner.body:
        if not isinstance(item, Function) or not item.args.args:
            continue
        me = item.args.args[0].arg
        for node in ast.walk(item):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == me:
                found.setdefault(node.attr)
    return tuple(name for name in found if name not in methods)


def methods(owner: ast.ClassDef) -> dict[str, Function]:
    """The functions of a class's body by name."""
    return {item.name: item for item in owner.body if isinstance(item, Function)}


def _flat(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """All statements of a body and of the blocks in it, but not those of functions and classes."""
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
