"""Edits of initial values: another one, one that is missing, one that stands on the wrong side of a loop's edge."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from repair.edit import Edit
from repair.edits import build
from repair.edits.blocks import Block, Site
from repair.edits.build import Piece, call, constant, item, name
from repair.edits.proposing import changed, choices, inserted, lives, spots, thinned
from repair.edits.survey import Survey, survey_of
from repair.ground import Ground
from repair.kinds import BOOL, SIZED, is_number
from repair.tree import Function

_MOST = 500
_NUMBERS = (0, 1, -1, 2)
_COPIES = ("list", "set", "dict")
_UNBOUND = ("UnboundLocalError", "NameError")


def initial_values(ground: Ground) -> Iterator[Edit]:
    """Other first values of variables, and first values put in or moved."""
    survey = survey_of(ground)
    made = [edit for site in survey.sites for edit in _at(survey, site)]
    made += [edit for gap in survey.gaps for edit in (*_missing(survey, gap), *_lost(survey, gap))]
    yield from lives(ground, thinned(survey, made, _MOST))


def _at(survey: Survey, site: Site) -> Iterator[Edit]:
    node = site.node
    if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
        for spot in spots(site):
            tuple_of = isinstance(node.value, ast.Tuple) and spot.parent is node.value
            if (spot.node is node.value or tuple_of) and is_initial(spot.node):
                yield from choices("initial", spot, _values(survey, site, spot.node))
    if isinstance(node, ast.For | ast.While):
        yield from _into_loop(site, node)
        yield from _out_of_loop(site, node)


def is_initial(node: ast.expr) -> bool:
    """Tell whether a value is one to begin with: a constant, something empty, a bare variable, a first element."""
    if isinstance(node, ast.UnaryOp):
        node = node.operand
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return len(node.elts) <= 1
    if isinstance(node, ast.Call):
        return len(node.args) <= 1 and not any(isinstance(part, ast.Call) for part in node.args)
    return isinstance(node, ast.Constant | ast.Name | ast.Subscript | ast.Dict | ast.Attribute)


def _values(survey: Survey, site: Site, old: ast.expr) -> Iterator[tuple[Piece, float]]:
    block = site.block
    kind = survey.kind_of(old)
    number = is_number(kind)
    for value in _NUMBERS:
        yield constant(value), 0.4 if number else 0.06
    for text in ("inf", "-inf"):
        yield infinite(text), 0.2 if number else 0.04
    yield constant(None), 0.15
    for value in (True, False):
        yield constant(value), 0.6 if kind == BOOL else 0.05
    for empty in ("list", "dict", "str", "set", "tuple"):
        yield build.empty(empty), 0.1 if kind & SIZED else 0.05
    yield from _from_visible(survey, block, old)
    yield Piece(ast.List(elts=[old], ctx=ast.Load()), f"[{ast.unparse(old)}]"), 0.1


def infinite(text: str) -> Piece:
    """`float("inf")`, or with "-inf" its negative."""
    return call("float", constant(text))


def _from_visible(survey: Survey, block: Block, old: ast.expr) -> Iterator[tuple[Piece, float]]:
    line = getattr(old, "lineno", 0)
    for text in survey.names(block):
        if text in {"self", "cls"}:
            continue
        part = name(text)
        weight = 0.1 if survey.bound_at(block, text) < line else 0.02
        yield part, weight
        if survey.number(text):
            yield from ((build.calculated(part, step, constant(1)), weight) for step in (ast.Add, ast.Sub))
        if survey.sized(text) or not survey.known(text):
            length = call("len", part)
            yield item(part, constant(0)), weight * 2
            yield length, weight * 1.5
            yield build.calculated(length, ast.Sub, constant(1)), weight
            yield call("list", part), weight * 0.5
        yield Piece(ast.List(elts=[part.node], ctx=ast.Load()), f"[{text}]"), weight * 0.6
    yield from ((name(text), 0.05) for text in survey.chains)


def _into_loop(site: Site, loop: ast.For | ast.While) -> Iterator[Edit]:
    """A first value given before a loop is given at the head of its body."""
    used = {part.id for part in ast.walk(loop) if isinstance(part, ast.Name)}
    for back in range(1, min(site.index - site.block.first, 4) + 1):
        before = site.block.statements[site.index - back]
        if not isinstance(before, ast.Assign) or not _targets(before) & used:
            continue
        grown = _with_body(loop, [before, *loop.body])
        kept = list(site.block.statements[site.index - back + 1 : site.index])
        place = site.block.place(site.index - back)
        note = f"`{ast.unparse(before)}` is moved into the loop"
        new = (*kept, grown)
        yield Edit(
            kind="moved_initial", place=place, new=new, count=back + 1, weight=0.25, line=site.line, note=note
        )  # fmt: skip


def _out_of_loop(site: Site, loop: ast.For | ast.While) -> Iterator[Edit]:
    """A first value given in a loop is given before it."""
    for index, inside in enumerate(loop.body[:4]):
        if isinstance(inside, ast.Assign) and is_initial(inside.value) and len(loop.body) > 1:
            rest = _with_body(loop, [*loop.body[:index], *loop.body[index + 1 :]])
            note = f"`{ast.unparse(inside)}` is moved before the loop"
            yield changed("moved_initial", site, [inside, rest], 0.25, note)


def _with_body(loop: ast.For | ast.While, body: list[ast.stmt]) -> ast.For | ast.While:
    if isinstance(loop, ast.While):
        return ast.While(test=loop.test, body=body, orelse=loop.orelse)
    return ast.For(target=loop.target, iter=loop.iter, body=body, orelse=loop.orelse, lineno=loop.lineno)


def _targets(node: ast.Assign) -> set[str]:
    return {part.id for target in node.targets for part in ast.walk(target) if isinstance(part, ast.Name)}


def _missing(survey: Survey, gap: tuple[Block, int, int]) -> Iterator[Edit]:
    """A variable set before a loop, at the head of its body, or set again after it was used."""
    block, index, _ = gap
    if index >= len(block.statements):
        return
    following = block.statements[index]
    head = index == block.first
    loops = isinstance(following, ast.For | ast.While)
    for text in survey.names(block):
        unbound = any(kind in _UNBOUND and f"'{text}'" in message for kind, message in survey.ground.troubles)
        if not (head or loops or unbound) or text not in _stored(following, block):
            continue
        for value, weight in _firsts(survey, text):
            worth = weight * (4.0 if unbound else 1.0)
            note = f"`{text} = {value.text}` is put in"
            yield inserted("initial", gap, build.assign(text, value), worth, note)


def _lost(survey: Survey, gap: tuple[Block, int, int]) -> Iterator[Edit]:
    """A first value for a name that nothing binds, before its first use in a block."""
    block, index, _ = gap
    if index >= len(block.statements):
        return
    head = isinstance(block.owner, Function) and index == block.first
    before_loop = isinstance(block.statements[index], ast.For | ast.While)
    in_loop = block.loops > 0 and index == block.first
    for text in survey.lost if head or before_loop or in_loop else ():
        if text not in set(survey.seen_names(block.statements[index])) and not head:
            continue
        scale = 1.0 if head or before_loop else 0.7
        for value, weight in _first_of(survey, block, text):
            new = build.assign(text, value)
            yield inserted("initial", gap, new, weight * scale, f"`{text} = {value.text}` is put in")


def _first_of(survey: Survey, block: Block, text: str) -> Iterator[tuple[Piece, float]]:
    """First values for a name of which only the uses are known; variables that have one before count too."""
    kinds = survey.kinds(text)
    for kind in ("list", "dict", "str", "set"):
        yield build.empty(kind), 0.9 if kind in kinds or (kind == "dict" and "list" in kinds) else 0.3
    for value in (0, 1, None, False):
        yield constant(value), 0.3 if kinds & SIZED else 0.7 if value in {0, None} else 0.5
    for other in survey.names(block):
        if survey.bound_at(block, other) <= getattr(block.function, "lineno", 0):
            yield name(other), 0.2
            if survey.sized(other) or not survey.known(other):
                yield from ((call(kind, name(other)), 0.6 if kind in kinds else 0.25) for kind in _COPIES)
            yield Piece(ast.List(elts=[name(other).node], ctx=ast.Load()), f"[{other}]"), 0.3
            yield call("len", name(other)), 0.1


def _stored(following: ast.stmt, block: Block) -> set[str]:
    nodes = [following, *block.statements] if block.loops else [following]
    return {part.id for node in nodes for part in ast.walk(node) if isinstance(part, ast.Name)}


def _firsts(survey: Survey, text: str) -> Iterator[tuple[Piece, float]]:
    kinds = survey.kinds(text)
    for kind in ("list", "dict", "set", "str"):
        if kind in kinds:
            yield build.empty(kind), 0.12
    if survey.number(text) or not survey.known(text):
        yield from ((constant(value), 0.1) for value in (0, 1))
    if not survey.known(text) or "NoneType" in kinds:
        yield constant(None), 0.08
    if not survey.known(text):
        yield build.empty("list"), 0.05
    if "bool" in kinds:
        yield from ((constant(value), 0.12) for value in (True, False))
