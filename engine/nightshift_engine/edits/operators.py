"""Edits of comparisons and operators: another operator or order of operands; operands or signs added or dropped."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from nightshift_engine.edit import Edit
from nightshift_engine.edits.expression import (
    ExpressionView,
    Spot,
    become,
    binary,
    expression_operator,
    name,
    negation,
    number,
    swap,
)
from nightshift_engine.edits.names import allow_names, donors
from nightshift_engine.kinds import (
    DICT,
    FLOAT,
    INT,
    LIST,
    NONE,
    NUMBER,
    SEQUENCE,
    SET,
    SIZED,
    STR,
    TUPLE,
    Kind,
    fits,
    is_number,
)
from nightshift_engine.tree import COMPARISONS, MIRRORED, NEGATED, OPERATIONS

COMPARISON = "comparison"
_BOUNDARY: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
}
_ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_EQUAL = (ast.Eq, ast.NotEq)
_IDENTITY = (ast.Is, ast.IsNot)
_MEMBER = (ast.In, ast.NotIn)


@expression_operator()
def comparisons(view: ExpressionView) -> Iterator[Edit]:
    """Change operators, swap sides, drop parts of chains, and compare with 0, None or an empty value."""
    for spot, node in view.of(ast.Compare):
        sides = [node.left, *node.comparators]
        for index, op in enumerate(node.ops):
            yield from _other(view, spot, node, index, (sides[index], sides[index + 1]))
            for new, weight in _usual(view, op, sides[index], sides[index + 1]):
                yield from _with_right(view, spot, node, index, new, weight)
        if len(node.ops) == 1:
            yield from _swap(view, spot, node)
            yield from _reduce(view, spot, node)
        else:
            yield from _shorter(view, spot, node)


def _other(
    view: ExpressionView, spot: Spot, node: ast.Compare, index: int, sides: tuple[ast.expr, ast.expr]
) -> Iterator[Edit]:
    old = type(node.ops[index])
    right = view.kind(sides[1])
    for op, sign in COMPARISONS.items():
        weight = _weight(old, op, right, sides[1])
        if weight:
            ops = [*node.ops[:index], op(), *node.ops[index + 1 :]]
            new = ast.Compare(left=node.left, ops=ops, comparators=node.comparators)
            note = f"{become(COMPARISONS[old], sign)} in `{view.text(node)}`"
            yield from swap(spot, new, COMPARISON, weight, note)


def _weight(old: type[ast.cmpop], op: type[ast.cmpop], right: Kind, comparand: ast.expr) -> float:
    """Rate how likely it is that another comparison operator was meant; 0 if the kinds forbid it."""
    if op is old:
        return 0.0
    if op in _IDENTITY and not _single(comparand):
        return 0.0
    if op in _MEMBER and right and not right & (SIZED | {"iterator"}):
        return 0.0
    if op in _ORDER and (right in (NONE, DICT) or _single(comparand)):
        return 0.0
    if op is _BOUNDARY.get(old):
        return 1.0
    if op is NEGATED[old]:
        return 0.8
    if op is MIRRORED.get(old):
        return 0.7
    return _across(old, op, right)


def _across(old: type[ast.cmpop], op: type[ast.cmpop], right: Kind) -> float:
    groups = (_ORDER, _EQUAL, _IDENTITY, _MEMBER)
    old_group, other = (next(group for group in groups if which in group) for which in (old, op))
    pair = {old_group, other}
    if old_group is other:
        return 0.4
    if pair == {_ORDER, _EQUAL}:
        return 0.4 if not right or right & NUMBER else 0.2
    if pair == {_EQUAL, _IDENTITY}:
        return 0.3
    if pair == {_EQUAL, _MEMBER}:
        return 0.4 if right & (SIZED - {"str"}) else 0.2
    return 0.02


def _single(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and (node.value is None or isinstance(node.value, bool))


def _swap(view: ExpressionView, spot: Spot, node: ast.Compare) -> Iterator[Edit]:
    if isinstance(node.ops[0], _MEMBER):
        new = ast.Compare(left=node.comparators[0], ops=node.ops, comparators=[node.left])
        yield from swap(spot, new, COMPARISON, 0.25, f"the sides of `{view.text(node)}` swapped")


def _reduce(view: ExpressionView, spot: Spot, node: ast.Compare) -> Iterator[Edit]:
    """Replace `x == y` by `x`, or by a constant, in case the comparison should not be there."""
    text = view.text(node)
    if spot.truth:
        left = node.left
        if not isinstance(left, ast.Constant):
            yield from swap(spot, left, COMPARISON, 0.15, become(text, view.text(left)))
            yield from swap(
                spot, ast.UnaryOp(op=ast.Not(), operand=left), COMPARISON, 0.1, become(text, f"not {view.text(left)}")
            )
    for value in (True, False):
        yield from swap(spot, ast.Constant(value=value), COMPARISON, 0.08, become(text, str(value)))


def _shorter(view: ExpressionView, spot: Spot, node: ast.Compare) -> Iterator[Edit]:
    text = view.text(node)
    parts = [
        ast.Compare(left=node.left, ops=node.ops[:-1], comparators=node.comparators[:-1]),
        ast.Compare(left=node.comparators[0], ops=node.ops[1:], comparators=node.comparators[1:]),
    ]
    for part in parts:
        yield from swap(spot, part, COMPARISON, 0.3, f"a part of `{text}` dropped")
    if len(node.ops) == 2:
        both: list[ast.expr] = [
            ast.Compare(left=node.left, ops=[node.ops[0]], comparators=[node.comparators[0]]),
            ast.Compare(left=node.comparators[0], ops=[node.ops[1]], comparators=[node.comparators[1]]),
        ]
        yield from swap(spot, ast.BoolOp(op=ast.Or(), values=both), COMPARISON, 0.15, f"`{text}` taken apart with `or`")


def _usual(view: ExpressionView, op: ast.cmpop, left: ast.expr, right: ast.expr) -> Iterator[tuple[ast.expr, float]]:
    """Yield values that are often compared with values of the left side's kind."""
    kind = view.kind(left) or view.kind(right)
    if isinstance(op, (*_IDENTITY, *_MEMBER)):
        return
    if not kind or is_number(kind):
        for value in (0, 1, 2):
            yield number(value), 0.35 if is_number(kind) else 0.1
    if isinstance(op, _EQUAL):
        yield ast.Constant(value=None), 0.1
        for empty_kind, empty in _EMPTIES:
            if kind & empty_kind:
                yield empty, 0.2


