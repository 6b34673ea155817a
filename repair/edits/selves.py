"""Edits of what belongs to whom: a missing `self.`, a default that all calls share, a key that a dictionary lacks."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from repair.edit import Edit
from repair.edits import build
from repair.edits.blocks import Site
from repair.edits.build import Piece, compare, constant, method, name
from repair.edits.proposing import Spot, changed, choices, lives, replacement, spots, thinned
from repair.edits.survey import Survey, survey_of
from repair.ground import Ground
from repair.tree import Function, Place, at, places

_MOST = 300
_EMPTY = ast.List | ast.Dict | ast.Set | ast.Call
_DEFAULTS = (constant(0), constant(None), constant(""), build.empty("list"), build.empty("dict"))


def own_attributes(ground: Ground) -> Iterator[Edit]:
    """`x` becomes `self.x` where the class has such an attribute or method."""
    owner = next((node for node in _around(ground) if isinstance(node, ast.ClassDef)), None)
    function = at(ground.tree, ground.scope)
    if owner is None or not isinstance(function, Function) or not function.args.args:
        return
    first = function.args.args[0].arg
    known = _members(owner)
    survey = survey_of(ground)
    made = (edit for site in survey.sites for spot in spots(site) for edit in _prefixed(survey, spot, first, known))
    yield from lives(ground, thinned(survey, made, _MOST))


def _around(ground: Ground) -> list[ast.AST]:
    return [at(ground.tree, ground.scope[:end]) for end in range(len(ground.scope) - 1, 0, -1)]


def _members(owner: ast.ClassDef) -> set[str]:
    attributes = {
        node.attr
        for node in ast.walk(owner)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
    }
    return attributes | {node.name for node in owner.body if isinstance(node, Function)}


def _prefixed(survey: Survey, spot: Spot, first: str, known: set[str]) -> Iterator[Edit]:
    node = spot.node
    if isinstance(node, ast.Name) and node.id in known and node.id != first:
        loud = any(kind == "NameError" and f"'{node.id}'" in message for kind, message in survey.ground.troubles)
        owner = ast.Name(id=first, ctx=ast.Load())
        new = ast.Attribute(value=owner, attr=node.id, ctx=node.ctx)
        weight = 1.0 if loud else 0.15
        yield replacement("self", spot, Piece(new, f"{first}.{node.id}"), weight, node.id)


def shared_defaults(ground: Ground) -> Iterator[Edit]:
    """`def f(x=[])` becomes `def f(x=None)` with `if x is None: x = []` at its head."""
    for place, node in places(ground.tree, ground.scope):
        if not isinstance(node, Function):
            continue
        lines = [line for line in ground.lines if node.lineno <= line <= (node.end_lineno or 0)]
        if lines:
            line = max(lines, key=lambda each: ground.lines[each])
            yield from _mended(place, node, line)


def _mended(place: Place, node: Function, line: int) -> Iterator[Edit]:
    arguments = [*node.args.posonlyargs, *node.args.args]
    for index, default in enumerate(node.args.defaults):
        if not isinstance(default, _EMPTY) or (isinstance(default, ast.Call) and default.args):
            continue
        text = arguments[len(arguments) - len(node.args.defaults) + index].arg
        test = compare(name(text), ast.Is, constant(None))
        head = build.when(test, build.assign(text, build.piece(default)))
        made = _with_default(node, index, head)
        note = f"`{text}={ast.unparse(default)}` is made anew in each call"
        yield Edit(kind="shared_default", place=place, new=(made,), weight=0.6, line=line, note=note)


def _with_default(node: Function, index: int, head: ast.stmt) -> ast.AST:
    defaults = list(node.args.defaults)
    defaults[index] = ast.Constant(value=None)
    fields = dict(ast.iter_fields(node.args))
    first = int(ast.get_docstring(node) is not None)
    arguments = ast.arguments(**{**fields, "defaults": defaults})
    body = [*node.body[:first], head, *node.body[first:]]
    made = type(node)(**{**dict(ast.iter_fields(node)), "args": arguments, "body": body})
    return ast.copy_location(made, node)


def missing_keys(ground: Ground) -> Iterator[Edit]:
    """`d[k]` with a default, or with the key put there first."""
    survey = survey_of(ground)
    made = (edit for site in survey.sites for edit in _keys_at(survey, site))
    yield from lives(ground, thinned(survey, made, _MOST))


def _keys_at(survey: Survey, site: Site) -> Iterator[Edit]:
    kinds = {kind for kind, _ in survey.ground.troubles}
    scale = 3.0 if "KeyError" in kinds else 1.0
    for spot in spots(site):
        node = spot.node
        if not isinstance(node, ast.Subscript) or not _is_mapping(survey, node, kinds):
            continue
        owner, key = build.piece(node.value), build.piece(node.slice)
        if isinstance(node.ctx, ast.Load):
            yield from choices("default", spot, _defaulted(owner, key, scale))
        if isinstance(site.node, ast.AugAssign) or isinstance(spot.parent, ast.Attribute):
            yield from _put_first(site, owner, key, scale)


def _is_mapping(survey: Survey, node: ast.Subscript, kinds: set[str]) -> bool:
    if isinstance(node.slice, ast.Slice | ast.Tuple):
        return False
    seen = survey.kinds(ast.unparse(node.value))
    return bool(seen & {"dict", "defaultdict", "Counter"}) or (not seen and "KeyError" in kinds)


def _defaulted(owner: Piece, key: Piece, scale: float) -> Iterator[tuple[Piece, float]]:
    for default in _DEFAULTS:
        yield method(owner, "get", key, default), 0.12 * scale
    for default in _DEFAULTS[3:]:
        yield method(owner, "setdefault", key, default), 0.12 * scale
    yield method(owner, "get", key, key), 0.05 * scale


def _put_first(site: Site, owner: Piece, key: Piece, scale: float) -> Iterator[Edit]:
    target = build.stored(build.item(owner, key).node)
    for default in _DEFAULTS:
        if default.text != "None":
            value = ast.Assign(targets=[target], value=default.node, lineno=0)
            head = build.when(compare(key, ast.NotIn, owner), value)
            note = f"`{owner.text}[{key.text}]` begins as `{default.text}`"
            yield changed("default", site, [head], 0.12 * scale, note, count=0)
