"""Statements that are done only where something holds: an `if` around what stands there, or around a copy."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from models.repair.edit import Edit
from models.repair.edits import build
from models.repair.edits.blocks import JUMPS, Block, Site, fits
from models.repair.edits.build import Piece, compare, constant, name
from models.repair.edits.conditions import guards_of, occurring
from models.repair.edits.guards import guard_tests
from models.repair.edits.moves import title
from models.repair.edits.proposing import changed, inserted, lives, thinned
from models.repair.edits.survey import Survey, survey_of
from models.repair.ground import Ground

_MOST = 400
_SIMPLE = ast.Assign | ast.AugAssign | ast.Expr
_LARGEST = 12  # nodes of a statement that is copied with a guard


def wrapped(ground: Ground) -> Iterator[Edit]:
    """`if …:` around a statement, and short statements of the scope put in with what they need."""
    survey = survey_of(ground)
    made = [edit for site in survey.sites if isinstance(site.node, _SIMPLE) for edit in _around(survey, site)]
    made += [edit for site in survey.sites if isinstance(site.node, JUMPS) for edit in _made_conditional(survey, site)]
    sources = list({ast.unparse(site.node): site.node for site in survey.sites if _is_short(site.node)}.values())
    made += [edit for gap in survey.gaps for edit in _copied(survey, gap, sources)]
    yield from lives(ground, thinned(survey, made, _MOST))


def _made_conditional(survey: Survey, site: Site) -> Iterator[Edit]:
    """A jump that lets nothing behind it be reached was meant for some cases only."""
    if site.index + 1 >= len(site.block.statements):
        return
    text = title(site.node)
    for test, weight in guard_tests(survey, site.block, site.index + 1).values():
        if survey.unready(site.block, site.node.lineno).isdisjoint(survey.seen_names(test.node)):
            new = build.when(test, site.node)
            yield changed("wrapped", site, [new], min(weight * 2, 1.0), f"{text} is done only `if {test.text}`")


def _is_short(node: ast.stmt) -> bool:
    return isinstance(node, ast.AugAssign | ast.Expr) and sum(1 for _ in ast.walk(node)) <= _LARGEST


def _around(survey: Survey, site: Site) -> Iterator[Edit]:
    text = title(site.node)
    seen: set[str] = set()
    asked = guard_tests(survey, site.block, site.index).values()
    likely = [(made, weight * 0.2) for test, weight in asked for made in (survey.negated(test), test)]
    for test, weight in (*guards_of(survey, site.node), *_named(survey, site), *_found(survey, site.block), *likely):
        if test.text not in seen:
            seen.add(test.text)
            note = f"{text} is done only `if {test.text}`"
            yield changed("wrapped", site, [build.when(test, site.node)], weight, note)


def _named(survey: Survey, site: Site) -> Iterator[tuple[Piece, float]]:
    """Whether a variable that the statement reads is true, or not None."""
    used = set(survey.seen_names(site.node))
    for text in survey.names(site.block):
        if text in used and text not in {"self", "cls"} and not survey.number(text):
            yield name(text), 0.08
            yield compare(name(text), ast.IsNot, constant(None)), 0.05


def _found(survey: Survey, block: Block) -> Iterator[tuple[Piece, float]]:
    for test, weight in occurring(survey, block):
        yield test, weight * 0.4
        yield survey.negated(test), weight * 0.25


def _copied(survey: Survey, gap: tuple[Block, int, int], sources: list[ast.stmt]) -> Iterator[Edit]:
    """A short statement again behind a loop, with the variable it hands over as its guard: what was left over."""
    block, index, _ = gap
    if index == block.first or not isinstance(block.statements[index - 1], ast.For | ast.While):
        return
    visible = set(survey.names(block))
    for node in (each for each in sources if fits(each, block)):
        names = set(survey.seen_names(node))
        for text in sorted(names & visible) if names <= visible else ():
            test = name(text)
            if survey.number(text):
                test = compare(test, ast.Gt, constant(0))
            made = build.when(test, node)
            note = f"`if {test.text}:` with {title(node)} is put in"
            yield inserted("wrapped", gap, made, 0.05, note)