_EMPTIES: tuple[tuple[Kind, ast.expr], ...] = (
    (STR, ast.Constant(value="")),
    (LIST, ast.List(elts=[], ctx=ast.Load())),
    (TUPLE, ast.Tuple(elts=[], ctx=ast.Load())),
    (DICT, ast.Dict(keys=[], values=[])),
    (SET, ast.Call(func=ast.Name(id="set", ctx=ast.Load()), args=[], keywords=[])),
)


def _with_right(
    view: ExpressionView, spot: Spot, node: ast.Compare, index: int, new: ast.expr, weight: float
) -> Iterator[Edit]:
    old = node.comparators[index]
    comparators = [*node.comparators[:index], new, *node.comparators[index + 1 :]]
    comparison = ast.Compare(left=node.left, ops=node.ops, comparators=comparators)
    note = f"{become(view.text(old), ast.unparse(new))} in `{view.text(node)}`"
    yield from swap(spot, comparison, "comparand", weight * 0.8, note)


OPERATOR = "operator"
_LIKELY: dict[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub, ast.Mult),
    ast.Sub: (ast.Add, ast.Mod),
    ast.Mult: (ast.Add, ast.Pow, ast.FloorDiv, ast.Div),
    ast.Div: (ast.FloorDiv, ast.Mult, ast.Mod),
    ast.FloorDiv: (ast.Div, ast.Mod, ast.Mult),
    ast.Mod: (ast.FloorDiv, ast.Div),
    ast.Pow: (ast.Mult,),
    ast.LShift: (ast.RShift,),
    ast.RShift: (ast.LShift,),
    ast.BitOr: (ast.BitAnd, ast.BitXor),
    ast.BitXor: (ast.BitAnd, ast.BitOr),
    ast.BitAnd: (ast.BitOr, ast.BitXor),
}
_ON_NUMBERS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)
_ON_INTS = (*_ON_NUMBERS, ast.LShift, ast.RShift, ast.BitOr, ast.BitXor, ast.BitAnd)
_ON_SETS = (ast.Sub, ast.BitOr, ast.BitXor, ast.BitAnd)
_COMMUTE = (ast.Add, ast.Mult, ast.BitOr, ast.BitXor, ast.BitAnd)


