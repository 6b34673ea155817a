"""Edits of comprehensions, and common clauses that are added to conditions.

The clauses compare two variables, two items, or a variable with its initial value. `conditions` adds the clauses that
are in the file and those that guard an evaluation. This module adds clauses that are nowhere in the file.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from nightshift_engine.edit import Edit
from nightshift_engine.edits.expression import (
    LOAD,
    ExpressionView,
    Spot,
    become,
    binary,
    call,
    expression_operator,
    name,
    name_callee,
    negation,
    number,
    swap,
    with_item,
    without,
)
from nightshift_engine.kinds import CALLABLE, INT, LIST, MAPPING, NUMBER, SEQUENCE, SET, SIZED, STR, Kind, is_number
from nightshift_engine.tree import Function

COMPREHENSION = "comprehension"
_MOST_COMPREHENSIONS = 600
Comprehension = ast.ListComp | ast.SetComp | ast.GeneratorExp
_FORMS: tuple[type[Comprehension], ...] = (ast.ListComp, ast.SetComp, ast.GeneratorExp)


@expression_operator(_MOST_COMPREHENSIONS)
def comprehensions(view: ExpressionView) -> Iterator[Edit]:
    """Change the conditions, elements and forms of comprehensions, and the way in which loops iterate."""
    for spot, clause in view.of(ast.comprehension):
        yield from _conditions(view, spot, clause)
    for spot, node in view.of(*_FORMS, ast.DictComp):
        yield from _nesting(view, spot, node)
        if isinstance(node, ast.DictComp):
            new = ast.DictComp(key=node.value, value=node.key, generators=node.generators)
            yield from swap(spot, new, COMPREHENSION, 0.4, f"key and value swapped in `{view.text(node)}`")
        else:
            yield from _forms(view, spot, node)
            yield from _elements(view, spot, node)
    for spot, value in view.values:
        if spot.field == "iter":
            yield from _iterables(view, spot, value)


def _conditions(view: ExpressionView, spot: Spot, node: ast.comprehension) -> Iterator[Edit]:
    for index, condition in enumerate(node.ifs):
        text = view.text(condition)
        yield from swap(spot, _with_ifs(node, without(node.ifs, index)), COMPREHENSION, 0.5, f"`if {text}` dropped")
        if not isinstance(condition, ast.Compare):
            negated = with_item(node.ifs, index, negation(condition))
            yield from swap(spot, _with_ifs(node, negated), COMPREHENSION, 0.5, f"`if {text}` negated")
    for condition, weight in _new_conditions(view, spot, node):
        new = _with_ifs(node, [*node.ifs, condition])
        yield from swap(spot, new, COMPREHENSION, weight, f"only those `if {ast.unparse(condition)}`")


def _with_ifs(node: ast.comprehension, ifs: list[ast.expr]) -> ast.comprehension:
    return ast.comprehension(target=node.target, iter=node.iter, ifs=ifs, is_async=node.is_async)


def _new_conditions(view: ExpressionView, spot: Spot, node: ast.comprehension) -> Iterator[tuple[ast.expr, float]]:
    """Yield conditions on the variables of the clause: their truth, and comparisons with other visible variables."""
    own = [part.id for part in ast.walk(node.target) if isinstance(part, ast.Name)]
    for word in own:
        kind = view.kinds.of_name(word)
        yield name(word), 0.25
        if is_number(kind) or not kind:
            yield ast.Compare(left=name(word), ops=[ast.Gt()], comparators=[number(0)]), 0.12 if kind else 0.03
        yield ast.Compare(left=name(word), ops=[ast.IsNot()], comparators=[ast.Constant(value=None)]), 0.15
        for other in spot.visible.near:
            if other not in own and other != spot.visible.owner:
                yield from ((condition, weight * 0.4) for condition, weight in _by_part(view, word, kind, other))
                for op, weight in _relations(kind, view.kinds.of_name(other), view.kinds.of_name(f"{other}[]")):
                    yield ast.Compare(left=name(word), ops=[op()], comparators=[name(other)]), weight


def _by_part(view: ExpressionView, word: str, kind: Kind, other: str) -> Iterator[tuple[ast.expr, float]]:
    """Yield comparisons of a variable's item or attribute with another variable.

    The items and attributes are those that the file uses.
    """
    wanted = view.kinds.of_name(other)
    if wanted & (CALLABLE | SIZED - STR) or kind & (NUMBER | STR):
        return
    parts: list[ast.expr] = [ast.Subscript(value=name(word), slice=index, ctx=LOAD) for index in view.file.indices]
    if not kind & SIZED:
        parts += [ast.Attribute(value=name(word), attr=attr, ctx=LOAD) for attr in view.file.attributes[:4]]
    for part in parts:
        for op in (ast.NotEq, ast.Eq):
            yield ast.Compare(left=part, ops=[op()], comparators=[name(other)]), 0.2


def _relations(kind: Kind, other: Kind, items: Kind) -> Iterator[tuple[type[ast.cmpop], float]]:
    if other & SIZED:
        if not kind or not items or kind & items:
            yield ast.NotIn, 0.25
            yield ast.In, 0.2
    elif not kind or not other or kind & other:
        yield ast.NotEq, 0.2
        if is_number(kind) and is_number(other):
            yield from ((op, 0.1) for op in (ast.Lt, ast.LtE, ast.Gt, ast.GtE))


def _nesting(view: ExpressionView, spot: Spot, node: Comprehension | ast.DictComp) -> Iterator[Edit]:
    """Swap adjacent clauses of a comprehension if the later clause does not use variables of the earlier clause."""
    clauses = node.generators
    for index in range(len(clauses) - 1):
        earlier, later = clauses[index], clauses[index + 1]
        bound = {part.id for part in ast.walk(earlier.target) if isinstance(part, ast.Name)}
        if any(isinstance(part, ast.Name) and part.id in bound for part in ast.walk(later.iter)):
            # The later clause needs a variable of the earlier clause, so the order cannot change. Conditions of the
            # clauses are not checked here: if one depends on the order, the candidate fails when it runs.
            continue
        turned = [*clauses[:index], later, earlier, *clauses[index + 2 :]]
        yield from swap(
            spot, _with_clauses(node, turned), COMPREHENSION, 0.3, f"clauses of `{view.text(node)}` swapped"
        )


def _with_clauses(node: Comprehension | ast.DictComp, clauses: list[ast.comprehension]) -> ast.expr:
    if isinstance(node, ast.DictComp):
        return ast.DictComp(key=node.key, value=node.value, generators=clauses)
    return type(node)(elt=node.elt, generators=clauses)


def _forms(view: ExpressionView, spot: Spot, node: Comprehension) -> Iterator[Edit]:
    text = view.text(node)
    for form in _FORMS:
        # A generator that is the only argument of a call shares the call's parentheses.
        weight = 0.15 if form is not ast.GeneratorExp else 0.03
        yield from swap(
            spot, form(elt=node.elt, generators=node.generators), COMPREHENSION, weight, f"`{text}` in another form"
        )


def _elements(view: ExpressionView, spot: Spot, node: Comprehension) -> Iterator[Edit]:
    """Replace the element by the loop variables, without the computation on them."""
    words = [part.id for clause in node.generators for part in ast.walk(clause.target) if isinstance(part, ast.Name)]
    if not isinstance(node.elt, ast.Name):
        for word in words:
            new = type(node)(elt=name(word), generators=node.generators)
            yield from swap(spot, new, COMPREHENSION, 0.25, become(view.text(node.elt), word))
    if len(words) > 1:
        pair = ast.Tuple(elts=[name(word) for word in words], ctx=LOAD)
        new = type(node)(elt=pair, generators=node.generators)
        yield from swap(spot, new, COMPREHENSION, 0.15, become(view.text(node.elt), f"({', '.join(words)})"))


def _iterables(view: ExpressionView, spot: Spot, node: ast.expr) -> Iterator[Edit]:
    kind, text = view.kind(node), view.text(node)
    for new, weight in (*_unwrap(node), *_vary_iterable(spot, node, kind)):
        yield from swap(spot, new, "iterable", weight, become(text, ast.unparse(new)))


def _unwrap(node: ast.expr) -> Iterator[tuple[ast.expr, float]]:
    """Yield variants of `enumerate`, `range` or `zip` over a collection: without indices, or with other indices."""
    if not isinstance(node, ast.Call):
        return
    if name_callee(node) == "enumerate" and len(node.args) == 1 and not node.keywords:
        yield call("enumerate", node.args[0], number(1)), 0.5
    elif name_callee(node) == "enumerate" and node.args:
        yield call("enumerate", node.args[0]), 0.5
    if name_callee(node) == "range" and len(node.args) == 1:
        size = node.args[0]
        if isinstance(size, ast.Call) and name_callee(size) == "len" and size.args:
            yield size.args[0], 0.3
            yield call("enumerate", size.args[0]), 0.15
        else:
            yield call("range", call("len", size)), 0.2
    if name_callee(node) == "zip" and len(node.args) == 2:
        first, second = node.args
        shifted = ast.Subscript(value=second, slice=ast.Slice(lower=number(1)), ctx=LOAD)
        yield call("zip", first, shifted), 0.2


def _vary_iterable(spot: Spot, node: ast.expr, kind: Kind) -> Iterator[tuple[ast.expr, float]]:
    """Yield iterables in place of a collection: its indices, its pairs, its parts, or a copy of the collection."""
    pair = isinstance(getattr(spot.parent, "target", None), ast.Tuple)
    if isinstance(node, ast.Constant | ast.List | ast.Tuple):
        return
    if kind & NUMBER or (not kind and isinstance(node, ast.Name)):
        sure = 0.9 if kind else 0.1
        yield call("range", node), sure
        yield call("range", number(1), binary(node, ast.Add, number(1))), sure * 0.4
    if kind & (SIZED - MAPPING - SET) or not kind:
        yield call("range", call("len", node)), 0.3 if not pair else 0.05
        yield call("enumerate", node), 0.6 if pair else 0.1
    if kind & MAPPING or (not kind and isinstance(node, ast.Name | ast.Attribute)):
        sure = 1.0 if kind else 0.3
        for word, weight in (("items", 0.7 if pair else 0.15), ("values", 0.4), ("keys", 0.1)):
            method = ast.Attribute(value=node, attr=word, ctx=LOAD)
            yield ast.Call(func=method, args=[], keywords=[]), weight * sure
    if kind & (MAPPING | SET | LIST):
        yield call("list", node), 0.3
        yield call("sorted", node), 0.4


CLAUSE = "clause"
_MOST_CLAUSES, _MOST_AT_ONE = 300, 80
_SIZE = 4
"""Maximum number of variables and items of one kind that are compared with each other at one spot."""

Clause = tuple[ast.expr, float, tuple[type[ast.boolop], ...]]
"""A condition to add, its weight, and the connectives (`and`, `or`) that suit it."""


@expression_operator(_MOST_CLAUSES)
def clauses(view: ExpressionView) -> Iterator[Edit]:
    """Extend a condition `c`, for example to `c and x != y`, `x == first or c`, or `c or a[i] > a[j]`."""
    first = dict(_first_values(view))
    for spot, node in view.values:
        if spot.field in ("test", "ifs") and not isinstance(node, ast.Constant):
            yield from _at(view, spot, node, first)


def _at(view: ExpressionView, spot: Spot, node: ast.expr, first: dict[str, ast.expr]) -> Iterator[Edit]:
    present, used = view.file.parts(node), {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    count = 0
    for clause, weight, connectives in _propose(view, spot, node, first):
        shown = ast.unparse(clause)
        if shown in present or count > _MOST_AT_ONE:
            continue
        count += 1
        names = {part.id for part in ast.walk(clause) if isinstance(part, ast.Name)}
        for op in connectives:
            new = _join(op, node, clause)
            word = "and" if op is ast.And else "or"
            near = 1.0 if names & used else 0.5
            yield from swap(spot, new, CLAUSE, weight * near, f"`{word} {shown}` added to `{view.text(node)}`")


def _join(op: type[ast.boolop], node: ast.expr, clause: ast.expr) -> ast.expr:
    """Join a condition and a clause; the operand that cannot fail comes first, to guard the other one."""
    right = clause.comparators[0] if isinstance(clause, ast.Compare) else None
    ahead = right is None or (_is_safe(clause) and (_is_first(right) or not _is_safe(node)))
    pair = [clause, node] if ahead else [node, clause]
    parts: list[ast.expr] = []
    for part in pair:
        same = isinstance(part, ast.BoolOp) and isinstance(part.op, op)
        parts += part.values if same and isinstance(part, ast.BoolOp) else [part]
    return ast.BoolOp(op=op(), values=parts)


def _is_safe(node: ast.expr) -> bool:
    return not any(
        isinstance(part, ast.Subscript | ast.Attribute | ast.Call | ast.In | ast.NotIn) for part in ast.walk(node)
    )


def _propose(view: ExpressionView, spot: Spot, node: ast.expr, first: dict[str, ast.expr]) -> Iterator[Clause]:
    yield from _convertible(view, node)
    yield from _with_first(spot, node, first)
    yield from _of_items(view, spot, node)
    yield from _of_variables(view, spot)


def _convertible(view: ExpressionView, node: ast.expr) -> Iterator[Clause]:
    """Yield `x.isdigit()` for `and`, and its negation for `or`, if a condition contains `int(x)`."""
    loud = any(error == "ValueError" for error, _ in view.context.errors)
    for part in ast.walk(node):
        if (
            isinstance(part, ast.Call)
            and name_callee(part) == "int"
            and isinstance(next(iter(part.args), None), ast.Name)
        ):
            asked = ast.Call(func=ast.Attribute(value=part.args[0], attr="isdigit", ctx=LOAD), args=[], keywords=[])
            yield asked, 0.4 if loud else 0.15, (ast.And,)
            yield negation(asked), 0.4 if loud else 0.15, (ast.Or,)


def _first_values(view: ExpressionView) -> Iterator[tuple[str, ast.expr]]:
    """Yield the scope's variables whose initial value or default is a literal; the literal may mean "not yet set"."""
    for node in ast.walk(view.root):
        if isinstance(node, ast.Assign) and _is_first(node.value):
            yield from ((target.id, node.value) for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, Function):
            args = node.args.args[len(node.args.args) - len(node.args.defaults) :]
            for arg, default in zip(args, node.args.defaults, strict=True):
                if _is_first(default):
                    yield arg.arg, default


