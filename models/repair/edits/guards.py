"""Guards put in: an early return, `continue` or `break` for what the code after it cannot take."""

from __future__ import annotations

import ast
import heapq
import itertools
from collections.abc import Iterator

from models.repair.edit import Edit
from models.repair.edits import build
from models.repair.edits.blocks import Block
from models.repair.edits.build import Piece, compare, constant, name, refused
from models.repair.edits.conditions import guards_of, occurring
from models.repair.edits.outcomes import outcomes
from models.repair.edits.proposing import inserted, lives
from models.repair.edits.survey import Survey, survey_of
from models.repair.ground import Ground

_MOST = 900
_LEAST = 0.004
_Gap = tuple[Block, int, int]
_Plan = tuple[float, _Gap, Piece, ast.stmt, str]


def guards(ground: Ground) -> Iterator[Edit]:
    """`if …: return …` and the like before a statement."""
    survey = survey_of(ground)
    plans = (plan for gap in survey.gaps for plan in _at(survey, gap))
    best = heapq.nlargest(_MOST, plans, key=lambda plan: plan[0] * survey.suspicion(plan[1][2]))
    yield from lives(ground, (_built(*plan) for plan in best))


def _built(weight: float, gap: _Gap, test: Piece, ending: ast.stmt, text: str) -> Edit:
    note = f"`if {test.text}: {text}` is put in"
    return inserted("guard", gap, build.when(test, ending), weight, note)


def _at(survey: Survey, gap: _Gap) -> Iterator[_Plan]:
    """Plans are made first and built when they are among the best: there are many more than are needed."""
    block, index, _ = gap
    if index >= len(block.statements):
        return
    unready = survey.unready(block, block.statements[index].lineno)
    endings = [each for each in outcomes(survey, block) if unready.isdisjoint(survey.seen_names(each[0]))]
    place = _place_weight(survey, block, index)
    for test, weight in guard_tests(survey, block, index).values():
        if not unready.isdisjoint(survey.seen_names(test.node)):
            continue
        for ending, text, share in endings:
            worth = weight * share * place
            if worth >= _LEAST:
                yield worth, gap, test, ending, text


def _place_weight(survey: Survey, block: Block, index: int) -> float:
    """Guards stand mostly at the head of a function or of a loop's body, and end recursions that do not end."""
    if index > block.first:
        return 0.3
    if not isinstance(block.owner, ast.FunctionDef | ast.AsyncFunctionDef):
        return 0.6
    return 3.0 if any(kind == "RecursionError" for kind, _ in survey.ground.troubles) else 1.0


def guard_tests(survey: Survey, block: Block, index: int) -> dict[str, tuple[Piece, float]]:
    """What the guard may ask, each text once with its greatest weight; what is used next counts most."""
    following = block.statements[index]
    used = set(survey.seen_names(following))
    best: dict[str, tuple[Piece, float]] = {}
    for test, weight in (*_of_names(survey, block, following, used), *_of_uses(survey, block, index)):
        if weight > best.get(test.text, (test, 0.0))[1]:
            best[test.text] = (test, weight)
    return best


def _of_names(
    survey: Survey, block: Block, following: ast.stmt, used: set[str]
) -> Iterator[tuple[Piece, float]]:  # fmt: skip
    names = [text for text in survey.names(block) if text not in {"self", "cls"}]
    for text in names:
        if survey.bound_at(block, text) >= following.lineno:
            continue
        for test, weight in _questions(survey, text):
            yield test, weight * (1.0 if text in used else 0.4)
    numbers = [text for text in names if survey.number(text) and survey.bound_at(block, text) < following.lineno][:5]
    for left, right in itertools.combinations(numbers, 2):
        weight = 0.1 if left in used and right in used else 0.05
        for order in (ast.Gt, ast.GtE, ast.Eq, ast.Lt, ast.LtE):
            yield compare(name(left), order, name(right)), weight
    for holder, number in itertools.product([text for text in names if survey.sized(text)], numbers):
        weight = 0.08 if holder in used or number in used else 0.04
        for order in (ast.LtE, ast.Lt, ast.Gt, ast.Eq):
            yield compare(build.call("len", name(holder)), order, name(number)), weight
    for holder in (text for text in names if survey.sized(text)):
        for text in (text for text in names if text != holder and text in used):
            yield compare(name(text), ast.In, name(holder)), 0.35 if (text, holder) in survey.members else 0.12
            yield compare(name(text), ast.NotIn, name(holder)), 0.08


def _questions(survey: Survey, text: str) -> Iterator[tuple[Piece, float]]:
    subject = name(text)
    if survey.number(text):
        for order, value, weight in ((ast.Eq, 0, 0.3), (ast.Eq, 1, 0.12), (ast.Lt, 0, 0.12), (ast.LtE, 0, 0.12)):
            yield compare(subject, order, constant(value)), weight
        yield compare(subject, ast.LtE, constant(1)), 0.06
        yield compare(subject, ast.Lt, constant(2)), 0.04
    else:
        yield refused(subject), 0.35
        yield compare(subject, ast.Is, constant(None)), 0.1 if survey.sized(text) else 0.25
    if survey.sized(text):
        yield compare(build.call("len", subject), ast.LtE, constant(1)), 0.12
        yield compare(build.call("len", subject), ast.Eq, constant(1)), 0.06


def _of_uses(survey: Survey, block: Block, index: int) -> Iterator[tuple[Piece, float]]:
    for test, weight in guards_of(survey, block.statements[index]):
        yield survey.negated(test), weight * 1.2
    head = index == block.first and isinstance(block.owner, ast.FunctionDef | ast.AsyncFunctionDef)
    for node in block.statements[index + 1 :] if head else ():
        yield from ((survey.negated(test), weight) for test, weight in guards_of(survey, node))
    for test, weight in occurring(survey, block):
        yield test, weight * 0.5
        yield survey.negated(test), weight * 0.3