@expression_operator()
def operators(view: ExpressionView) -> Iterator[Edit]:
    """Change operators of operations and augmented assignments, swap `and` and `or`, drop or add signs and `not`."""
    for spot, node in view.of(ast.BinOp):
        yield from _other_operator(view, spot, node)
        yield from _operands(view, spot, node)
    for spot, step in view.of(ast.AugAssign):
        yield from _other_step(view, spot, step)
    for spot, assigned in view.of(ast.Assign):
        yield from _further(view, spot, assigned)
    for spot, either in view.of(ast.BoolOp):
        yield from _connectives(view, spot, either)
    for spot, sign in view.of(ast.UnaryOp):
        yield from _drop_sign(view, spot, sign)
    for spot, value in view.values:
        yield from _add_sign(view, spot, value)


def fitting(left: Kind, right: Kind) -> tuple[type[ast.operator], ...]:
    """Return the operators that make sense between two kinds."""
    both = left | right
    if left >= STR and not right & NUMBER:
        return (ast.Add, ast.Mod)
    if both & (SET | DICT):
        return _ON_SETS
    if both & (LIST | TUPLE | STR):
        return (ast.Add, ast.Mult)
    return _ON_NUMBERS if both & FLOAT else _ON_INTS


def _weigh(
    old: type[ast.operator], suiting: tuple[type[ast.operator], ...]
) -> Iterator[tuple[type[ast.operator], float]]:
    likely = _LIKELY.get(old, ())
    for op in suiting:
        if op is not old:
            bits = op not in _ON_NUMBERS and old in _ON_NUMBERS
            yield op, 0.8 if op in likely[:1] else 0.6 if op in likely else 0.05 if bits else 0.2


def _other_operator(view: ExpressionView, spot: Spot, node: ast.BinOp) -> Iterator[Edit]:
    left, right = view.kind(node.left), view.kind(node.right)
    for op, weight in _weigh(type(node.op), fitting(left, right)):
        new = binary(node.left, op, node.right)
        yield from swap(spot, new, OPERATOR, weight, become(OPERATIONS[type(node.op)], OPERATIONS[op]))


def _operands(view: ExpressionView, spot: Spot, node: ast.BinOp) -> Iterator[Edit]:
    left, right, text = view.kind(node.left), view.kind(node.right), view.text(node)
    order_counts = not isinstance(node.op, _COMMUTE) or not (is_number(left) or is_number(right))
    if order_counts and fits(left, right):
        new = binary(node.right, type(node.op), node.left)
        prior = 0.6 if isinstance(node.op, ast.Add) else 0.35
        yield from swap(spot, new, OPERATOR, prior, f"the operands of `{text}` swapped")
    for operand in (node.left, node.right):
        # One operand alone is a likelier fix if its kind fits the kind of the whole calculation.
        weight = 0.4 * max(fits(view.kind(operand), view.kind(node)), 0.15)
        yield from swap(spot, operand, OPERATOR, weight, become(text, view.text(operand)))
    yield from _regroup(view, spot, node)


