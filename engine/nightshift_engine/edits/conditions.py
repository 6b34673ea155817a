"""Edits of conditions and branches: tests negated, widened or narrowed; `if`, `elif`, `else` and ternaries changed."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator
from typing import TypeGuard

from nightshift_engine.edit import Edit
from nightshift_engine.edits import build
from nightshift_engine.edits.build import Piece, compare, constant, join_with, name, negate, refuse, rename
from nightshift_engine.edits.statement_edits import (
    StatementExpression,
    best_of,
    change,
    choices,
    statement_expressions,
    statement_operator,
)
from nightshift_engine.edits.statement_view import Block, Site, StatementView, fits, parts_of
from nightshift_engine.tree import MIRRORED

BUILTINS = frozenset(dir(builtins))
"""Names that any file may use."""
_MOST_CONDITIONS = 1000
_MOST_ADDITIONS = 50
_RELATIONS = ast.Lt | ast.LtE | ast.Gt | ast.GtE
_ORDERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)

Proposals = Iterator[tuple[Piece, float]]


@statement_operator(_MOST_CONDITIONS)
def conditions(view: StatementView) -> Iterable[Edit]:
    """Change the tests of `if`, `while`, ternaries and comprehensions, and returned comparisons."""
    return (edit for spot in tests(view) for edit in choices("condition", spot, _others(view, spot)))


def tests(view: StatementView) -> Iterator[StatementExpression]:
    """Yield the expressions of conditions."""
    for site in view.sites:
        for spot in statement_expressions(site):
            if any(spot.node is test for test in parts_of(spot.parent)) or _is_returned(spot):
                yield spot


def _is_returned(spot: StatementExpression) -> bool:
    return isinstance(spot.parent, ast.Return) and isinstance(spot.node, ast.Compare | ast.BoolOp)


def _others(view: StatementView, spot: StatementExpression) -> Proposals:
    old = spot.piece
    fixed = isinstance(old.node, ast.Constant)
    yield negate(old), 0.5
    yield from _of_parts(old)
    yield from _forms(old)
    yield from _bare(view, spot, 4.0 if fixed else 1.0)
    yield from _alien(view, spot, old)
    present = _texts_of_parts(old)
    for part, weight in best_of(_additions(view, spot), _MOST_ADDITIONS):
        if part.text in present:
            continue
        opposite = view.negate(part)
        yield part, weight * 0.6
        if not fixed:
            yield join_with(ast.And, part, old), weight
            yield join_with(ast.Or, opposite, old), weight
            yield join_with(ast.And, old, part), weight * 0.9
            yield join_with(ast.Or, old, opposite), weight * 0.9


def _texts_of_parts(old: Piece) -> set[str]:
    parts = old.node.values if isinstance(old.node, ast.BoolOp) else [old.node]
    return {ast.unparse(part) for part in parts}


def _of_parts(old: Piece) -> Proposals:
    """Drop or negate parts of `and` and `or`, and exchange the two connectives."""
    if not isinstance(old.node, ast.BoolOp):
        return
    operator, values = type(old.node.op), [build.piece(value) for value in old.node.values]
    yield join_with(ast.Or if operator is ast.And else ast.And, *values), 0.5
    for index, value in enumerate(values):
        rest = values[:index] + values[index + 1 :]
        yield (join_with(operator, *rest) if len(rest) > 1 else rest[0]), 0.25
        yield join_with(operator, *values[:index], negate(value), *values[index + 1 :]), 0.25


def subject_of(node: ast.expr) -> ast.expr:
    """Return the subject of a simple condition: `x` of `not x`, of `x is None`, of `len(x) == 0`."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return subject_of(node.operand)
    if isinstance(node, ast.Compare):
        return subject_of(node.left)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len" and node.args:
        return node.args[0]
    return node


def _forms(old: Piece) -> Proposals:
    """Yield common conditions on the subject of the old condition."""
    node = subject_of(old.node)
    if not isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.Call):
        return
    weight = 0.1 if isinstance(old.node, ast.Compare) else 0.2
    yield from ((form, weight) for form in questions(build.piece(node)))


