"""The kinds of a scope's variables: as seen at run time, else as assignments, defaults, loops and annotations tell."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from repair.kinds import CALLABLE, INT, ITERATOR, NONE, STR, UNKNOWN, Kind, Kinds, seen
from repair.scoping import Outside
from repair.tree import Function

_ANNOTATED = {"int", "float", "str", "bool", "list", "dict", "set", "tuple", "bytes", "deque"}


def inferred(nodes: list[ast.AST], outer: Outside, at_run_time: Mapping[str, frozenset[str]]) -> Kinds:
    """The kinds in a scope that consists of these nodes.

    The entry `x[]` is the kind of what an iteration of `x` or an index into it gives, `self.x` that of an attribute.
    """
    callables = _callables(outer)
    variables: dict[str, Kind] = {name: seen(kinds) for name, kinds in at_run_time.items()}
    for name in (*outer.functions, *outer.classes):
        variables.setdefault(name, CALLABLE)
    kinds = Kinds(variables, callables)
    for name, kind in _of_objects(outer, Kinds({}, callables)).items():
        variables.setdefault(name, kind)
    # Twice, since a loop may use a name before the line that tells its kind.
    for _ in range(2):
        for node in nodes:
            for name, kind in _told(node, kinds):
                if kind:
                    variables.setdefault(name, kind)
    return kinds


def annotated(annotation: ast.expr | None) -> Kind:
    """The kind that an annotation names; unknown when it is not a plain one."""
    if isinstance(annotation, ast.Subscript):
        return annotated(annotation.value)
    if isinstance(annotation, ast.BinOp):
        one, other = annotated(annotation.left), annotated(annotation.right)
        return one | other if one and other else UNKNOWN
    if isinstance(annotation, ast.Constant) and annotation.value is None:
        return frozenset({"NoneType"})
    name = annotation.id.lower() if isinstance(annotation, ast.Name) else ""
    return frozenset({name}) if name in _ANNOTATED else UNKNOWN


def _callables(outer: Outside) -> dict[str, Kind]:
    told: dict[str, Kind] = {name: frozenset({name}) for name in outer.classes}
    for name, function in outer.functions.items():
        told[name] = _returned(function)
    for owner in outer.classes.values():
        for item in owner.body:
            if isinstance(item, Function):
                told[f".{item.name}"] = _returned(item)
    return told


def _of_objects(outer: Outside, kinds: Kinds) -> dict[str, Kind]:
    """The kinds of `self.x` as the classes of the file tell; those that differ between classes are left out."""
    found: dict[str, set[Kind]] = {}
    for owner in outer.classes.values():
        for node in ast.walk(owner):
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    own = isinstance(target, ast.Name) and node in owner.body
                    of_self = isinstance(target, ast.Attribute) and _name(target).startswith("self.")
                    if own or of_self:
                        name = _name(target) if of_self else f"self.{_name(target)}"
                        found.setdefault(name, set()).add(kinds.of(node.value) - NONE)
    told = {name: [kind for kind in each if kind] for name, each in found.items()}
    return {name: each[0] for name, each in told.items() if len(each) == 1}


def _returned(function: Function) -> Kind:
    kind = annotated(function.returns)
    if kind:
        return kind
    own = list(_own(function.body))
    if any(isinstance(node, ast.Yield | ast.YieldFrom) for node in own):
        return ITERATOR
    values = [Kinds({}).of(node.value) for node in own if isinstance(node, ast.Return) and node.value]
    known = [value for value in values if value]
    return frozenset().union(*known) if known else UNKNOWN


def _own(body: list[ast.stmt]) -> Iterator[ast.AST]:
    pending: list[ast.AST] = list(body)
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, Function | ast.Lambda | ast.ClassDef):
            pending.extend(ast.iter_child_nodes(node))


def _told(node: ast.AST, kinds: Kinds) -> Iterator[tuple[str, Kind]]:
    """What one node says on the kinds of names."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield from _assigned(target, node.value, kinds)
    elif isinstance(node, ast.AnnAssign):
        yield _name(node.target), annotated(node.annotation)
    elif isinstance(node, ast.arg):
        yield node.arg, annotated(node.annotation)
    elif isinstance(node, ast.arguments):
        yield from _defaults(node, kinds)
    elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
        yield from _iterated(node.target, node.iter, kinds)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and len(node.args) == 1:
        yield from _put_in(node.func, node.args[0], kinds)


def _put_in(method: ast.Attribute, item: ast.expr, kinds: Kinds) -> Iterator[tuple[str, Kind]]:
    if method.attr in ("append", "add", "appendleft"):
        yield f"{_name(method.value)}[]", kinds.of(item)


def _assigned(target: ast.expr, value: ast.expr, kinds: Kinds) -> Iterator[tuple[str, Kind]]:
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        for part, item in zip(target.elts, value.elts, strict=True):
            yield from _assigned(part, item, kinds)
    elif isinstance(target, ast.Subscript):
        yield f"{_name(target.value)}[]", kinds.of(value)
    elif isinstance(target, ast.Name | ast.Attribute):
        yield _name(target), kinds.of(value)
        if isinstance(value, ast.List | ast.Tuple | ast.Set) and value.elts:
            yield f"{_name(target)}[]", kinds.of(value.elts[0])
        elif isinstance(value, ast.ListComp | ast.SetComp):
            yield f"{_name(target)}[]", kinds.of(value.elt)


def _defaults(node: ast.arguments, kinds: Kinds) -> Iterator[tuple[str, Kind]]:
    plain = [*node.posonlyargs, *node.args]
    for arg, default in zip(plain[len(plain) - len(node.defaults) :], node.defaults, strict=True):
        kind = kinds.of(default)
        # A default of None says what may be missing, not what is usual.
        yield arg.arg, kind if kind != frozenset({"NoneType"}) else UNKNOWN


def _iterated(target: ast.expr, over: ast.expr, kinds: Kinds) -> Iterator[tuple[str, Kind]]:
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