def _regroup(view: ExpressionView, spot: Spot, node: ast.BinOp) -> Iterator[Edit]:
    """Regroup `a + b * c` as `(a + b) * c` and the reverse, for forgotten or misplaced parentheses."""
    if isinstance(node.right, ast.BinOp):
        inner = binary(node.left, type(node.op), node.right.left)
        new = binary(inner, type(node.right.op), node.right.right)
        yield from swap(spot, new, OPERATOR, 0.3, f"`{view.text(node)}` grouped from the left")
    if isinstance(node.left, ast.BinOp):
        inner = binary(node.left.right, type(node.op), node.right)
        new = binary(node.left.left, type(node.left.op), inner)
        if not (isinstance(node.op, _COMMUTE) and type(node.op) is type(node.left.op)):
            yield from swap(spot, new, OPERATOR, 0.3, f"`{view.text(node)}` grouped from the right")


def _other_step(view: ExpressionView, spot: Spot, node: ast.AugAssign) -> Iterator[Edit]:
    left, right = view.kind(node.target), view.kind(node.value)
    old = OPERATIONS[type(node.op)]
    for op, weight in _weigh(type(node.op), fitting(left, right)):
        new: ast.stmt = ast.AugAssign(target=node.target, op=op(), value=node.value)
        yield from swap(spot, new, OPERATOR, weight, become(f"{old}=", f"{OPERATIONS[op]}="))
    assignment = ast.Assign(targets=[node.target], value=node.value, lineno=0)
    yield from swap(spot, assignment, OPERATOR, 0.3, become(f"{old}=", "="))


def _further(view: ExpressionView, spot: Spot, node: ast.Assign) -> Iterator[Edit]:
    """Replace `s = t` by `s |= t`, `s -= t` and `s &= t` for sets and dicts.

    The module `assignments` replaces `=` by `+=` for numbers and sequences.
    """
    target = node.targets[0]
    if isinstance(target, ast.Name | ast.Attribute | ast.Subscript) and view.kind(node.value) & (SET | DICT):
        for op, weight in ((ast.BitOr, 0.25), (ast.Sub, 0.12), (ast.BitAnd, 0.12)):
            new = ast.AugAssign(target=target, op=op(), value=node.value)
            yield from swap(spot, new, OPERATOR, weight, become("=", f"{OPERATIONS[op]}="))


def _connectives(view: ExpressionView, spot: Spot, node: ast.BoolOp) -> Iterator[Edit]:
    old, op = ("and", ast.Or()) if isinstance(node.op, ast.And) else ("or", ast.And())
    new = ast.BoolOp(op=op, values=node.values)
    yield from swap(spot, new, OPERATOR, 0.8, become(old, "or" if old == "and" else "and"))
    for index, value in enumerate(node.values):
        rest = [*node.values[:index], *node.values[index + 1 :]]
        remainder = rest[0] if len(rest) == 1 else ast.BoolOp(op=node.op, values=rest)
        yield from swap(spot, remainder, OPERATOR, 0.5, f"`{old} {view.text(value)}` dropped")
    if len(node.values) > 2:
        yield from _one_other_connective(view, spot, node, op)
    yield from _flatten(view, spot, node)


def _one_other_connective(view: ExpressionView, spot: Spot, node: ast.BoolOp, op: ast.boolop) -> Iterator[Edit]:
    """Replace one of several `and`s by `or` or the reverse; the operands are grouped by Python's precedence."""
    for cut in range(1, len(node.values)):
        sides = [_join(node.op, node.values[:cut]), _join(node.op, node.values[cut:])]
        new = ast.BoolOp(op=op, values=sides)
        yield from swap(spot, new, OPERATOR, 0.3, f"another connective before `{view.text(node.values[cut])}`")