def questions(subject: Piece) -> Iterator[Piece]:
    """Yield common conditions on a value: whether it is true, None, empty or zero."""
    none, zero, length = constant(None), constant(0), build.call("len", subject)
    yield from (subject, refuse(subject), compare(subject, ast.Is, none), compare(subject, ast.IsNot, none))
    yield from (compare(length, ast.Eq, zero), compare(subject, ast.Eq, zero), compare(subject, ast.NotEq, zero))


def _bare(view: StatementView, spot: StatementExpression, scale: float) -> Proposals:
    used = set(view.list_read_names(spot.node))
    for part in view.pieces(spot.site.block):
        weight = 0.1 if part.text in used else 0.05
        if view.number(part.text):
            weight *= 0.3
        yield part, weight * scale
        yield refuse(part), weight * 0.5
        if view.has_length(part.text):
            length = build.call("len", part)
            yield compare(length, ast.Eq, constant(1)), 0.04
            yield compare(length, ast.LtE, constant(1)), 0.04
    for value in (True, False):
        yield constant(value), 0.06 if value else 0.04


def _alien(view: StatementView, spot: StatementExpression, old: Piece) -> Proposals:
    """Yield other conditions of the file whose names are visible here: alone, negated, or joined to the old one."""
    for part, weight in occurring(view, spot.site.block):
        yield part, weight
        opposite = view.negate(part)
        yield opposite, weight * 0.4
        if not isinstance(old.node, ast.Constant) and part.text != old.text:
            for operator in (ast.And, ast.Or):
                yield join_with(operator, old, part), weight * 0.7
                yield join_with(operator, part, old), weight * 0.5
                yield join_with(operator, old, opposite), weight * 0.3


def occurring(view: StatementView, block: Block) -> Proposals:
    """Yield the conditions of the file whose names are visible in a block, with weights."""
    visible = view.visible(block) | BUILTINS
    for part, near in view.conditions:
        if visible >= view.names_in(part):
            yield part, 0.12 if near else 0.03


def _additions(view: StatementView, spot: StatementExpression) -> Proposals:
    yield from guards_of(view, spot.node)
    inside = spot.parent.body if isinstance(spot.parent, ast.If | ast.While) else []
    for node in inside[:3]:
        yield from ((part, weight * 0.5) for part, weight in guards_of(view, node))
    names = view.names(spot.site.block)
    yield from _likewise(view, spot, names)
    for text in names:
        if view.has_length(text):
            yield name(text), 0.05
        elif not view.has_kind(text):
            yield name(text), 0.05
            yield compare(name(text), ast.IsNot, constant(None)), 0.05
    yield from comparisons(view, names, set(view.list_read_names(spot.node)))


def _likewise(view: StatementView, spot: StatementExpression, names: list[str]) -> Proposals:
    """Yield the same condition on another variable: a condition on `i` is often needed for `j` too.

    Each condition is followed by its negation, because the old condition may be joined to the new one by `and` or by
    `or`.
    """
    parts = spot.node.values if isinstance(spot.node, ast.BoolOp) else [spot.node]
    for part in parts:
        used = list(dict.fromkeys(view.list_read_names(part)))
        for old in [text for text in used if text in names][:2] if len(used) <= 3 else ():
            for new in names:
                fitting = view.kinds(old) & view.kinds(new) or not view.kinds(old)
                if new != old and new not in {"self", "cls"} and fitting:
                    other = build.piece(rename(part, old, new))
                    yield other, 0.12
                    yield view.negate(other), 0.12


def comparisons(view: StatementView, names: list[str], used: set[str]) -> Proposals:
    """Yield comparisons of visible variables of matching kinds; variables of the old condition weigh more."""
    numbers = [text for text in names if view.number(text)][:6]
    for index, left in enumerate(numbers):
        for right in numbers[index + 1 :]:
            weight = 0.03 if left in used or right in used else 0.015
            yield from ((compare(name(left), order, name(right)), weight) for order in _ORDERS)
    for holder in (text for text in names if view.has_length(text)):
        length = build.call("len", name(holder))
        for left in numbers:
            yield compare(name(left), ast.Lt, length), 0.04
        for left in (text for text in names if text != holder):
            yield compare(name(left), ast.In, name(holder)), 0.02
            yield compare(name(left), ast.NotIn, name(holder)), 0.02


