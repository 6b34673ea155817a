"""Edits of what generators and coroutines hand on: `yield`, `yield from`, `return` and `await` exchanged or missing."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from repair.edit import Edit
from repair.edits import build
from repair.edits.blocks import Site
from repair.edits.build import name
from repair.edits.proposing import changed, inserted, lives, replacement, spots, thinned
from repair.edits.survey import Survey, survey_of
from repair.ground import Ground
from repair.tree import Function

_MOST = 300


def yields(ground: Ground) -> Iterator[Edit]:
    """Values handed on in another way."""
    survey = survey_of(ground)
    made = [edit for site in survey.sites for edit in _at(survey, site)]
    made += list(_missing(survey))
    yield from lives(ground, thinned(survey, made, _MOST))


def _at(survey: Survey, site: Site) -> Iterator[Edit]:
    function = site.block.function
    if function is None:
        return
    generator = survey.is_generator(function)
    value = _handed(site.node)
    if value is not None:
        yield from _ways(survey, site, function, value, generator)
    if isinstance(function, ast.AsyncFunctionDef):
        yield from _awaits(site)


def _handed(node: ast.stmt) -> ast.expr | None:
    """The value that a statement hands on or drops."""
    if isinstance(node, ast.Return):
        return node.value
    if isinstance(node, ast.Expr):
        inner = node.value
        return inner.value if isinstance(inner, ast.Yield | ast.YieldFrom | ast.Await) else inner
    return None


def _ways(survey: Survey, site: Site, function: Function, value: ast.expr, generator: bool) -> Iterator[Edit]:
    text = ast.unparse(value)
    recursive = isinstance(value, ast.Call) and function.name in survey.seen_names(value)
    old = site.node.value if isinstance(site.node, ast.Expr) else site.node
    scale = 1.0 if generator else 0.15
    options: list[tuple[ast.stmt, str, float]] = [
        (ast.Expr(value=ast.Yield(value=value)), f"yield {text}", 0.4 * scale),
        (ast.Expr(value=value), text, 0.03),
    ]
    if isinstance(function, ast.FunctionDef):
        weight = (0.9 if recursive else 0.4) * scale
        options.append((ast.Expr(value=ast.YieldFrom(value=value)), f"yield from {text}", weight))
    if site.block.open:
        options.append((ast.Return(value=value), f"return {text}", 0.1 if isinstance(old, ast.Yield) else 0.05))
    for new, says, weight in options:
        if not build.same(new, site.node):
            yield changed("yield", site, [new], weight, f"`{ast.unparse(site.node)}` becomes `{says}`")


def _awaits(site: Site) -> Iterator[Edit]:
    for spot in spots(site):
        if isinstance(spot.node, ast.Call) and not isinstance(spot.parent, ast.Await):
            awaited = build.Piece(ast.Await(value=spot.node), f"await {spot.piece.text}")
            yield replacement("await", spot, awaited, 0.3)
        elif isinstance(spot.node, ast.Await):
            yield replacement("await", spot, build.piece(spot.node.value), 0.05)


def _missing(survey: Survey) -> Iterator[Edit]:
    """A visible variable handed on at a gap of a generator."""
    for gap in survey.gaps:
        block, index, _ = gap
        function = block.function
        if function is None or not survey.is_generator(function):
            continue
        ending = index == len(block.statements)
        for text in survey.names(block):
            new = ast.Expr(value=ast.Yield(value=name(text).node))
            yield inserted("yield", gap, new, 0.12 if ending else 0.05, f"`yield {text}` is put in")
            if survey.sized(text) and isinstance(function, ast.FunctionDef):
                new = ast.Expr(value=ast.YieldFrom(value=name(text).node))
                yield inserted("yield", gap, new, 0.05, f"`yield from {text}` is put in")