def _flatten(view: ExpressionView, spot: Spot, node: ast.BoolOp) -> Iterator[Edit]:
    """Regroup `a or b and c` as `(a or b) and c`, and as `a and (b or c)`."""
    for index, value in enumerate(node.values):
        if isinstance(value, ast.BoolOp) and type(value.op) is not type(node.op):
            before, after = node.values[:index], node.values[index + 1 :]
            inner = ast.BoolOp(op=node.op, values=value.values)
            turned = ast.BoolOp(op=value.op, values=[*before, inner, *after])
            yield from swap(spot, turned, OPERATOR, 0.4, f"`and` and `or` exchanged in `{view.text(node)}`")
            if before:
                head = ast.BoolOp(op=node.op, values=[*before, value.values[0]])
                new = _join(node.op, [ast.BoolOp(op=value.op, values=[head, *value.values[1:]]), *after])
                yield from swap(spot, new, OPERATOR, 0.3, f"`{view.text(node)}` grouped from the left")
            if after:
                tail = ast.BoolOp(op=node.op, values=[value.values[-1], *after])
                new = _join(node.op, [*before, ast.BoolOp(op=value.op, values=[*value.values[:-1], tail])])
                yield from swap(spot, new, OPERATOR, 0.3, f"`{view.text(node)}` grouped from the right")


def _join(op: ast.boolop, values: list[ast.expr]) -> ast.expr:
    return values[0] if len(values) == 1 else ast.BoolOp(op=op, values=values)


def _drop_sign(view: ExpressionView, spot: Spot, node: ast.UnaryOp) -> Iterator[Edit]:
    weight = 0.8 if isinstance(node.op, ast.Not) else 0.5
    yield from swap(spot, node.operand, OPERATOR, weight, become(view.text(node), view.text(node.operand)))


def _add_sign(view: ExpressionView, spot: Spot, node: ast.expr) -> Iterator[Edit]:
    text = view.text(node)
    if spot.truth and not isinstance(node, ast.Compare) and not _is_not(node):
        yield from swap(spot, negation(node), OPERATOR, 0.6, become(text, f"not {text}"))
    elif view.kind(node) == frozenset({"bool"}) and not isinstance(node, ast.Compare) and not _is_not(node):
        yield from swap(spot, negation(node), OPERATOR, 0.5, become(text, f"not {text}"))
    if isinstance(node, ast.Name | ast.Subscript | ast.Attribute | ast.Call | ast.BinOp):
        kind = view.kind(node)
        if is_number(kind) or (not kind and spot.field in ("value", "elts", "args", "left", "right", "values")):
            minus = ast.UnaryOp(op=ast.USub(), operand=node)
            yield from swap(spot, minus, OPERATOR, 0.15 if kind else 0.03, become(text, f"-{text}"))
            if is_number(kind) and kind <= INT and not spot.truth:
                flipped = ast.UnaryOp(op=ast.Invert(), operand=node)
                yield from swap(spot, flipped, OPERATOR, 0.02, become(text, f"~{text}"))


def _is_not(node: ast.expr) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)


OPERAND = "operand"
_MOST, _MOST_DONORS = 800, 60
_SMALL = 8
"""Maximum number of parts of an expression that is likely to be an operand."""


@expression_operator(_MOST)
def new_operands(view: ExpressionView) -> Iterator[Edit]:
    """Add an operand to a number, sequence or set: a variable or expression of the scope, or the constant 2."""
    for spot, node in view.values:
        if spot.truth or isinstance(node, ast.Compare | ast.BoolOp | ast.Constant | ast.Lambda):
            continue
        kind = view.kind(node)
        if isinstance(spot.parent, ast.Attribute) or not (kind & (NUMBER | SEQUENCE | SET) or not kind):
            continue
        for other, text, other_kind, weight in _others(view, spot, node):
            yield from _join_operands(view, spot, node, (other, text, other_kind, weight))
        if is_number(kind):
            yield from _scale(view, spot, node)


