"""Statements that are done only where something holds: an `if` around what stands there, or around a copy."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeGuard

from repair.edit import Edit
from repair.edits import build
from repair.edits.blocks import JUMPS, Block, Site, fits
from repair.edits.build import Piece, compare, constant, name, renamed
from repair.edits.conditions import BUILTINS, guards_of, occurring
from repair.edits.guards import guard_tests
from repair.edits.moves import title
from repair.edits.proposing import changed, inserted, lives, thinned
from repair.edits.survey import Survey, survey_of
from repair.ground import Ground

_MOST = 400
_SIMPLE = ast.Assign | ast.AugAssign | ast.Expr
_LARGEST = 24  # nodes of a statement that is copied with a guard
_MOST_SOURCES = 8


def wrapped(ground: Ground) -> Iterator[Edit]:
    """`if …:` around a statement, and short statements of the scope put in with what they need."""
    survey = survey_of(ground)
    made = [edit for site in survey.sites if isinstance(site.node, _SIMPLE) for edit in _around(survey, site)]
    made += [edit for site in survey.sites if isinstance(site.node, JUMPS) for edit in _made_conditional(survey, site)]
    made += [edit for gap in survey.gaps for edit in _left_over(survey, gap)]
    yield from lives(ground, thinned(survey, made, _MOST))


def _made_conditional(survey: Survey, site: Site) -> Iterator[Edit]:
    """A jump that lets nothing behind it be reached was meant for some cases only."""
    if site.index + 1 >= len(site.block.statements):
        return
    text = title(site.node)
    for test, weight in guard_tests(survey, site.block, site.index + 1, site.node).values():
        if survey.unready(site.block, site.node.lineno).isdisjoint(survey.seen_names(test.node)):
            new = build.when(test, site.node)
            yield changed("wrapped", site, [new], min(weight * 2, 1.0), f"{text} is done only `if {test.text}`")


def _is_short(node: ast.AST) -> TypeGuard[ast.AugAssign | ast.Expr]:
    return isinstance(node, ast.AugAssign | ast.Expr) and sum(1 for _ in ast.walk(node)) <= _LARGEST


def _around(survey: Survey, site: Site) -> Iterator[Edit]:
    text = title(site.node)
    seen: set[str] = set()
    asked = guard_tests(survey, site.block, site.index).values()
    likely = [(made, weight * 0.35) for test, weight in asked for made in (survey.negated(test), test)]
    for test, weight in (*guards_of(survey, site.node), *_named(survey, site), *_found(survey, site.block), *likely):
        if test.text not in seen:
            seen.add(test.text)
            note = f"{text} is done only `if {test.text}`"
            yield changed("wrapped", site, [build.when(test, site.node)], weight, note)
            yield from _with_next(survey, site, test, weight, note)


def _with_next(survey: Survey, site: Site, test: Piece, weight: float, note: str) -> Iterator[Edit]:
    """The statement behind it, too, is done only then; likelier where it speaks of what is asked about."""
    pair = site.block.statements[site.index : site.index + 2]
    if len(pair) == 2 and isinstance(pair[1], _SIMPLE):
        share = 0.7 if survey.names_in(test).intersection(survey.seen_names(pair[1])) else 0.25
        told = f"{note}, with what follows"
        yield changed("wrapped", site, [build.when(test, *pair)], weight * share, told, count=2)


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


def _left_over(survey: Survey, gap: tuple[Block, int, int]) -> Iterator[Edit]:
    """A short statement of a loop again behind it, also about another variable, where a guard says so.

    The last group, number or word that a loop gathers is mostly handed over behind it.
    """
    block, index, _ = gap
    loop = block.statements[index - 1] if index > block.first else None
    if not isinstance(loop, ast.For | ast.While):
        return
    nodes = {ast.unparse(node): node for node in ast.walk(loop) if _is_short(node)}
    for node in list(nodes.values())[:_MOST_SOURCES]:
        if fits(node, block):
            for made, share in _versions(survey, block, node):
                yield from _guarded(survey, gap, made, share)


def _versions(survey: Survey, block: Block, node: ast.stmt) -> Iterator[tuple[ast.stmt, float]]:
    """The statement, and the statement with another variable as what it hands over."""
    value = node.value if isinstance(node, ast.AugAssign | ast.Expr) else None
    parts = value.args if isinstance(value, ast.Call) else [value] if isinstance(node, ast.AugAssign) else []
    handed = {text for part in parts if part for text in survey.seen_names(part)}
    if survey.visible(block) | BUILTINS >= set(survey.seen_names(node)):
        yield node, 1.0
    for old in sorted(handed - BUILTINS):
        for new in survey.names(block):
            if new != old and new not in handed and survey.alike(new, old):
                yield renamed(node, old, new), 0.6 if survey.kinds(new) & survey.kinds(old) else 0.3


def _guarded(survey: Survey, gap: tuple[Block, int, int], node: ast.stmt, share: float) -> Iterator[Edit]:
    names = set(survey.seen_names(node))
    for text in (text for text in survey.names(gap[0]) if text in names):
        for test in _tests_of(survey, text):
            made = build.when(test, node)
            note = f"`if {test.text}:` with {title(node)} is put in"
            yield inserted("wrapped", gap, made, 0.15 * share, note)


def _tests_of(survey: Survey, text: str) -> Iterator[Piece]:
    if not survey.number(text):
        yield name(text)
        return
    for order, value in ((ast.Gt, 0), (ast.Gt, 1), (ast.NotEq, 0)):
        yield compare(name(text), order, constant(value))
