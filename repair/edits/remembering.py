"""What was seen is written down: where it is asked whether something is in a holder, it is put into the holder.

A walk that asks `place in seen` and never adds to `seen` does not end, or does its work twice.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from repair.edit import Edit
from repair.edits import build
from repair.edits.blocks import JUMPS, Block
from repair.edits.build import Piece, constant, method, name, piece, statement, stored
from repair.edits.proposing import inserted, lives, thinned
from repair.edits.survey import Survey, survey_of
from repair.edits.usage import chain
from repair.ground import Ground
from repair.kinds import MAPPING

_MOST = 150
_LARGEST = 12  # nodes of what is asked for
_GIVEN = 0.25
"""The share where the holder gets the very element elsewhere in the scope."""
_Gap = tuple[Block, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question whether an element is in a holder, and the names in it."""

    test: ast.Compare
    element: Piece
    holder: Piece
    names: frozenset[str]
    share: float

    @property
    def absent(self) -> bool:
        """Whether it asks for what is not in the holder."""
        return isinstance(self.test.ops[0], ast.NotIn)


def remembering(ground: Ground) -> Iterator[Edit]:
    """`seen.add(x)` and the like, where `x in seen` is asked."""
    survey = survey_of(ground)
    questions = list(_questions(survey))
    made = (edit for asked in questions for gap in survey.gaps for edit in _at(survey, gap, asked))
    yield from lives(ground, thinned(survey, made, _MOST))


def _questions(survey: Survey) -> Iterator[Asked]:
    nodes = list(ast.walk(survey.node))
    given = {pair for node in nodes for pair in _given(node)}
    for node in nodes:
        if not isinstance(node, ast.Compare) or not isinstance(node.ops[0], ast.In | ast.NotIn):
            continue
        element, holder = node.left, node.comparators[0]
        small = sum(1 for _ in ast.walk(element)) <= _LARGEST and not isinstance(element, ast.Constant)
        if small and chain(holder) and "str" not in survey.kinds(chain(holder)):
            pair = piece(element), piece(holder)
            share = _GIVEN if (pair[0].text, pair[1].text) in given else 1.0
            names = frozenset((*survey.seen_names(element), *survey.seen_names(holder)))
            yield Asked(test=node, element=pair[0], holder=pair[1], names=names, share=share)


def _given(node: ast.AST) -> Iterator[tuple[str, str]]:
    """What a node puts where: (element or key, holder), both as text."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in {"add", "append"}:
        yield from ((ast.unparse(part), ast.unparse(node.func.value)) for part in node.args)
    elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
        yield ast.unparse(node.slice), ast.unparse(node.value)


def _at(survey: Survey, gap: _Gap, asked: Asked) -> Iterator[Edit]:
    block, index, _ = gap
    line = block.statements[index].lineno if index < len(block.statements) else _end(block) + 1
    if not asked.names <= survey.visible(block) or asked.names & survey.unready(block, line):
        return
    place = _place_share(block, index, asked)
    for new, share in _ways(survey, block, asked):
        note = f"`{ast.unparse(new)}` is put in"
        yield inserted("remembered", gap, new, 0.35 * share * place * asked.share, note)


def _end(block: Block) -> int:
    return block.statements[-1].end_lineno or block.statements[-1].lineno


def _place_share(block: Block, index: int, asked: Asked) -> float:
    """The branch that the element is new to counts most, then what follows a jump for known ones, then its loop."""
    owner = block.owner
    edge = index in {block.first, len(block.statements)}
    if isinstance(owner, ast.If | ast.While) and _holds(owner.test, asked.test):
        return (1.0 if edge else 0.5) if (block.field == "body") == asked.absent else 0.15
    before = block.statements[index - 1] if index > block.first else None
    if isinstance(before, ast.If) and _holds(before.test, asked.test):
        return 1.0 if isinstance(before.body[-1], JUMPS) and not asked.absent else 0.4
    if any(isinstance(node, ast.If) and _holds(node.test, asked.test) for node in block.statements[:index]):
        return 0.5 if edge else 0.3
    return 0.25 if block.loops and edge else 0.1


def _holds(test: ast.expr, part: ast.Compare) -> bool:
    return any(node is part for node in ast.walk(test))


def _ways(survey: Survey, block: Block, asked: Asked) -> Iterator[tuple[ast.stmt, float]]:
    """Statements that put the element into the holder, as its kind wants it."""
    kinds = survey.kinds(asked.holder.text)
    if "set" in kinds or not kinds:
        yield statement(method(asked.holder, "add", asked.element)), 1.0 if kinds else 0.6
    if "list" in kinds or "deque" in kinds or not kinds:
        yield statement(method(asked.holder, "append", asked.element)), 1.0 if kinds else 0.4
    if kinds & MAPPING:
        target = stored(build.item(asked.holder, asked.element).node)
        others = [name(text) for text in survey.names(block)[:8] if text not in asked.names]
        for value in (constant(True), constant(1), *others):
            yield ast.Assign(targets=[target], value=value.node, lineno=0), 0.35