def _others(view: ExpressionView, spot: Spot, node: ast.expr) -> Iterator[tuple[ast.expr, str, Kind, float]]:
    """Yield the operands that may be added to an expression: (expression, its text, its kind, weight)."""
    text = view.text(node)
    for word in (*spot.visible.near, *(f"{spot.visible.owner}.{word}" for word in spot.visible.attributes)):
        if word != text:
            yield name(word), word, view.kinds.of_name(word), 1.0
    names = allow_names(view, spot)
    for donor in donors(view)[:_MOST_DONORS]:
        if donor.local and not donor.changed and donor.names <= names and donor.text != text:
            yield donor.node, _close(donor.node, donor.text), donor.kind, 0.6 if len(donor.parts) <= _SMALL else 0.3


def _join_operands(
    view: ExpressionView, spot: Spot, node: ast.expr, other: tuple[ast.expr, str, Kind, float]
) -> Iterator[Edit]:
    new, shown, other_kind, weight = other
    text, kind = view.text(node), view.kind(node) or other_kind
    weight *= _weigh_position(spot)
    fit = fits(other_kind, view.kind(node)) if kind else 0.0
    if fit < 0.3:
        return
    for op in _joining(kind, spot.parent):
        sequence = op is ast.Add and bool(kind & SEQUENCE)
        prior = weight * fit * (0.18 if sequence else 0.08)
        note = become(text, f"{_close(node, text)} {OPERATIONS[op]} {shown}")
        yield from swap(spot, binary(node, op, new), OPERAND, prior, note)
        if op is ast.Sub or sequence:
            note = become(text, f"{shown} {OPERATIONS[op]} {_close(node, text)}")
            yield from swap(spot, binary(new, op, node), OPERAND, prior if sequence else prior * 0.75, note)


def _weigh_position(spot: Spot) -> float:
    """Rate how often an operand is forgotten at this place."""
    if isinstance(spot.parent, ast.Call | ast.keyword | ast.Return | ast.Assign | ast.AugAssign | ast.Yield):
        return 1.0
    return 0.7 if isinstance(spot.parent, ast.Compare | ast.Subscript | ast.Slice) else 0.5


def _close(node: ast.expr, text: str) -> str:
    """Return the text of an operand, in parentheses if it is an operation itself."""
    return f"({text})" if isinstance(node, ast.BinOp | ast.BoolOp | ast.IfExp | ast.Compare) else text


def _joining(kind: Kind, parent: ast.AST | None) -> tuple[type[ast.operator], ...]:
    if kind & SET:
        return (ast.BitOr, ast.Sub, ast.BitAnd)
    if kind & SEQUENCE:
        return (ast.Add,) if not isinstance(parent, ast.BinOp) else ()
    if not kind & NUMBER:
        return ()
    if isinstance(parent, ast.BinOp):
        # Adding a term to an operand of a sum is the same as adding it to the sum.
        return (ast.Mult,) if isinstance(parent.op, ast.Add | ast.Sub) else (ast.Add, ast.Sub)
    return (ast.Add, ast.Sub, ast.Mult)


def _scale(view: ExpressionView, spot: Spot, node: ast.expr) -> Iterator[Edit]:
    """Yield the double, the half, the square and the last bit of a number."""
    text = view.text(node)
    if not isinstance(spot.parent, ast.BinOp) or isinstance(spot.parent.op, ast.Add | ast.Sub):
        for op, weight in ((ast.Mult, 0.06), (ast.FloorDiv, 0.06), (ast.Pow, 0.06), (ast.Div, 0.03), (ast.Mod, 0.04)):
            note = become(text, f"{_close(node, text)} {OPERATIONS[op]} 2")
            yield from swap(spot, binary(node, op, number(2)), OPERAND, weight, note)