def guards_of(view: StatementView, node: ast.AST) -> Proposals:
    """Yield conditions that make an expression safe to evaluate: an object is not None, or an index is in range."""
    kinds = {kind for kind, _ in view.context.errors}
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name | ast.Attribute):
            yield from _not_none(view, part.value, 0.5 if kinds & {"AttributeError", "TypeError"} else 0.15)
        elif isinstance(part, ast.Subscript) and not isinstance(part.slice, ast.Slice):
            yield from _in_range(part, kinds)
        elif isinstance(part, ast.Compare) and isinstance(part.ops[0], _RELATIONS):
            for side in (part.left, *part.comparators):
                yield from _propose_for_side(view, side, "TypeError" in kinds)
        elif _divides(part):
            divisor = build.piece(part.right)
            yield compare(divisor, ast.NotEq, constant(0)), 0.6 if "ZeroDivisionError" in kinds else 0.15


def _divides(node: ast.AST) -> TypeGuard[ast.BinOp]:
    """Check for a division by a non-constant; `"…" % values` is not a division."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Div | ast.FloorDiv | ast.Mod):
        return False
    return not isinstance(node.right, ast.Constant) and not isinstance(node.left, ast.Constant | ast.JoinedStr)


def _not_none(view: StatementView, owner: ast.expr, weight: float) -> Proposals:
    if isinstance(owner, ast.Name) and (owner.id in {"self", "cls"} or _is_never_none(view, owner.id)):
        return
    owned = build.piece(owner)
    yield compare(owned, ast.IsNot, constant(None)), weight
    yield owned, weight * 0.6


def _propose_for_side(view: StatementView, side: ast.expr, loud: bool) -> Proposals:
    """Yield the condition that a side of a comparison is not None."""
    if isinstance(side, ast.Name | ast.Attribute):
        kinds = view.kinds(ast.unparse(side))
        weight = 0.4 if loud or "NoneType" in kinds else 0.1 if not kinds else 0.02
        yield compare(build.piece(side), ast.IsNot, constant(None)), weight


def _is_never_none(view: StatementView, variable: str) -> bool:
    """Check that a name is never None.

    A name that has a length or is a number may be None only if NoneType is among its kinds. Any other name counts as
    never None if the scope binds it nowhere, such as the name of a module.
    """
    if view.has_length(variable) or view.number(variable):
        return "NoneType" not in view.kinds(variable)
    return not any(variable in bound for bound in view.bound.values())


def _in_range(node: ast.Subscript, kinds: set[str]) -> Proposals:
    owner, key = build.piece(node.value), build.piece(node.slice)
    length = build.call("len", owner)
    weight = 0.5 if "IndexError" in kinds else 0.12
    if isinstance(node.slice, ast.Constant | ast.UnaryOp):
        yield owner, weight
    else:
        yield compare(key, ast.Lt, length), weight
        yield compare(key, ast.GtE, constant(0)), weight * 0.5
    yield compare(key, ast.In, owner), 0.5 if "KeyError" in kinds else 0.08


_MOST_BRANCHES = 400


@statement_operator(_MOST_BRANCHES)
def branches(view: StatementView) -> Iterable[Edit]:
    """Change `if` statements, `while` statements and ternaries: their branches and their form."""
    return (edit for site in view.sites for edit in _at(view, site))


def _at(view: StatementView, site: Site) -> Iterator[Edit]:
    if isinstance(site.node, ast.If):
        yield from _of_if(view, site, site.node)
    elif isinstance(site.node, ast.While):
        yield from _of_while(site, site.node)
    for spot in statement_expressions(site):
        if isinstance(spot.node, ast.IfExp):
            yield from choices("ternary", spot, _of_ternary(spot.node))


def _of_if(view: StatementView, site: Site, node: ast.If) -> Iterator[Edit]:
    text = f"if {ast.unparse(node.test)}"
    if not node.orelse:
        loop = ast.While(test=node.test, body=node.body, orelse=[])
        yield change("if_while", site, [loop], 0.15, f"`{text}` becomes a `while`")
        yield from _add_else(view, site, node, text)
    else:
        yield from _of_else(view, site, node, text)
    weight = 0.08 if not node.orelse else 0.04
    yield change("branch", site, node.body, weight, f"what `{text}` holds is done always")


def _add_else(view: StatementView, site: Site, node: ast.If, text: str) -> Iterator[Edit]:
    """Add an `else` to an `if` without one. Its body is the next `if`, the rest of the block, or a result."""
    rest = site.block.statements[site.index + 1 :]
    if rest and isinstance(rest[0], ast.If):
        new = _with(node, orelse=[rest[0]])
        yield change("elif", site, [new], 0.25, f"the `if` after `{text}` becomes its `elif`", count=2)
    for count in range(1, min(len(rest), 3) + 1):
        new = _with(node, orelse=list(rest[:count]))
        yield change("else", site, [new], 0.15 / count, f"`{text}` gets an `else` with what follows", count=count + 1)
    for result, weight in _results(view, site):
        note = f"`{text}` gets an `else` that says `{ast.unparse(result)}`"
        yield change("else", site, [_with(node, orelse=[result])], weight, note)


def _results(view: StatementView, site: Site) -> Iterator[tuple[ast.stmt, float]]:
    function = site.block.function
    if function is None or not site.block.open:
        return
    nodes = view.nodes_of(function)
    if view.is_generator(function):
        return
    returns = {ast.unparse(node): node for node in nodes if isinstance(node, ast.Return)}
    yield from ((node, 0.06) for node in returns.values())
    for value in (None, True, False, 0):
        yield build.return_value(constant(value)), 0.01


def _of_else(view: StatementView, site: Site, node: ast.If, text: str) -> Iterator[Edit]:
    alone, inner = _with(node, orelse=[]), node.orelse[0]
    if len(node.orelse) == 1 and isinstance(inner, ast.If):
        yield change("elif", site, [alone, inner], 0.25, f"the `elif` after `{text}` becomes an `if`")
        crossed = _with(node, body=inner.body, orelse=[_with(inner, body=node.body)])
        yield change("branch", site, [crossed], 0.08, f"the bodies of `{text}` and its `elif` are exchanged")
        without = _with(node, orelse=inner.orelse)
        yield change("branch", site, [without], 0.05, f"the first `elif` after `{text}` is dropped")
    else:
        yield change("else", site, [alone, *node.orelse], 0.2, f"what the `else` of `{text}` holds follows it")
        for test, weight in _second_tests(view, site, node):
            inner = ast.If(test=test.node, body=node.orelse, orelse=[])
            note = f"the `else` of `{text}` becomes `elif {test.text}`"
            yield change("elif", site, [_with(node, orelse=[inner])], weight, note)
    yield change("else", site, [alone], 0.08, f"the `else` of `{text}` is dropped")
    yield change("branch", site, node.orelse, 0.04, f"only the `else` of `{text}` stays")


def _second_tests(view: StatementView, site: Site, node: ast.If) -> Iterator[tuple[Piece, float]]:
    """Yield tests for an `elif`: the mirror image of the first test, and other tests of the file."""
    if isinstance(node.test, ast.Compare) and len(node.test.ops) == 1 and type(node.test.ops[0]) in MIRRORED:
        order, right = MIRRORED[type(node.test.ops[0])](), node.test.comparators[0]
        for other, weight in ((_mirror(right), 0.3), (right, 0.15)):
            yield build.piece(ast.Compare(left=node.test.left, ops=[order], comparators=[other])), weight
    own = ast.unparse(node.test)
    for test, weight in occurring(view, site.block):
        if test.text != own:
            yield test, weight * 0.6


def _mirror(node: ast.expr) -> ast.expr:
    """Return `a + b` for `a - b` and the reverse, `a` for `-a`, and any other node unchanged."""
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
        yield change("if_while", site, [new], 0.15, f"`{text}` becomes an `if`")


def _of_ternary(node: ast.IfExp) -> Iterator[tuple[Piece, float]]:
    swapped = ast.IfExp(test=node.test, body=node.orelse, orelse=node.body)
    yield build.piece(swapped), 0.4
    yield build.piece(node.body), 0.08
    yield build.piece(node.orelse), 0.08


def _with(node: ast.If, body: list[ast.stmt] | None = None, orelse: list[ast.stmt] | None = None) -> ast.If:
    return ast.If(
        test=node.test, body=node.body if body is None else body, orelse=node.orelse if orelse is None else orelse
    )
