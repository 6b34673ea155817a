"""Edits of slices, subscripts, and list and tuple displays: they change bounds, indices and the order of items."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import combinations

from nightshift_engine.edit import Edit
from nightshift_engine.edits.expression import (
    LOAD,
    ExpressionView,
    Spot,
    become,
    binary,
    call,
    expect_kind,
    expression_operator,
    name,
    number,
    swap,
)
from nightshift_engine.edits.names import Donor, allow_names, donors, variables
from nightshift_engine.kinds import (
    DICT,
    INT,
    LIST,
    MAPPING,
    NUMBER,
    SEQUENCE,
    SET,
    SIZED,
    STR,
    TUPLE,
    UNKNOWN,
    Kind,
    fits,
)

SLICE = "slice"
_SLICED = LIST | TUPLE | STR | {"bytes"}
_MOST_SLICES = 500
_WHOLES = ast.ListComp | ast.BinOp | ast.IfExp | ast.List | ast.Tuple
"""Sequences that are built at the place itself; they are often reversed but rarely sliced."""


@expression_operator(_MOST_SLICES)
def slices(view: ExpressionView) -> Iterator[Edit]:
    """Change the bounds of slices and ranges; slice or reverse a sequence, or undo a slice or reversal."""
    for spot, cut in view.of(ast.Slice):
        yield from _other_bounds(view, spot, cut)
    for spot, node in view.of(ast.Call):
        if isinstance(node.func, ast.Name) and node.func.id == "range" and not node.keywords:
            yield from _other_range(view, spot, node)
    for spot, part in view.of(ast.Subscript):
        if spot.is_replaceable and isinstance(part.slice, ast.Slice):
            yield from _unslice(view, spot, part)
    for spot, value in view.values:
        yield from _slice(view, spot, value)
        yield from _reverse(view, spot, value)


def _other_bounds(view: ExpressionView, spot: Spot, node: ast.Slice) -> Iterator[Edit]:
    text = view.text(node)
    holder = spot.parent.value if isinstance(spot.parent, ast.Subscript) else None
    size: list[ast.expr] = [call("len", holder)] if holder is not None else []
    for bound in ("lower", "upper", "step"):
        present = getattr(node, bound)
        if present is not None:
            yield from swap(spot, _with(node, bound, None), SLICE, 0.5, f"a bound of `{text}` dropped")
        for new, weight in _bounds(view, spot, bound, present is None, size):
            note = f"another bound in `{text}`: `{ast.unparse(new)}`"
            yield from swap(spot, _with(node, bound, new), SLICE, weight, note)
    if node.lower is not None and node.upper is not None:
        turned = ast.Slice(lower=node.upper, upper=node.lower, step=node.step)
        yield from swap(spot, turned, SLICE, 0.2, f"the bounds of `{text}` swapped")
    if (node.lower is None) is not (node.upper is None):
        turned = ast.Slice(lower=node.upper, upper=node.lower, step=node.step)
        yield from swap(spot, turned, SLICE, 0.5, f"`{text}` turned to the other side")
    for bound in ("lower", "upper"):
        if getattr(node, bound) is not None and not isinstance(getattr(node, bound), ast.UnaryOp):
            new = ast.UnaryOp(op=ast.USub(), operand=getattr(node, bound))
            yield from swap(spot, _with(node, bound, new), SLICE, 0.2, f"a bound of `{text}` counts from the end")


def _bounds(
    view: ExpressionView, spot: Spot, bound: str, missing: bool, size: list[ast.expr]
) -> Iterator[tuple[ast.expr, float]]:
    if bound == "step":
        if missing:
            yield number(-1), 0.25
            yield number(2), 0.1
        return
    usual = (1, 2) if bound == "lower" else (-1, 1)
    for value in usual:
        yield number(value), 0.4 if missing else 0.15
    for word in _numbers(view, spot):
        yield name(word), 0.25
        yield binary(name(word), ast.Add, number(1)), 0.12
        yield binary(name(word), ast.Sub, number(1)), 0.08
    for node in size:
        yield node, 0.05


def _numbers(view: ExpressionView, spot: Spot) -> Iterator[str]:
    """Yield visible variables that are known to be integers."""
    for word in spot.visible.near:
        kind = view.kinds.of_name(word)
        if kind & INT:
            yield word


def _with(node: ast.Slice, bound: str, new: ast.expr | None) -> ast.Slice:
    parts = {"lower": node.lower, "upper": node.upper, "step": node.step, bound: new}
    return ast.Slice(lower=parts["lower"], upper=parts["upper"], step=parts["step"])


def _other_range(view: ExpressionView, spot: Spot, node: ast.Call) -> Iterator[Edit]:
    text, args = view.text(node), node.args
    for new, weight in _ranges(view, spot, args):
        range_call = call("range", *new)
        yield from swap(spot, range_call, "range", weight, become(text, ast.unparse(range_call)))


def _ranges(view: ExpressionView, spot: Spot, args: list[ast.expr]) -> Iterator[tuple[list[ast.expr], float]]:
    names = list(_numbers(view, spot))
    if len(args) == 1:
        for value in (1, 2):
            yield [number(value), args[0]], 0.6 / value
        yield [number(1), binary(args[0], ast.Add, number(1))], 0.5
        yield [binary(args[0], ast.Sub, number(1)), number(-1), number(-1)], 0.2
        yield [number(0), args[0], number(2)], 0.08
        for word in names:
            yield [name(word), args[0]], 0.3
            yield [binary(name(word), ast.Add, number(1)), args[0]], 0.25
            yield [number(0), args[0], name(word)], 0.08
    elif len(args) == 2:
        yield [args[1]], 0.4
        yield [args[1], args[0]], 0.2
        yield [args[0], args[1], number(-1)], 0.2
        yield [args[1], args[0], number(-1)], 0.15
        yield [binary(args[1], ast.Sub, number(1)), binary(args[0], ast.Sub, number(1)), number(-1)], 0.1
        yield [binary(args[0], ast.Add, number(1)), binary(args[1], ast.Add, number(1))], 0.2
        yield [args[0], args[1], number(2)], 0.1
        yield from (([args[0], args[1], name(word)], 0.15) for word in names)
    elif len(args) == 3:
        yield args[:2], 0.3
        yield [args[0], args[1], ast.UnaryOp(op=ast.USub(), operand=args[2])], 0.3
        yield [args[1], args[0], args[2]], 0.2
        for value in (1, 2, -1):
            yield [args[0], args[1], number(value)], 0.1


def _unslice(view: ExpressionView, spot: Spot, node: ast.Subscript) -> Iterator[Edit]:
    assert isinstance(node.slice, ast.Slice)
    text = view.text(node)
    yield from swap(spot, node.value, SLICE, 0.3, become(text, view.text(node.value)))
    for bound in (node.slice.lower, node.slice.upper):
        if bound is not None:
            new = ast.Subscript(value=node.value, slice=bound, ctx=LOAD)
            yield from swap(spot, new, SLICE, 0.15, become(text, f"{view.text(node.value)}[{view.text(bound)}]"))


def _slice(view: ExpressionView, spot: Spot, node: ast.expr) -> Iterator[Edit]:
    """Replace `x` by `x[1:]` and other slices."""
    kind = view.kind(node)
    if not isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.Call) or not _may_be(view, spot, node):
        return
    sure = 1.0 if kind & _SLICED else 0.3
    text = view.text(node)
    bounds: list[tuple[ast.expr | None, ast.expr | None, ast.expr | None, float]] = [
        (number(1), None, None, 0.3),
        (None, number(-1), None, 0.25),
        (None, None, None, 0.3),
        (None, None, number(-1), 0.2),
    ]
    if kind & _SLICED:
        for word in _numbers(view, spot):
            bounds += [(name(word), None, None, 0.2), (None, name(word), None, 0.2)]
            bounds += [(binary(name(word), ast.Add, number(1)), None, None, 0.1)]
    for lower, upper, step, weight in bounds:
        cut = ast.Slice(lower=lower, upper=upper, step=step)
        if lower is upper is step is None and isinstance(node, ast.Call | ast.Subscript):
            continue
        new = ast.Subscript(value=node, slice=cut, ctx=LOAD)
        yield from swap(spot, new, SLICE, weight * sure, become(text, f"{text}[{ast.unparse(cut)}]"))


def _may_be(view: ExpressionView, spot: Spot, node: ast.expr) -> bool:
    """Check whether a node may be a sequence, and whether a part of the sequence may be used in its place."""
    kind = view.kind(node)
    if spot.truth or isinstance(spot.parent, ast.Subscript | ast.Attribute | ast.Await):
        return False
    if kind == UNKNOWN:
        return spot.field in ("iter", "args") and isinstance(node, ast.Name | ast.Attribute)
    return bool(kind & _SLICED)


def _reverse(view: ExpressionView, spot: Spot, node: ast.expr) -> Iterator[Edit]:
    kind, text = view.kind(node), view.text(node)
    if isinstance(node, _WHOLES) and _may_be(view, spot, node):
        new = ast.Subscript(value=node, slice=ast.Slice(step=number(-1)), ctx=LOAD)
        yield from swap(spot, new, SLICE, 0.15, become(text, ast.unparse(new)))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "reversed" and node.args:
        yield from swap(spot, node.args[0], SLICE, 0.5, become(text, view.text(node.args[0])))
    elif spot.field == "iter" and (kind & (SEQUENCE - STR) or not kind) and not kind & (SET | DICT | NUMBER):
        yield from swap(spot, call("reversed", node), SLICE, 0.3, become(text, f"reversed({text})"))


SUBSCRIPT = "subscript"
_MOST_SUBSCRIPTS, _MOST_DONORS = 600, 60
_INDEXED = SEQUENCE | MAPPING


@expression_operator(_MOST_SUBSCRIPTS)
def subscripts(view: ExpressionView) -> Iterator[Edit]:
    """Replace collections by items and the reverse, use other items, and change the order of items."""
    for spot, node in view.of(ast.Subscript):
        if not isinstance(node.slice, ast.Slice):
            yield from _other_index(view, spot, node)
            if spot.is_replaceable:
                yield from _without_index(view, spot, node)
    for spot, value in view.values:
        yield from _with_index(view, spot, value)
        yield from _as_index(view, spot, value)
        if isinstance(value, ast.Dict):
            yield from _pairs(view, spot, value)
    for spot, items in view.of(ast.Tuple):
        yield from _order(view, spot, items)
    for spot, listed in view.of(ast.List):
        yield from _order(view, spot, listed)


def _with_index(view: ExpressionView, spot: Spot, node: ast.expr) -> Iterator[Edit]:
    kind, text, asked = view.kind(node), view.text(node), expect_kind(spot, view.kinds)
    if not isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.Call) or isinstance(node, ast.Lambda):
        return
    if (kind and not kind & _INDEXED) or (not kind and not isinstance(node, ast.Name | ast.Attribute | ast.Subscript)):
        return
    element = view.kinds.of_name(f"{text}[]")
    suits = fits(element, asked) if asked else 0.4
    sure = suits * (0.8 if kind else 0.3) * (0.3 if asked and kind & asked else 1.0)
    indices: list[tuple[ast.expr, float]] = []
    if not kind or kind & SEQUENCE:
        indices += [(number(0), 0.4), (number(-1), 0.4), (number(1), 0.2)]
    for word, near in variables(view, spot):
        share = _serves(view.kinds.of_name(word), kind) if word != text else 0.0
        if share:
            indices.append((name(word), 0.4 * near * share))
    if kind & SEQUENCE or not kind:
        indices += [(donor.node, 0.15) for donor in _list_counts(view, spot) if text not in donor.parts]
    for index_node, weight in indices if sure else ():
        new = ast.Subscript(value=node, slice=index_node, ctx=LOAD)
        yield from swap(spot, new, SUBSCRIPT, weight * sure, become(text, f"{text}[{ast.unparse(index_node)}]"))


def _serves(index: Kind, holder: Kind) -> float:
    """Rate how well a variable of one kind serves as an index into another kind."""
    if index & INT or (holder & MAPPING and not index & (SIZED - STR)):
        return 1.0
    if holder & SEQUENCE:
        return 0.0 if index else 0.5
    return 0.5 if not index or index & STR else 0.0


def _list_counts(view: ExpressionView, spot: Spot) -> list[Donor]:
    """Return up to eight small integer expressions of the scope, such as calls and sums."""
    names = allow_names(view, spot)
    return [
        donor
        for donor in donors(view)[:_MOST_DONORS]
        if donor.local and not donor.changed and donor.kind == INT and len(donor.parts) < 6 and donor.names <= names
    ][:8]


def _as_index(view: ExpressionView, spot: Spot, node: ast.expr) -> Iterator[Edit]:
    """Replace `i` by `x[i]`, in case the index was confused with the item."""
    kind, text = view.kind(node), view.text(node)
    if not isinstance(node, ast.Name | ast.Subscript | ast.BinOp) or kind & (SIZED - {"str", "tuple"}):
        return
    if isinstance(spot.parent, ast.Attribute) or (spot.field == "value" and isinstance(spot.parent, ast.Subscript)):
        return
    for word, near in variables(view, spot):
        holder = view.kinds.of_name(word)
        if word != text and (holder & MAPPING or (holder & SEQUENCE and (kind & INT or not kind))):
            suits = fits(view.kinds.of_name(f"{word}[]"), view.choose_kind(spot)) * (1.0 if kind else 0.6)
            new = ast.Subscript(value=name(word), slice=node, ctx=LOAD)
            yield from swap(spot, new, SUBSCRIPT, 0.25 * suits * near, become(text, f"{word}[{text}]"))


def _without_index(view: ExpressionView, spot: Spot, node: ast.Subscript) -> Iterator[Edit]:
    text, wanted = view.text(node), view.choose_kind(spot)
    fit = fits(view.kind(node.value), wanted)
    yield from swap(spot, node.value, SUBSCRIPT, 0.35 * max(fit, 0.2), become(text, view.text(node.value)))
    if not isinstance(node.slice, ast.Constant | ast.Tuple | ast.UnaryOp):
        fit = fits(view.kind(node.slice), wanted)
        yield from swap(spot, node.slice, SUBSCRIPT, 0.35 * max(fit, 0.2), become(text, view.text(node.slice)))


def _other_index(view: ExpressionView, spot: Spot, node: ast.Subscript) -> Iterator[Edit]:
    holder, text = view.kind(node.value), view.text(node)
    new_indices: list[tuple[ast.expr, float]] = []
    if not holder or holder & SEQUENCE:
        new_indices += [(number(0), 0.3), (number(-1), 0.35), (number(1), 0.15)]
        if not isinstance(node.slice, ast.Constant | ast.UnaryOp | ast.Tuple):
            turned = ast.UnaryOp(op=ast.USub(), operand=node.slice)
            new_indices += [(turned, 0.25), (ast.UnaryOp(op=ast.Invert(), operand=node.slice), 0.1)]
    for index, weight in new_indices:
        new = ast.Subscript(value=node.value, slice=index, ctx=node.ctx)
        note = become(text, f"{view.text(node.value)}[{ast.unparse(index)}]")
        yield from swap(spot, new, SUBSCRIPT, weight * (1.0 if holder else 0.5), note)
    if isinstance(node.value, ast.Subscript) and not isinstance(node.value.slice, ast.Slice):
        inner = ast.Subscript(value=node.value.value, slice=node.slice, ctx=LOAD)
        new = ast.Subscript(value=inner, slice=node.value.slice, ctx=node.ctx)
        yield from swap(spot, new, SUBSCRIPT, 0.5, f"the indices of `{text}` swapped")


def _pairs(view: ExpressionView, spot: Spot, node: ast.Dict) -> Iterator[Edit]:
    text = view.text(node)
    for index, (key, value) in enumerate(zip(node.keys, node.values, strict=True)):
        if key is None:
            continue
        keys, values = list(node.keys), list(node.values)
        keys[index], values[index] = value, key
        new = ast.Dict(keys=keys, values=values)
        yield from swap(spot, new, SUBSCRIPT, 0.3, f"key and value swapped in `{text}`")
        if len(node.keys) > 1:
            rest = ast.Dict(keys=[*keys[:index], *keys[index + 1 :]], values=[*values[:index], *values[index + 1 :]])
            yield from swap(spot, rest, SUBSCRIPT, 0.1, f"`{view.text(key)}` left out of `{text}`")
    for first, other in combinations(range(len(node.values)), 2):
        if len(node.values) <= 6:
            values = list(node.values)
            values[first], values[other] = values[other], values[first]
            yield from swap(
                spot, ast.Dict(keys=node.keys, values=values), SUBSCRIPT, 0.3, f"values swapped in `{text}`"
            )


def _order(view: ExpressionView, spot: Spot, node: ast.Tuple | ast.List) -> Iterator[Edit]:
    """Swap two items of a tuple or list, which may be the target of an assignment."""
    if isinstance(node.ctx, ast.Del) or len(node.elts) > 6:
        return
    for first, other in combinations(range(len(node.elts)), 2):
        items = list(node.elts)
        items[first], items[other] = items[other], items[first]
        new = type(node)(elts=items, ctx=node.ctx)
        alike = fits(view.kind(items[first]), view.kind(items[other]))
        prior = (0.5 if isinstance(node, ast.Tuple) else 0.25) * (0.3 + 0.7 * alike)
        yield from swap(spot, new, "order", prior, f"items of `{view.text(node)}` swapped")
