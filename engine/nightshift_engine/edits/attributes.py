"""Edits of attributes and keys: a missing `self.`, attributes never set, shared mutable defaults, missing keys."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator

from nightshift_engine.edit import Edit, EditContext
from nightshift_engine.edits import build
from nightshift_engine.edits.build import Piece, assign, compare, constant, method, name
from nightshift_engine.edits.statement_edits import (
    StatementExpression,
    change,
    choices,
    insert,
    replacement,
    statement_expressions,
    statement_operator,
)
from nightshift_engine.edits.statement_view import Block, Site, StatementView
from nightshift_engine.tree import Function, Place, at, places

_MOST_OWN = 300
_EMPTY = ast.List | ast.Dict | ast.Set | ast.Call
_DEFAULTS = (constant(0), constant(None), constant(""), build.empty("list"), build.empty("dict"))


@statement_operator(_MOST_OWN)
def own_attributes(view: StatementView) -> Iterable[Edit]:
    """Replace `x` by `self.x` if the class has such an attribute or method."""
    owner = next((node for node in _around(view.context) if isinstance(node, ast.ClassDef)), None)
    function = view.node
    if owner is None or not isinstance(function, Function) or not function.args.args:
        return ()
    first, members = function.args.args[0].arg, _members(owner)
    return (
        edit
        for site in view.sites
        for spot in statement_expressions(site)
        for edit in _prefix(view, spot, first, members)
    )


def _around(context: EditContext) -> list[ast.AST]:
    return [at(context.tree, context.scope[:end]) for end in range(len(context.scope) - 1, 0, -1)]


def _members(owner: ast.ClassDef) -> set[str]:
    attributes = {
        node.attr
        for node in ast.walk(owner)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
    }
    return attributes | {node.name for node in owner.body if isinstance(node, Function)}


def _prefix(view: StatementView, spot: StatementExpression, first: str, members: set[str]) -> Iterator[Edit]:
    node = spot.node
    if isinstance(node, ast.Name) and node.id in members and node.id != first:
        loud = any(kind == "NameError" and f"'{node.id}'" in message for kind, message in view.context.errors)
        owner = ast.Name(id=first, ctx=ast.Load())
        new = ast.Attribute(value=owner, attr=node.id, ctx=node.ctx)
        weight = 1.0 if loud else 0.15
        yield replacement("self", spot, Piece(new, f"{first}.{node.id}"), weight, node.id)


def replace_shared_defaults(context: EditContext) -> Iterator[Edit]:
    """Replace `def f(x=[])` by `def f(x=None)` with `if x is None: x = []` at the start of the body."""
    for position, node in places(context.tree, context.scope):
        if not isinstance(node, Function):
            continue
        lines = [line for line in context.lines if node.lineno <= line <= (node.end_lineno or 0)]
        if lines:
            line = max(lines, key=lambda each: context.lines[each])
            yield from _fix_default(position, node, line)


def _fix_default(position: Place, node: Function, line: int) -> Iterator[Edit]:
    arguments = [*node.args.posonlyargs, *node.args.args]
    for index, default in enumerate(node.args.defaults):
        if not isinstance(default, _EMPTY) or (isinstance(default, ast.Call) and default.args):
            continue
        text = arguments[len(arguments) - len(node.args.defaults) + index].arg
        test = compare(name(text), ast.Is, constant(None))
        head = build.when(test, build.assign(text, build.piece(default)))
        function = _with_default(node, index, head)
        note = f"`{text}={ast.unparse(default)}` is made anew in each call"
        yield Edit(kind="shared_default", position=position, new=(function,), weight=0.6, line=line, note=note)


def _with_default(node: Function, index: int, head: ast.stmt) -> ast.AST:
    defaults = list(node.args.defaults)
    defaults[index] = ast.Constant(value=None)
    fields = dict(ast.iter_fields(node.args))
    first = int(ast.get_docstring(node) is not None)
    arguments = ast.arguments(**{**fields, "defaults": defaults})
    body = [*node.body[:first], head, *node.body[first:]]
    function = type(node)(**{**dict(ast.iter_fields(node)), "args": arguments, "body": body})
    return ast.copy_location(function, node)


@statement_operator(_MOST_OWN)
def missing_keys(view: StatementView) -> Iterable[Edit]:
    """Replace `d[k]` by an access with a default, or insert the key before the access."""
    return (edit for site in view.sites for edit in _keys_at(view, site))


def _keys_at(view: StatementView, site: Site) -> Iterator[Edit]:
    kinds = {kind for kind, _ in view.context.errors}
    scale = 3.0 if "KeyError" in kinds else 1.0
    for spot in statement_expressions(site):
        node = spot.node
        if not isinstance(node, ast.Subscript) or not _is_mapping(view, node, kinds):
            continue
        owner, key = build.piece(node.value), build.piece(node.slice)
        if isinstance(node.ctx, ast.Load):
            yield from choices("default", spot, _add_default(owner, key, scale))
        if isinstance(site.node, ast.AugAssign) or isinstance(spot.parent, ast.Attribute):
            yield from _put_first(site, owner, key, scale)


def _is_mapping(view: StatementView, node: ast.Subscript, kinds: set[str]) -> bool:
    if isinstance(node.slice, ast.Slice | ast.Tuple):
        return False
    seen = view.kinds(ast.unparse(node.value))
    return bool(seen & {"dict", "defaultdict", "Counter"}) or (not seen and "KeyError" in kinds)


def _add_default(owner: Piece, key: Piece, scale: float) -> Iterator[tuple[Piece, float]]:
    for default in _DEFAULTS:
        yield method(owner, "get", key, default), 0.12 * scale
    for default in _DEFAULTS[3:]:
        yield method(owner, "setdefault", key, default), 0.12 * scale
    yield method(owner, "get", key, key), 0.05 * scale


def _put_first(site: Site, owner: Piece, key: Piece, scale: float) -> Iterator[Edit]:
    target = build.as_target(build.item(owner, key).node)
    for default in _DEFAULTS:
        if default.text != "None":
            value = ast.Assign(targets=[target], value=default.node, lineno=0)
            head = build.when(compare(key, ast.NotIn, owner), value)
            note = f"`{owner.text}[{key.text}]` begins as `{default.text}`"
            yield change("default", site, [head], 0.12 * scale, note, count=0)


_MOST_FIELDS = 150
_LATER: dict[str, tuple[object, ...]] = {"bool": (True, False), "int": (1, 0, -1), "NoneType": (True,), "str": ()}
_Gap = tuple[Block, int, int]


@statement_operator(_MOST_FIELDS)
def unset_fields(view: StatementView) -> Iterable[Edit]:
    """Insert assignments such as `thing.flag = True` at the ends of blocks, for attributes that never change."""
    unset = list(_unset(view.context.tree))
    return (edit for gap in view.gaps for edit in _at(view, gap, unset)) if unset else ()


def _unset(tree: ast.Module) -> Iterator[tuple[ast.ClassDef, str, ast.Constant]]:
    """Yield attributes that are read but never change: (class, attribute, the only constant that is assigned)."""
    nodes = list(ast.walk(tree))
    read = {node.attr for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)}
    stores: dict[str, int] = defaultdict(int)
    for node in nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            stores[node.attr] += 1
    for owner in nodes:
        if isinstance(owner, ast.ClassDef):
            for attribute, value, own in _firsts(owner):
                if attribute in read and stores[attribute] == own:
                    yield owner, attribute, value


def _firsts(owner: ast.ClassDef) -> Iterator[tuple[str, ast.Constant, int]]:
    """Yield a class's attributes with a constant initial value, as (attribute, value, number of `x.attribute` targets).

    The number is 1 if the value is set as `self.x = …`, and 0 if it is set in the body of the class.
    """
    starts = [node for node in owner.body if isinstance(node, Function) and node.name == "__init__"]
    for node in [*owner.body, *(part for start in starts for part in start.body)]:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        value = getattr(node, "value", None)
        if isinstance(value, ast.Constant) and isinstance(node, ast.Assign | ast.AnnAssign):
            if isinstance(target, ast.Name):
                yield target.id, value, 0
            elif isinstance(target, ast.Attribute):
                yield target.attr, value, 1


def _at(view: StatementView, gap: _Gap, unset: list[tuple[ast.ClassDef, str, ast.Constant]]) -> Iterator[Edit]:
    block, index, _ = gap
    ends = index == len(block.statements) or isinstance(block.statements[index], ast.Return)
    if not ends or block.function is None or block.function.name == "__init__":
        return
    behind_loop = index > block.first and isinstance(block.statements[index - 1], ast.For | ast.While)
    for owner, attribute, value in unset:
        for holder, share in _holders(view, block, owner):
            for later, fit in _later(view, block, value, holder):
                new = assign(f"{holder}.{attribute}", later)
                weight = 0.1 * share * fit * (1.5 if behind_loop else 1.0)
                yield insert("field", gap, new, weight, f"`{holder}.{attribute} = {later.text}` is put in")


def _holders(view: StatementView, block: Block, owner: ast.ClassDef) -> Iterator[tuple[str, float]]:
    """Yield visible variables that are, or may be, objects of a class: (variable, weight factor)."""
    members = {node.attr for node in ast.walk(owner) if isinstance(node, ast.Attribute)}
    asked = {
        node.value.id
        for node in ast.walk(view.node)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.attr in members
    }
    for text in view.names(block):
        own = text == "self" and any(part is block.function for part in owner.body)
        if own or owner.name in view.kinds(text):
            yield text, 1.0
        elif text in asked and text != "self" and not view.kinds(text):
            yield text, 0.8


def _later(view: StatementView, block: Block, value: ast.Constant, holder: str) -> Iterator[tuple[Piece, float]]:
    kind = type(value.value).__name__
    yield from ((constant(other), 1.0) for other in _LATER.get(kind, ()) if other is not value.value)
    for text in view.names(block)[:8]:
        fits = kind == "NoneType" or kind in view.kinds(text)
        if text not in {holder, "self", "cls"} and fits:
            yield name(text), 0.6
