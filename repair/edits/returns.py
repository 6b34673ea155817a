"""Edits of results: a `return` that is missing, stands in the wrong place or gives the wrong value."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from repair.edit import Edit
from repair.edits import build
from repair.edits.blocks import Block, Site
from repair.edits.build import Piece, calculated, constant, name, refused
from repair.edits.conditions import occurring, questions
from repair.edits.outcomes import results
from repair.edits.proposing import Spot, changed, choices, inserted, lives, spots, thinned
from repair.edits.survey import Survey, survey_of
from repair.ground import Ground
from repair.tree import Function, replaced, spliced

_MOST = 700
_WRAPPERS = (
    "list",
    "sorted",
    "set",
    "len",
    "sum",
    "str",
    "int",
    "tuple",
    "max",
    "min",
    "any",
    "all",
    "bool",
    "abs",
    "round",
)
_IDLE = ast.Constant | ast.Tuple | ast.List | ast.Dict | ast.Set | ast.Name | ast.Attribute | ast.UnaryOp | ast.BoolOp


def returns(ground: Ground) -> Iterator[Edit]:
    """Values returned, put in, wrapped, and moved across the edges of loops."""
    survey = survey_of(ground)
    made = [edit for site in survey.sites for edit in _at(survey, site)]
    made += [edit for gap in survey.gaps for edit in _missing(survey, gap)]
    yield from lives(ground, thinned(survey, made, _MOST))


def _at(survey: Survey, site: Site) -> Iterator[Edit]:
    block, node = site.block, site.node
    if block.function is None:
        return
    nodes = survey.nodes_of(block.function)
    if isinstance(node, ast.Return):
        for spot in spots(site):
            if spot.parent is node:
                yield from choices("returned", spot, _values(survey, spot, nodes))
        if node.value is None and not survey.is_generator(block.function):
            for value, share in results(survey, block, nodes):
                yield changed("returned", site, [build.returned(value)], share * 0.5, f"`return {value.text}`")
            for text in (*survey.reassigned(block), *survey.chains):
                yield changed("returned", site, [build.returned(name(text))], 0.4, f"`return {text}`")
        yield from _out_of_loop(site, node)
    elif isinstance(node, ast.Expr) and not survey.is_generator(block.function) and block.open:
        yield from _of_expression(site, node.value)
    elif isinstance(node, ast.For | ast.While):
        yield from _into_loop(site)


def _values(survey: Survey, spot: Spot, nodes: list[ast.AST]) -> Iterator[tuple[Piece, float]]:
    """Other values in the place of a returned one, and the same one taken further."""
    old, block = spot.piece, spot.site.block
    for value, share in results(survey, block, nodes):
        yield value, share * 0.3
    for text in (*survey.names(block), *survey.chains):
        if text not in {"self", "cls"}:
            yield name(text), 0.15
            yield from _extended(old, name(text))
    if isinstance(old.node, ast.Constant) and isinstance(old.node.value, bool):
        yield constant(not old.node.value), 0.5
        yield from _decided(survey, block)
    yield refused(old), 0.1
    yield Piece(ast.List(elts=[old.node], ctx=ast.Load()), f"[{old.text}]"), 0.12
    for step in (ast.Add, ast.Sub):
        yield calculated(old, step, constant(1)), 0.12
    yield Piece(ast.UnaryOp(op=ast.USub(), operand=old.node), f"-{old.text}"), 0.06
    yield from ((build.call(wrapper, old), 0.05) for wrapper in _WRAPPERS)
    for part in _found_parts(survey, old):
        yield calculated(old, ast.Add, part), 0.08
        yield calculated(part, ast.Add, old), 0.08


def _decided(survey: Survey, block: Block) -> Iterator[tuple[Piece, float]]:
    """What may decide between True and False: the usual questions about variables, and conditions that occur."""
    for text in survey.names(block):
        if text not in {"self", "cls"}:
            yield from ((question, 0.08) for question in questions(name(text)))
    for part, weight in occurring(survey, block):
        yield part, weight * 0.6
        yield survey.negated(part), weight * 0.4


def _extended(old: Piece, other: Piece) -> Iterator[tuple[Piece, float]]:
    if isinstance(old.node, ast.Constant):
        return
    for left, right in ((old, other), (other, old)):
        yield calculated(left, ast.Add, right), 0.05
    yield calculated(old, ast.Sub, other), 0.03
    yield calculated(old, ast.Mult, other), 0.02
    yield build.joined(ast.Or, old, other), 0.03
    yield build.joined(ast.And, old, other), 0.02
    for choice in ("max", "min"):
        yield build.call(choice, old, other), 0.03


def _found_parts(survey: Survey, old: Piece) -> Iterator[Piece]:
    """Slices, items, and lists of one that occur in the scope: what a result is often put together from."""
    found: dict[str, ast.expr] = {}
    for node in ast.walk(survey.node):
        fits = isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load)
        if fits or (isinstance(node, ast.List) and len(node.elts) == 1):
            found.setdefault(ast.unparse(node), node)  # type: ignore[arg-type] # both are expressions
    for text, part in list(found.items())[:8]:
        if text not in old.text:
            yield Piece(part, text)
            if isinstance(part, ast.Subscript) and not isinstance(part.slice, ast.Slice):
                rest = ast.Subscript(value=part.value, slice=ast.Slice(lower=part.slice), ctx=ast.Load())
                yield build.piece(rest)


def _of_expression(site: Site, value: ast.expr) -> Iterator[Edit]:
    """An expression whose value is dropped; one that does nothing at all is hardly meant."""
    if isinstance(value, ast.Constant) and value.value is ...:
        return
    last = site.index == len(site.block.statements) - 1
    idle = isinstance(value, _IDLE) and not (isinstance(value, ast.Constant) and isinstance(value.value, str))
    weight = 0.9 if idle and last else 0.5 if idle or last else 0.15
    yield changed("return", site, [ast.Return(value=value)], weight, f"`return {ast.unparse(value)}`")


def _missing(survey: Survey, gap: tuple[Block, int, int]) -> Iterator[Edit]:
    """A `return` at the end of a function, of a branch, or after a loop."""
    block, index, _ = gap
    function = block.function
    if function is None or not block.open or index < len(block.statements) or block.loops > 1:
        return
    nodes = survey.nodes_of(function)
    if survey.is_generator(function):
        return
    whole = block.owner is function
    scale = 0.5 if whole else 0.12
    last = block.statements[-1]
    assigned = {part.id for part in ast.walk(last) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
    for value, share in results(survey, block, nodes):
        weight = max(share, 0.8) if value.text in assigned else share
        note = f"`return {value.text}` is put in"
        yield inserted("return", gap, build.returned(value), weight * scale, note)
    for text in survey.names(block)[6:]:
        yield inserted("return", gap, build.returned(name(text)), 0.15 * scale, f"`return {text}` is put in")


def _out_of_loop(site: Site, node: ast.Return) -> Iterator[Edit]:
    """The `return` stands after the loop, or after the block that holds it."""
    block = site.block
    weight = 0.4
    while block.above is not None and not isinstance(block.owner, Function | ast.ClassDef):
        outer, index = block.above
        holder = outer.statements[index]
        depth = len(outer.place(index))
        left = spliced(holder, site.place[depth:], 1, ())
        note = f"`{ast.unparse(node)}` is moved out of the block"
        place = outer.place(index)
        line = site.line
        yield Edit(kind="moved_return", place=place, new=(left, node), count=1, weight=weight, line=line, note=note)
        block, weight = outer, weight * 0.6


def _into_loop(site: Site) -> Iterator[Edit]:
    """The `return` after the loop stands at the end of its body."""
    rest = site.block.statements[site.index + 1 :]
    body: list[ast.stmt] = site.node.body  # type: ignore[attr-defined] # a loop, see the caller
    if rest and isinstance(rest[0], ast.Return):
        grown = replaced(site.node, (("body", len(body) - 1),), body[-1])
        grown.body = [*body, rest[0]]
        note = f"`{ast.unparse(rest[0])}` is moved into the loop"
        yield changed("moved_return", site, [grown], 0.08, note, count=2)