def _is_first(node: ast.AST | None) -> bool:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node = node.operand
    return isinstance(node, ast.Constant) and (node.value is None or isinstance(node.value, int | str))


def _with_first(spot: Spot, node: ast.expr, first: dict[str, ast.expr]) -> Iterator[Clause]:
    """Yield tests whether a variable still has its initial value: `best is None or …`, `last != -1 and …`."""
    for word in dict.fromkeys(part.id for part in ast.walk(node) if isinstance(part, ast.Name)):
        value = first.get(word)
        if value is not None and word in spot.visible.near:
            none = isinstance(value, ast.Constant) and value.value is None
            still = ast.Compare(left=name(word), ops=[ast.Is() if none else ast.Eq()], comparators=[value])
            set_since = ast.Compare(left=name(word), ops=[ast.IsNot() if none else ast.NotEq()], comparators=[value])
            yield still, 0.25, (ast.Or,)
            yield set_since, 0.12, (ast.And,)


def _of_items(view: ExpressionView, spot: Spot, node: ast.expr) -> Iterator[Clause]:
    """Yield comparisons of a collection's items at two visible indices, one of which the condition mentions."""
    numbers = [word for word in spot.visible.near if view.kinds.of_name(word) & INT]
    holders = [word for word in spot.visible.near if view.kinds.of_name(word) & (SEQUENCE | MAPPING)]
    used = [word for word in numbers if word in view.file.parts(node)]
    for holder in holders[-_SIZE:]:
        for index_name in used[:_SIZE]:
            for other in numbers[-_SIZE:]:
                if index_name != other:
                    sides = [
                        ast.Subscript(value=name(holder), slice=name(word), ctx=LOAD) for word in (other, index_name)
                    ]
                    for op, weight in ((ast.Gt, 0.1), (ast.Lt, 0.1), (ast.NotEq, 0.05), (ast.Eq, 0.05)):
                        comparison = ast.Compare(left=sides[0], ops=[op()], comparators=[sides[1]])
                        yield comparison, weight, (ast.And, ast.Or)


