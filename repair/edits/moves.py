"""Edits of the order of statements: deleted, swapped, moved within a block and across its edges."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from repair.edit import Edit
from repair.edits.blocks import JUMPS, Block, Site, fits, own_nodes
from repair.edits.proposing import changed, lives, thinned
from repair.edits.survey import survey_of
from repair.ground import Ground
from repair.tree import Function, replaced, spliced

_MOST = 500
_HOLDERS = ast.If | ast.For | ast.While | ast.With | ast.Try
_FIXED = ast.Global | ast.Nonlocal | ast.Import | ast.ImportFrom


def moves(ground: Ground) -> Iterator[Edit]:
    """The same statements in another order, or without one of them."""
    survey = survey_of(ground)
    made = (edit for site in survey.sites if not isinstance(site.node, _FIXED) for edit in _at(site))
    yield from lives(ground, thinned(survey, made, _MOST))


def _at(site: Site) -> Iterator[Edit]:
    text = title(site.node)
    if not isinstance(site.node, Function | ast.ClassDef | ast.Pass):
        weight = 0.15 if not isinstance(site.node, _HOLDERS | ast.Return) else 0.06
        yield changed("deleted", site, [], weight, f"{text} is dropped")
    yield from _within(site, text)
    yield from _out(site, text)
    if isinstance(site.node, _HOLDERS):
        yield from _in(site)


def title(node: ast.stmt) -> str:
    """The first line of a statement, in backquotes."""
    body = getattr(node, "body", None)
    if isinstance(body, list) and body and isinstance(node, _HOLDERS):
        node = replaced(node, (("body", 0),), body[0])
        setattr(node, "body", [ast.Pass()])  # noqa: B010 # the fields of `ast.stmt` are not known to mypy
    return f"`{ast.unparse(node).splitlines()[0]}`"


def _within(site: Site, text: str) -> Iterator[Edit]:
    """Swapped with the next, moved further down, moved further up."""
    block, index = site.block, site.index
    statements = block.statements
    for end in range(index + 1, min(len(statements), index + 5)):
        between = statements[index + 1 : end + 1]
        if any(isinstance(node, _FIXED) for node in between):
            break
        near = end == index + 1
        weight = 0.3 if near else 0.06
        note = f"{text} is moved behind {title(between[-1])}"
        yield changed("moved", site, [*between, site.node], weight, note, count=end - index + 1)
        if not near:
            yield changed(
                "moved", site, [between[-1], site.node, *between[:-1]], 0.06,
                f"{title(between[-1])} is moved before {text}", count=end - index + 1,
            )  # fmt: skip


def _out(site: Site, text: str) -> Iterator[Edit]:
    """One of the first or last statements of a block stands before or after what holds the block.

    With an `if` that has an `else`, that is what "after" means; the statements behind the moved one go with it.
    """
    block = site.block
    if block.above is None or not isinstance(block.owner, _HOLDERS) or len(block.statements) < 2:
        return
    outer, index = block.above
    holder, way = outer.statements[index], site.place[len(outer.place(index)) :]
    tail = block.statements[site.index :]
    dead = site.index > 0 and isinstance(block.statements[site.index - 1], JUMPS)
    if site.index > 0 and all(fits(node, outer) for node in tail) and (len(tail) <= 2 or dead):
        left = spliced(holder, way, len(tail), ())
        note = f"{text} is moved out of the block, behind it"
        yield _moved(site, outer, index, (left, *tail), 1.0 if dead else 0.3, note)
        if len(tail) == 2:
            alone = spliced(holder, way, 1, ())
            yield _moved(site, outer, index, (alone, site.node), 0.06, note)
    if site.index == 0 and fits(site.node, outer):
        left = spliced(holder, way, 1, ())
        note = f"{text} is moved out of the block, before it"
        yield _moved(site, outer, index, (site.node, left), 0.12, note)


def _moved(site: Site, outer: Block, index: int, new: tuple[ast.stmt, ...], weight: float, note: str) -> Edit:
    return Edit(
        kind="dedented", place=outer.place(index), new=new, count=1, weight=weight, line=site.line, note=note
    )  # fmt: skip


def _in(site: Site) -> Iterator[Edit]:
    """What stands behind or before a block becomes its last or first statement."""
    statements, index = site.block.statements, site.index
    for field in ("body", "orelse", "finalbody"):
        body = getattr(site.node, field, [])
        if not body or isinstance(body[-1], JUMPS):
            continue
        for count in (1, 2):
            rest = statements[index + 1 : index + 1 + count]
            if len(rest) == count and not any(isinstance(node, _FIXED | Function | ast.ClassDef) for node in rest):
                grown = spliced(site.node, ((field, len(body)),), 0, rest)
                note = f"{title(rest[0])} is moved into the block before it"
                weight = (0.25 if field == "body" else 0.12) / count
                yield changed("indented", site, [grown], weight, note, count=count + 1)
    yield from _in_front(site)
    yield from _as_else(site)


def _as_else(site: Site) -> Iterator[Edit]:
    """What stands behind a loop that may be left by `break` is done only when it was not."""
    node, rest = site.node, site.block.statements[site.index + 1 :]
    if not isinstance(node, ast.For | ast.While) or node.orelse or not rest or isinstance(rest[0], _FIXED):
        return
    if any(isinstance(part, ast.Break) for inner in node.body for part in own_nodes(inner)):
        grown = spliced(node, (("orelse", 0),), 0, rest[:1])
        note = f"{title(rest[0])} becomes the `else` of the loop before it"
        yield changed("else", site, [grown], 0.25, note, count=2)


def _in_front(site: Site) -> Iterator[Edit]:
    index = site.index - 1
    if index < site.block.first or isinstance(site.block.statements[index], _FIXED | Function | ast.ClassDef):
        return
    before = site.block.statements[index]
    grown = spliced(site.node, (("body", 0),), 0, (before,))
    note = f"{title(before)} is moved into the block behind it"
    place = site.block.place(index)
    yield Edit(kind="indented", place=place, new=(grown,), count=2, weight=0.1, line=site.line, note=note)
