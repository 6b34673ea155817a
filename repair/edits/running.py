"""Running values that never run: a `best` or `last` that a loop compares with something and never sets."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from repair.edit import Edit
from repair.edits import build
from repair.edits.blocks import Block
from repair.edits.build import Piece, name, piece
from repair.edits.conditions import BUILTINS
from repair.edits.proposing import inserted, lives, thinned
from repair.edits.survey import Survey, survey_of
from repair.ground import Ground

_MOST = 150
_LARGEST = 10  # nodes of what a running value takes
_Gap = tuple[Block, int, int]
_Pair = tuple[str, Piece, ast.Compare]


def running(ground: Ground) -> Iterator[Edit]:
    """`best = value` and `best, place = value, here` where `value > best` is asked and `best` stays as it began."""
    survey = survey_of(ground)
    compared = list(_compared(survey.node))
    made = (edit for gap in survey.gaps if gap[0].loops for edit in _at(survey, gap, compared))
    yield from lives(ground, thinned(survey, made, _MOST))


def _compared(node: ast.AST) -> Iterator[_Pair]:
    """Variables with what they are held against: (variable, the other side, the comparison)."""
    for part in ast.walk(node):
        if isinstance(part, ast.Compare) and len(part.ops) == 1 and not isinstance(part.ops[0], ast.In | ast.NotIn):
            sides = part.left, part.comparators[0]
            for side, other in (sides, sides[::-1]):
                small = sum(1 for _ in ast.walk(other)) <= _LARGEST
                if isinstance(side, ast.Name) and small and not isinstance(other, ast.Constant):
                    yield side.id, piece(other), part


def _at(survey: Survey, gap: _Gap, compared: list[_Pair]) -> Iterator[Edit]:
    block, index, _ = gap
    stale = survey.stale(block) & frozenset(survey.reassigned(block))
    for target, value, test in compared:
        if target in stale and survey.names_in(value) <= survey.visible(block) | BUILTINS:
            share = _place_share(block, index, test)
            new = build.assign(target, value)
            yield inserted("running", gap, new, 0.35 * share, f"`{ast.unparse(new)}` is put in")
            for beside in _untouched(survey, block, target):
                yield from _both(survey, gap, target, value, beside, share)


def _untouched(survey: Survey, block: Block, target: str) -> list[str]:
    """Other variables that have a first value and that the loop around a block does not set."""
    place: Block | None = block
    while place is not None and not isinstance(place.owner, ast.For | ast.While):
        place = place.above[0] if place.above else None
    nodes = ast.walk(place.owner) if place else ()
    stored = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return [text for text in survey.reassigned(block) if text not in stored | {target}][:3]


def _both(survey: Survey, gap: _Gap, target: str, value: Piece, beside: str, share: float) -> Iterator[Edit]:
    """Where the value was found is often kept beside it."""
    taken = {value.text, target, beside, "self", "cls"}
    for text in survey.names(gap[0]):
        if text not in taken and survey.bound_at(gap[0], text) > survey.bound_at(gap[0], beside):
            fits = 0.2 if survey.alike(text, beside) else 0.1
            for targets, values in (((target, beside), (value, name(text))), ((beside, target), (name(text), value))):
                left = ast.Tuple(elts=[ast.Name(id=each, ctx=ast.Store()) for each in targets], ctx=ast.Store())
                right = ast.Tuple(elts=[each.node for each in values], ctx=ast.Load())
                new = ast.Assign(targets=[left], value=right, lineno=0)
                yield inserted("running", gap, new, fits * share, f"`{ast.unparse(new)}` is put in")


def _place_share(block: Block, index: int, test: ast.Compare) -> float:
    """In the branch that the comparison guards, else at the end of a loop's body."""
    owner = block.owner
    edge = index in {block.first, len(block.statements)}
    if isinstance(owner, ast.If) and any(node is test for node in ast.walk(owner.test)):
        return 1.0 if block.field == "body" and edge else 0.3
    if isinstance(owner, ast.For | ast.While) and index == len(block.statements):
        return 0.7
    return 0.3 if edge else 0.1
