"""Inserted guards: an early return, `continue`, `break` or `raise`, and an `if` around existing statements.

The tests are made from the visible variables and the constants of the file and its tests.
"""

from __future__ import annotations

import ast
import heapq
import itertools
from collections.abc import Iterable, Iterator
from typing import TypeGuard

from nightshift_engine.edit import Edit
from nightshift_engine.edits import build
from nightshift_engine.edits.build import Piece, compare, constant, method, name, refuse, rename
from nightshift_engine.edits.conditions import BUILTINS, guards_of, occurring
from nightshift_engine.edits.exits import outcomes
from nightshift_engine.edits.moves import title
from nightshift_engine.edits.statement_edits import change, insert, statement_operator
from nightshift_engine.edits.statement_view import JUMPS, Block, Site, StatementView, fits
from nightshift_engine.kinds import BOOL, MAPPING, NONE, SIZED

_MOST_TEXTS = 10
_MOST_NUMBERS = 4
_ORDERS = (ast.Eq, ast.Gt, ast.Lt, ast.GtE)


def word_conditions(view: StatementView, block: Block) -> Iterator[tuple[Piece, float, str]]:
    """Yield conditions on visible variables and dotted chains, with a weight and the variable that each tests."""
    visible = view.visible(block)
    for text in (*view.names(block), *view.chains):
        if text in {"self", "cls"} or text.partition(".")[0] not in visible:
            continue
        kinds = view.kinds(text)
        if kinds & MAPPING or (not kinds and text in view.looked_into):
            yield from ((test, weight, text) for test, weight in _of_record(view, text))
        elif "str" in kinds:
            yield from ((test, weight, text) for test, weight in _of_text(view, text))
        elif view.number(text):
            yield from ((test, weight, text) for test, weight in _of_number(view, text))


def _of_record(view: StatementView, text: str) -> Iterator[tuple[Piece, float]]:
    for key in view.texts[:_MOST_TEXTS]:
        if key.isidentifier():
            yield method(name(text), "get", constant(key)), 0.12
            yield compare(constant(key), ast.In, name(text)), 0.05
            yield compare(constant(key), ast.NotIn, name(text)), 0.05


def _of_text(view: StatementView, text: str) -> Iterator[tuple[Piece, float]]:
    for mark in dict.fromkeys(literal[0] for literal in view.texts if literal and not literal[0].isalnum()):
        yield method(name(text), "startswith", constant(mark)), 0.08
    for literal in view.texts[:_MOST_TEXTS]:
        if literal:
            yield method(name(text), "startswith", constant(literal)), 0.08
            yield compare(name(text), ast.Eq, constant(literal)), 0.1
            yield compare(constant(literal), ast.In, name(text)), 0.04


def _of_number(view: StatementView, text: str) -> Iterator[tuple[Piece, float]]:
    for value in view.numbers[:_MOST_NUMBERS]:
        yield from ((compare(name(text), order, constant(value)), 0.04) for order in _ORDERS)


_MOST_GUARDS = 850
_LEAST = 0.004
_FRESH = 2.5
_UNORDERED = SIZED | BOOL | NONE
_EMPTY = ast.Constant | ast.List | ast.Dict
_Gap = tuple[Block, int, int]
_Plan = tuple[float, _Gap, Piece, ast.stmt, str]


@statement_operator()
def guards(view: StatementView) -> Iterable[Edit]:
    """Insert guards such as `if …: return …` before a statement."""
    plans = (plan for gap in view.gaps for plan in _at(view, gap))
    best = heapq.nlargest(_MOST_GUARDS, plans, key=lambda plan: plan[0] * view.suspicion(plan[1][2]))
    return (_build(*plan) for plan in best)


def _build(weight: float, gap: _Gap, test: Piece, ending: ast.stmt, text: str) -> Edit:
    note = f"`if {test.text}: {text}` is put in"
    return insert("guard", gap, build.when(test, ending), weight, note)


