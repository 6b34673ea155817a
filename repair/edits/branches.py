"""Edits of branches: `if` and `while`, `elif` and `if`, `else` dropped or added, bodies exchanged, ternaries."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from repair.edit import Edit
from repair.edits import build
from repair.edits.blocks import Site, fits
from repair.edits.build import Piece, constant
from repair.edits.conditions import occurring
from repair.edits.proposing import changed, choices, lives, spots, thinned
from repair.edits.survey import Survey, survey_of
from repair.ground import Ground

_MOST = 400
_MIRRORED: dict[type[ast.cmpop], ast.cmpop] = {
    ast.Lt: ast.Gt(), ast.LtE: ast.GtE(), ast.Gt: ast.Lt(), ast.GtE: ast.LtE(),
}  # fmt: skip


def branches(ground: Ground) -> Iterator[Edit]:
    """Other shapes of the same branches."""
    survey = survey_of(ground)
    made = (edit for site in survey.sites for edit in _at(survey, site))
    yield from lives(ground, thinned(survey, made, _MOST))


def _at(survey: Survey, site: Site) -> Iterator[Edit]:
    if isinstance(site.node, ast.If):
        yield from _of_if(survey, site, site.node)
    elif isinstance(site.node, ast.While):
        yield from _of_while(site, site.node)
    for spot in spots(site):
        if isinstance(spot.node, ast.IfExp):
            yield from choices("ternary", spot, _of_ternary(spot.node))


def _of_if(survey: Survey, site: Site, node: ast.If) -> Iterator[Edit]:
    text = f"if {ast.unparse(node.test)}"
    if not node.orelse:
        loop = ast.While(test=node.test, body=node.body, orelse=[])
        yield changed("if_while", site, [loop], 0.15, f"`{text}` becomes a `while`")
        yield from _followed(survey, site, node, text)
    else:
        yield from _of_else(survey, site, node, text)
    weight = 0.08 if not node.orelse else 0.04
    yield changed("branch", site, node.body, weight, f"what `{text}` holds is done always")


def _followed(survey: Survey, site: Site, node: ast.If, text: str) -> Iterator[Edit]:
    """An `else` for what has none: the next `if`, the rest of the block, or a result."""
    rest = site.block.statements[site.index + 1 :]
    if rest and isinstance(rest[0], ast.If):
        new = _with(node, orelse=[rest[0]])
        yield changed("elif", site, [new], 0.25, f"the `if` after `{text}` becomes its `elif`", count=2)
    for count in range(1, min(len(rest), 3) + 1):
        new = _with(node, orelse=list(rest[:count]))
        yield changed("else", site, [new], 0.15 / count, f"`{text}` gets an `else` with what follows", count=count + 1)
    for result, weight in _results(survey, site):
        note = f"`{text}` gets an `else` that says `{ast.unparse(result)}`"
        yield changed("else", site, [_with(node, orelse=[result])], weight, note)


def _results(survey: Survey, site: Site) -> Iterator[tuple[ast.stmt, float]]:
    function = site.block.function
    if function is None or not site.block.open:
        return
    nodes = survey.nodes_of(function)
    if survey.is_generator(function):
        return
    returns = {ast.unparse(node): node for node in nodes if isinstance(node, ast.Return)}
    yield from ((node, 0.06) for node in returns.values())
    for value in (None, True, False, 0):
        yield build.returned(constant(value)), 0.01


def _of_else(survey: Survey, site: Site, node: ast.If, text: str) -> Iterator[Edit]:
    alone, inner = _with(node, orelse=[]), node.orelse[0]
    if len(node.orelse) == 1 and isinstance(inner, ast.If):
        yield changed("elif", site, [alone, inner], 0.25, f"the `elif` after `{text}` becomes an `if`")
        crossed = _with(node, body=inner.body, orelse=[_with(inner, body=node.body)])
        yield changed("branch", site, [crossed], 0.08, f"the bodies of `{text}` and its `elif` are exchanged")
        without = _with(node, orelse=inner.orelse)
        yield changed("branch", site, [without], 0.05, f"the first `elif` after `{text}` is dropped")
    else:
        yield changed("else", site, [alone, *node.orelse], 0.2, f"what the `else` of `{text}` holds follows it")
        for test, weight in _second_tests(survey, site, node):
            inner = ast.If(test=test.node, body=node.orelse, orelse=[])
            note = f"the `else` of `{text}` becomes `elif {test.text}`"
            yield changed("elif", site, [_with(node, orelse=[inner])], weight, note)
    yield changed("else", site, [alone], 0.08, f"the `else` of `{text}` is dropped")
    yield changed("branch", site, node.orelse, 0.04, f"only the `else` of `{text}` stays")


def _second_tests(survey: Survey, site: Site, node: ast.If) -> Iterator[tuple[Piece, float]]:
    """What an `elif` may ask behind a test: its mirror image, what else is asked in the file."""
    if isinstance(node.test, ast.Compare) and len(node.test.ops) == 1 and type(node.test.ops[0]) in _MIRRORED:
        order, right = _MIRRORED[type(node.test.ops[0])], node.test.comparators[0]
        for other, weight in ((_mirrored(right), 0.3), (right, 0.15)):
            yield build.piece(ast.Compare(left=node.test.left, ops=[order], comparators=[other])), weight
    own = ast.unparse(node.test)
    for test, weight in occurring(survey, site.block):
        if test.text != own:
            yield test, weight * 0.6


def _mirrored(node: ast.expr) -> ast.expr:
    """`level + slack` for `level - slack`; anything else stays."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        step = ast.Sub() if isinstance(node.op, ast.Add) else ast.Add()
        return ast.BinOp(left=node.left, op=step, right=node.right)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return node.operand
    return node


def _of_while(site: Site, node: ast.While) -> Iterator[Edit]:
    text = f"while {ast.unparse(node.test)}"
    if not node.orelse and all(fits(statement, site.block) for statement in node.body):
        new = ast.If(test=node.test, body=node.body, orelse=[])
        yield changed("if_while", site, [new], 0.15, f"`{text}` becomes an `if`")


def _of_ternary(node: ast.IfExp) -> Iterator[tuple[Piece, float]]:
    swapped = ast.IfExp(test=node.test, body=node.orelse, orelse=node.body)
    yield build.piece(swapped), 0.4
    yield build.piece(node.body), 0.08
    yield build.piece(node.orelse), 0.08


def _with(node: ast.If, body: list[ast.stmt] | None = None, orelse: list[ast.stmt] | None = None) -> ast.If:
    return ast.If(
        test=node.test, body=node.body if body is None else body, orelse=node.orelse if orelse is None else orelse
    )