def _of_variables(view: ExpressionView, spot: Spot) -> Iterator[Clause]:
    """Yield comparisons of two visible variables of one kind: whether they differ, or which is greater."""
    words = [word for word in spot.visible.near if word != spot.visible.owner][-2 * _SIZE :]
    for index, variable in enumerate(words):
        kind = view.kinds.of_name(variable)
        for other in words[index + 1 :]:
            if _alike(kind, view.kinds.of_name(other)):
                for op, weight, connectives in _RELATIONS:
                    if op in (ast.NotEq, ast.Eq) or kind & NUMBER:
                        comparison = ast.Compare(left=name(variable), ops=[op()], comparators=[name(other)])
                        yield comparison, weight, connectives


_RELATIONS: tuple[tuple[type[ast.cmpop], float, tuple[type[ast.boolop], ...]], ...] = (
    (ast.NotEq, 0.12, (ast.And,)),
    (ast.Eq, 0.05, (ast.Or,)),
    *((op, 0.04, (ast.And, ast.Or)) for op in (ast.Gt, ast.Lt)),
)


def _alike(kind: Kind, other: Kind) -> bool:
    """Check whether two kinds overlap. An unknown kind may equal any kind except functions and most collections."""
    if CALLABLE & (kind | other):
        return False
    return bool(kind & other) if kind and other else not (kind | other) & (SIZED - {"str", "tuple"})