def _at(view: StatementView, gap: _Gap) -> Iterator[_Plan]:
    """Yield a plan (weight, place and parts) for each guard before one statement.

    Edits are built only from the best plans, because there are many more plans than edits needed.
    """
    block, index, _ = gap
    if index >= len(block.statements):
        return
    unready = view.unready(block, block.statements[index].lineno)
    endings = [each for each in outcomes(view, block) if unready.isdisjoint(view.list_read_names(each[0]))]
    position_weight = _place_weight(view, block, index)
    fresh, constant_names = _just_bound(block, index), _list_constant_names(block, index)
    for test, usual in guard_tests(view, block, index).values():
        names = view.names_in(test)
        if names & (unready | constant_names):
            continue
        weight = usual * (_FRESH if names & fresh else 1.0)
        for ending, text, share in endings:
            worth = weight * share * position_weight
            if worth >= _LEAST:
                yield worth, gap, test, ending, text


def _just_bound(block: Block, index: int) -> set[str]:
    """Return the names that the previous statement binds: guards can test them from here on."""
    return _list_stored(block.statements[index - 1]) if index > block.first else set()


def _list_constant_names(block: Block, index: int) -> set[str]:
    """Return the names that hold a constant or an empty container here: guards need not test them."""
    names = set[str]()
    for node in block.statements[:index]:
        empty = (
            isinstance(node, ast.Assign) and isinstance(node.value, _EMPTY) and not getattr(node.value, "elts", None)
        )
        names = (
            names | _list_stored(node)
            if empty
            else names - {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
        )
    return names


def _list_stored(node: ast.stmt) -> set[str]:
    nodes = ast.walk(node) if isinstance(node, ast.Assign) else ()
    return {part.id for part in nodes if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}


def _place_weight(view: StatementView, block: Block, index: int) -> float:
    """Rate a place for a guard: the start of a function's body is best, above all after a RecursionError."""
    if index > block.first:
        return 0.3
    if not isinstance(block.owner, ast.FunctionDef | ast.AsyncFunctionDef):
        return 0.6
    return 3.0 if any(kind == "RecursionError" for kind, _ in view.context.errors) else 1.0


def guard_tests(
    view: StatementView, block: Block, index: int, also: ast.stmt | None = None
) -> dict[str, tuple[Piece, float]]:  # fmt: skip
    """Return the tests for a guard, each text once with its greatest weight.

    Variables that the next statement or the statement `also` uses weigh most.
    """
    key = id(block.owner), block.field, index
    if also is not None:
        return _tests(view, block, index, also)
    if key not in view.tests:
        view.tests[key] = _tests(view, block, index, None)
    return view.tests[key]


def _tests(view: StatementView, block: Block, index: int, also: ast.stmt | None) -> dict[str, tuple[Piece, float]]:
    following = block.statements[index]
    used = {text for node in (following, also) if node for text in view.list_read_names(node)}
    best: dict[str, tuple[Piece, float]] = {}
    for test, weight in (*_of_names(view, block, following, used), *_of_uses(view, block, index)):
        if weight > best.get(test.text, (test, 0.0))[1]:
            best[test.text] = (test, weight)
    return best


def _of_names(
    view: StatementView, block: Block, following: ast.stmt, used: set[str]
) -> Iterator[tuple[Piece, float]]:  # fmt: skip
    names = [text for text in view.names(block) if text not in {"self", "cls"}]
    ready = [text for text in names if view.find_binding(block, text) < following.lineno]
    numbers = [text for text in ready if view.number(text)][:5]
    questions = ((text, *asked) for text in ready for asked in _questions(view, text))
    worded_ones = ((text.partition(".")[0], test, weight) for test, weight, text in word_conditions(view, block))
    for text, test, weight in itertools.chain(questions, worded_ones):
        if text in ready or text in {"self", "cls"}:
            yield test, weight * (1.0 if text in used else 0.4)
    for text in (chain for chain in view.chains if chain.partition(".")[0] in used):
        yield from ((test, weight * 0.6) for test, weight in _questions(view, text))
    yield from _of_pairs(view, block, numbers, [text for text in ready if text not in numbers][:5], used)
    yield from _of_holders(view, [text for text in names if view.has_length(text)], names, numbers, used)


def _of_holders(
    view: StatementView, holders: list[str], names: list[str], numbers: list[str], used: set[str]
) -> Iterator[tuple[Piece, float]]:  # fmt: skip
    """Yield comparisons of a container's length, and membership tests for variables that are used next."""
    for holder, number in itertools.product(holders, numbers):
        weight = 0.08 if holder in used or number in used else 0.04
        for order in (ast.LtE, ast.Lt, ast.Gt, ast.Eq):
            yield compare(build.call("len", name(holder)), order, name(number)), weight
    for holder in holders:
        for text in (text for text in names if text != holder and text in used):
            yield compare(name(text), ast.In, name(holder)), 0.35 if (text, holder) in view.members else 0.12
            yield compare(name(text), ast.NotIn, name(holder)), 0.08


def _of_pairs(
    view: StatementView, block: Block, numbers: list[str], others: list[str], used: set[str]
) -> Iterator[tuple[Piece, float]]:  # fmt: skip
    """Yield comparisons of two variables, with the variable that is bound later on the left."""
    for texts in (numbers, others):
        for pair in itertools.combinations(texts, 2):
            left, right = sorted(pair, key=lambda text: -view.find_binding(block, text))
            if texts is others and not view.kinds(left) & view.kinds(right) and view.has_kind(left):
                continue
            weight = 0.16 if left in used and right in used else 0.08
            yield compare(name(left), ast.Eq, name(right)), weight
            yield compare(name(left), ast.NotEq, name(right)), weight * 0.3
            ordered = texts is numbers or not (view.kinds(left) | view.kinds(right)) & _UNORDERED
            for order in (ast.Gt, ast.GtE, ast.Lt, ast.LtE) if ordered else ():
                yield compare(name(left), order, name(right)), weight * 0.65


def _questions(view: StatementView, text: str) -> Iterator[tuple[Piece, float]]:
    subject = name(text)
    if view.number(text):
        for order, value, weight in ((ast.Eq, 0, 0.3), (ast.Eq, 1, 0.12), (ast.Lt, 0, 0.12), (ast.LtE, 0, 0.12)):
            yield compare(subject, order, constant(value)), weight
        yield compare(subject, ast.Lt, constant(1)), 0.08
        yield compare(subject, ast.LtE, constant(1)), 0.06
        yield compare(subject, ast.Lt, constant(2)), 0.04
    else:
        yield refuse(subject), 0.35
        yield compare(subject, ast.Is, constant(None)), 0.1 if view.has_length(text) else 0.25
    if view.has_length(text):
        yield compare(build.call("len", subject), ast.LtE, constant(1)), 0.12
        yield compare(build.call("len", subject), ast.Eq, constant(1)), 0.06


def _of_uses(view: StatementView, block: Block, index: int) -> Iterator[tuple[Piece, float]]:
    for test, weight in guards_of(view, block.statements[index]):
        yield view.negate(test), weight * 1.2
    head = index == block.first and isinstance(block.owner, ast.FunctionDef | ast.AsyncFunctionDef)
    for node in block.statements[index + 1 :] if head else ():
        yield from ((view.negate(test), weight) for test, weight in guards_of(view, node))
    for test, weight in occurring(view, block):
        yield test, weight * 0.5
        yield view.negate(test), weight * 0.3


_MOST_WRAPPED = 400
_SIMPLE = ast.Assign | ast.AugAssign | ast.Expr
_LARGEST = 24  # maximum number of nodes of a statement that is copied with a guard
_MOST_SOURCES = 8


@statement_operator(_MOST_WRAPPED)
def wrap(view: StatementView) -> Iterable[Edit]:
    """Put `if …:` around a statement, and insert short statements of the scope with the guard that they need."""
    edits = [edit for site in view.sites if isinstance(site.node, _SIMPLE) for edit in _around(view, site)]
    edits += [edit for site in view.sites if isinstance(site.node, JUMPS) for edit in _make_conditional(view, site)]
    edits += [edit for gap in view.gaps for edit in _repeat_behind(view, gap)]
    return edits


def _make_conditional(view: StatementView, site: Site) -> Iterator[Edit]:
    """Make a jump conditional if the statements after it are unreachable because of it."""
    if site.index + 1 >= len(site.block.statements):
        return
    text = title(site.node)
    for test, weight in guard_tests(view, site.block, site.index + 1, site.node).values():
        if view.unready(site.block, site.node.lineno).isdisjoint(view.list_read_names(test.node)):
            new = build.when(test, site.node)
            yield change("wrapped", site, [new], min(weight * 2, 1.0), f"{text} is done only `if {test.text}`")


def _is_short(node: ast.AST) -> TypeGuard[ast.AugAssign | ast.Expr]:
    return isinstance(node, ast.AugAssign | ast.Expr) and sum(1 for _ in ast.walk(node)) <= _LARGEST


def _around(view: StatementView, site: Site) -> Iterator[Edit]:
    text = title(site.node)
    seen: set[str] = set()
    asked = guard_tests(view, site.block, site.index).values()
    likely = [(condition, weight * 0.35) for test, weight in asked for condition in (view.negate(test), test)]
    for test, weight in (
        *guards_of(view, site.node),
        *_question_names(view, site),
        *_find_conditions(view, site.block),
        *likely,
    ):
        if test.text not in seen:
            seen.add(test.text)
            note = f"{text} is done only `if {test.text}`"
            yield change("wrapped", site, [build.when(test, site.node)], weight, note)
            yield from _with_next(view, site, test, weight, note)


def _with_next(view: StatementView, site: Site, test: Piece, weight: float, note: str) -> Iterator[Edit]:
    """Put the next statement under the same condition; likelier if the statement reads a tested variable."""
    pair = site.block.statements[site.index : site.index + 2]
    if len(pair) == 2 and isinstance(pair[1], _SIMPLE):
        share = 0.7 if view.names_in(test).intersection(view.list_read_names(pair[1])) else 0.25
        wider_note = f"{note}, with what follows"
        yield change("wrapped", site, [build.when(test, *pair)], weight * share, wider_note, count=2)


def _question_names(view: StatementView, site: Site) -> Iterator[tuple[Piece, float]]:
    """Yield, for each variable that the statement reads, the tests that it is true and that it is not None."""
    used = set(view.list_read_names(site.node))
    for text in view.names(site.block):
        if text in used and text not in {"self", "cls"} and not view.number(text):
            yield name(text), 0.08
            yield compare(name(text), ast.IsNot, constant(None)), 0.05


def _find_conditions(view: StatementView, block: Block) -> Iterator[tuple[Piece, float]]:
    for test, weight in occurring(view, block):
        yield test, weight * 0.4
        yield view.negate(test), weight * 0.25


def _repeat_behind(view: StatementView, gap: tuple[Block, int, int]) -> Iterator[Edit]:
    """Repeat a short statement of a loop after the loop, with a guard.

    The last group, number or word that a loop gathers usually has to be processed after the loop. Versions of the
    statement with another variable are tried as well.
    """
    block, index, _ = gap
    loop = block.statements[index - 1] if index > block.first else None
    if not isinstance(loop, ast.For | ast.While):
        return
    nodes = {ast.unparse(node): node for node in ast.walk(loop) if _is_short(node)}
    for node in list(nodes.values())[:_MOST_SOURCES]:
        if fits(node, block):
            for version, share in _versions(view, block, node):
                yield from _guard(view, gap, version, share)


def _versions(view: StatementView, block: Block, node: ast.stmt) -> Iterator[tuple[ast.stmt, float]]:
    """Yield the statement itself, and versions with another variable in its arguments or in the value that it adds."""
    value = node.value if isinstance(node, ast.AugAssign | ast.Expr) else None
    parts = value.args if isinstance(value, ast.Call) else [value] if isinstance(node, ast.AugAssign) else []
    handed = {text for part in parts if part for text in view.list_read_names(part)}
    if view.visible(block) | BUILTINS >= set(view.list_read_names(node)):
        yield node, 1.0
    for old in sorted(handed - BUILTINS):
        for new in view.names(block):
            if new != old and new not in handed and view.alike(new, old):
                yield rename(node, old, new), 0.6 if view.kinds(new) & view.kinds(old) else 0.3


def _guard(view: StatementView, gap: tuple[Block, int, int], node: ast.stmt, share: float) -> Iterator[Edit]:
    names = set(view.list_read_names(node))
    for text in (text for text in view.names(gap[0]) if text in names):
        for test in _tests_of(view, text):
            branch = build.when(test, node)
            note = f"`if {test.text}:` with {title(node)} is put in"
            yield insert("wrapped", gap, branch, 0.15 * share, note)


def _tests_of(view: StatementView, text: str) -> Iterator[Piece]:
    if not view.number(text):
        yield name(text)
        return
    for order, value in ((ast.Gt, 0), (ast.Gt, 1), (ast.NotEq, 0)):
        yield compare(name(text), order, constant(value))
