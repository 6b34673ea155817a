"""Guards put in: an early return, `continue` or `break` for what the code after it cannot take."""

from __future__ import annotations

import ast
import heapq
import itertools
from collections.abc import Iterator

from repair.edit import Edit
from repair.edits import build
from repair.edits.asking import worded
from repair.edits.blocks import Block
from repair.edits.build import Piece, compare, constant, name, refused
from repair.edits.conditions import guards_of, occurring
from repair.edits.outcomes import outcomes
from repair.edits.proposing import inserted, lives
from repair.edits.survey import Survey, survey_of
from repair.ground import Ground
from repair.kinds import BOOL, NONE, SIZED

_MOST = 850
_LEAST = 0.004
_FRESH = 2.5
_UNORDERED = SIZED | BOOL | NONE
_EMPTY = ast.Constant | ast.List | ast.Dict
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
    fresh, plain = _just_bound(block, index), _plain(block, index)
    for test, usual in guard_tests(survey, block, index).values():
        names = survey.names_in(test)
        if names & (unready | plain):
            continue
        weight = usual * (_FRESH if names & fresh else 1.0)
        for ending, text, share in endings:
            worth = weight * share * place
            if worth >= _LEAST:
                yield worth, gap, test, ending, text


def _just_bound(block: Block, index: int) -> set[str]:
    """What the statement before gives a value: it can be asked about from here on."""
    return _stored(block.statements[index - 1]) if index > block.first else set()


def _plain(block: Block, index: int) -> set[str]:
    """What holds a constant or something empty here, whatever the arguments are: there is nothing to ask."""
    found = set[str]()
    for node in block.statements[:index]:
        empty = (
            isinstance(node, ast.Assign) and isinstance(node.value, _EMPTY) and not getattr(node.value, "elts", None)
        )
        found = (
            found | _stored(node)
            if empty
            else found - {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
        )
    return found


def _stored(node: ast.stmt) -> set[str]:
    nodes = ast.walk(node) if isinstance(node, ast.Assign) else ()
    return {part.id for part in nodes if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}


def _place_weight(survey: Survey, block: Block, index: int) -> float:
    """Guards stand mostly at the head of a function or of a loop's body, and end recursions that do not end."""
    if index > block.first:
        return 0.3
    if not isinstance(block.owner, ast.FunctionDef | ast.AsyncFunctionDef):
        return 0.6
    return 3.0 if any(kind == "RecursionError" for kind, _ in survey.ground.troubles) else 1.0


def guard_tests(
    survey: Survey, block: Block, index: int, also: ast.stmt | None = None
) -> dict[str, tuple[Piece, float]]:  # fmt: skip
    """What the guard may ask, each text once with its greatest weight; what is used next counts most.

    `also` is a statement whose variables count like those that are used next.
    """
    key = id(block.owner), block.field, index
    if also is not None:
        return _tests(survey, block, index, also)
    if key not in survey.tests:
        survey.tests[key] = _tests(survey, block, index, None)
    return survey.tests[key]


def _tests(survey: Survey, block: Block, index: int, also: ast.stmt | None) -> dict[str, tuple[Piece, float]]:
    following = block.statements[index]
    used = {text for node in (following, also) if node for text in survey.seen_names(node)}
    best: dict[str, tuple[Piece, float]] = {}
    for test, weight in (*_of_names(survey, block, following, used), *_of_uses(survey, block, index)):
        if weight > best.get(test.text, (test, 0.0))[1]:
            best[test.text] = (test, weight)
    return best


def _of_names(
    survey: Survey, block: Block, following: ast.stmt, used: set[str]
) -> Iterator[tuple[Piece, float]]:  # fmt: skip
    names = [text for text in survey.names(block) if text not in {"self", "cls"}]
    ready = [text for text in names if survey.bound_at(block, text) < following.lineno]
    numbers = [text for text in ready if survey.number(text)][:5]
    questions = ((text, *asked) for text in ready for asked in _questions(survey, text))
    worded_ones = ((text.partition(".")[0], test, weight) for test, weight, text in worded(survey, block))
    for text, test, weight in itertools.chain(questions, worded_ones):
        if text in ready or text in {"self", "cls"}:
            yield test, weight * (1.0 if text in used else 0.4)
    for text in (chain for chain in survey.chains if chain.partition(".")[0] in used):
        yield from ((test, weight * 0.6) for test, weight in _questions(survey, text))
    yield from _of_pairs(survey, block, numbers, [text for text in ready if text not in numbers][:5], used)
    yield from _of_holders(survey, [text for text in names if survey.sized(text)], names, numbers, used)


def _of_holders(
    survey: Survey, holders: list[str], names: list[str], numbers: list[str], used: set[str]
) -> Iterator[tuple[Piece, float]]:  # fmt: skip
    """How much a holder holds, and whether it holds what is used next."""
    for holder, number in itertools.product(holders, numbers):
        weight = 0.08 if holder in used or number in used else 0.04
        for order in (ast.LtE, ast.Lt, ast.Gt, ast.Eq):
            yield compare(build.call("len", name(holder)), order, name(number)), weight
    for holder in holders:
        for text in (text for text in names if text != holder and text in used):
            yield compare(name(text), ast.In, name(holder)), 0.35 if (text, holder) in survey.members else 0.12
            yield compare(name(text), ast.NotIn, name(holder)), 0.08


def _of_pairs(
    survey: Survey, block: Block, numbers: list[str], others: list[str], used: set[str]
) -> Iterator[tuple[Piece, float]]:  # fmt: skip
    """Two variables held against each other, the one that is bound later first."""
    for texts in (numbers, others):
        for pair in itertools.combinations(texts, 2):
            left, right = sorted(pair, key=lambda text: -survey.bound_at(block, text))
            if texts is others and not survey.kinds(left) & survey.kinds(right) and survey.known(left):
                continue
            weight = 0.16 if left in used and right in used else 0.08
            yield compare(name(left), ast.Eq, name(right)), weight
            yield compare(name(left), ast.NotEq, name(right)), weight * 0.3
            ordered = texts is numbers or not (survey.kinds(left) | survey.kinds(right)) & _UNORDERED
            for order in (ast.Gt, ast.GtE, ast.Lt, ast.LtE) if ordered else ():
                yield compare(name(left), order, name(right)), weight * 0.65


def _questions(survey: Survey, text: str) -> Iterator[tuple[Piece, float]]:
    subject = name(text)
    if survey.number(text):
        for order, value, weight in ((ast.Eq, 0, 0.3), (ast.Eq, 1, 0.12), (ast.Lt, 0, 0.12), (ast.LtE, 0, 0.12)):
            yield compare(subject, order, constant(value)), weight
        yield compare(subject, ast.Lt, constant(1)), 0.08
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
