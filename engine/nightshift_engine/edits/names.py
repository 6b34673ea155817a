"""Edits of names, and expressions replaced by others of the same file.

The code that fixes a program is mostly in the program already: the plastic surgery hypothesis (E. T. Barr, Y. Brun, P.
Devanbu, M. Harman and F. Sarro, “The plastic surgery hypothesis”, FSE 2014). So each expression of the file, also with
one of its names replaced, is a candidate wherever its names are visible and its kind fits. Expressions that resemble
the replaced one come first, because a fault is more often a slip than a wholly wrong idea.
"""

from __future__ import annotations

import ast
import heapq
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from nightshift_engine.edit import Edit, EditContext
from nightshift_engine.edits.expression import (
    LOAD,
    ExpressionView,
    Spot,
    become,
    expression_operator,
    name,
    once,
    swap,
)
from nightshift_engine.kinds import BUILTINS, CALLABLE, NUMBER, SEQUENCE, SIZED, Kind, fits
from nightshift_engine.tree import Function, replace

_MOST_LOCAL, _MOST_FOREIGN, _MOST_VARIANTS = 120, 160, 6
_LOCAL, _FOREIGN, _CHANGED = 0.3, 0.15, 0.15
"""Likelihoods that the intended expression occurs in the scope, that it occurs elsewhere in the file, and that it is an
expression of the scope with one name changed.
"""
_LARGEST = 24
"""Maximum number of nodes of a transplanted expression."""
_MOVED = (
    *(ast.BinOp, ast.Call, ast.Subscript, ast.Attribute, ast.Compare, ast.BoolOp, ast.UnaryOp),
    *(ast.List, ast.Tuple, ast.ListComp),
)
_FIXED = (ast.Yield, ast.YieldFrom, ast.Await, ast.NamedExpr, ast.Lambda, ast.JoinedStr, ast.Starred)


@dataclass(frozen=True, slots=True, kw_only=True)
class Donor:
    """An expression of the file that may replace another expression.

    Attributes:
        names: the names that the expression reads.
        parts: the texts of all expressions inside the expression, itself included.
        local: whether the expression is in the scope itself.
        changed: whether one of the names was replaced.
        prior: likelihood that such an expression was meant.
    """

    node: ast.expr
    text: str
    kind: Kind
    names: frozenset[str]
    parts: frozenset[str]
    local: bool
    changed: bool = False
    prior: float


@once
def donors(view: ExpressionView) -> tuple[Donor, ...]:
    """Return the expressions of the scope and of the rest of the file, and the scope's with one name changed."""
    donors_by_text: dict[str, Donor] = {}
    own = [node for node in ast.walk(view.root) if isinstance(node, ast.expr)]
    for nodes, local in ((own, True), (view.file.expressions, False)):
        for node in nodes:
            if len(donors_by_text) >= (_MOST_LOCAL if local else _MOST_FOREIGN):
                break
            donor = _donor(view, node, local=local)
            if donor:
                donors_by_text.setdefault(donor.text, donor)
    originals = list(donors_by_text.values())
    texts = {donor.text for donor in originals}
    for donor in originals:
        if donor.local:
            others = [variant for variant in _change(view, donor) if variant.text not in texts]
            texts.update(variant.text for variant in others)
            donors_by_text.update((variant.text, variant) for variant in others)
    return tuple(donors_by_text.values())[: 3 * _MOST_LOCAL]


def allow_names(view: ExpressionView, spot: Spot) -> frozenset[str]:
    """Return the names that an expression from elsewhere may use at a spot."""
    outer = view.outside
    return frozenset(
        (*spot.visible.near, *outer.functions, *outer.classes, *outer.imports, *outer.variables, *BUILTINS)
    )


def _donor(view: ExpressionView, node: ast.expr, *, local: bool) -> Donor | None:
    if not isinstance(node, _MOVED) or not isinstance(getattr(node, "ctx", None), ast.Load | None):
        return None
    below = list(ast.walk(node))
    if len(below) > _LARGEST or any(isinstance(part, _FIXED) or getattr(part, "is_async", 0) for part in below):
        return None
    if isinstance(node, ast.Tuple | ast.List) and not node.elts:
        return None
    if isinstance(node, ast.Tuple) and any(isinstance(part, ast.Slice) for part in node.elts):
        return None
    stored = {part.id for part in below if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
    read = {part.id for part in below if isinstance(part, ast.Name)} - stored
    return Donor(
        node=node,
        text=view.text(node),
        kind=view.kind(node),
        names=frozenset(read),
        parts=view.file.parts(node),
        local=local,
        prior=_LOCAL if local else _FOREIGN,
    )


def _change(view: ExpressionView, donor: Donor) -> Iterator[Donor]:
    """Yield the expression with one of its names replaced by another name of the same kind."""
    spots = [(spot, spot.node) for spot in view.spots if isinstance(spot.node, ast.Name)]
    words = dict.fromkeys(word for spot, _ in spots[:1] for word in (*spot.visible.near, *spot.visible.later))
    count = 0
    for position, node in _name_places(donor.node):
        kind = view.kinds.of_name(node.id)
        if kind == CALLABLE or node.id in view.outside.imports:
            continue
        for word in words:
            if word != node.id and kind and fits(view.kinds.of_name(word), kind) == 1.0 and count < _MOST_VARIANTS:
                count += 1
                new = replace(donor.node, position, name(word))
                yield Donor(
                    node=new,
                    text=ast.unparse(new),
                    kind=donor.kind,
                    names=donor.names | {word},
                    parts=donor.parts | {word},
                    local=True,
                    changed=True,
                    prior=_CHANGED,
                )


def _name_places(node: ast.AST, position: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], ast.Name]]:
    if isinstance(node, ast.Name):
        if isinstance(node.ctx, ast.Load):
            yield position, node
        return
    for field, value in ast.iter_fields(node):
        many = enumerate(value) if isinstance(value, list) else [(None, value)]
        for index, child in many:
            if isinstance(child, ast.AST) and not (isinstance(node, ast.Call) and field == "func"):
                yield from _name_places(child, (*position, (field, index)))


NAME = "name"
_NAMED = re.compile(r"'(\w+)'")
_MOST_NAMES = 1200
_OF_WRONG_KIND = ("TypeError", "AttributeError", "KeyError")
_LATER, _OUTER = 0.15, 0.3
"""Weights of a variable that is set only later, and of a module variable. Both are meant less often than other
variables.
"""


@expression_operator(_MOST_NAMES)
def names(view: ExpressionView) -> Iterator[Edit]:
    """Replace a name that is read, called or assigned."""
    lost = _without_value(view.context)
    for spot, node in view.values:
        if isinstance(node, ast.Name) and node.id in lost:
            yield from _any_variable(view, spot, node)
        if isinstance(node, ast.Name | ast.Attribute):
            yield from _other_variable(view, spot, node)
        elif (
            isinstance(node, ast.Subscript | ast.Call | ast.Constant | ast.BinOp | ast.UnaryOp | ast.JoinedStr)
            or spot.truth
        ):
            yield from _variable_instead(view, spot, node)
    for spot, called in view.of(ast.Call):
        yield from _other_function(view, spot, called)
    for spot, target in view.of(ast.Name):
        if isinstance(target.ctx, ast.Store):
            yield from _other_target(view, spot, target)
    for spot, attribute in view.of(ast.Attribute):
        yield from _other_attribute(view, spot, attribute)


def variables(view: ExpressionView, spot: Spot) -> Iterator[tuple[str, float]]:
    """Yield the variables that are visible at a spot, with weights; attributes of `self` count as variables."""
    visible = spot.visible
    for word in visible.near:
        if word != visible.owner:
            yield word, 1.0
    for word in visible.attributes:
        yield f"{visible.owner}.{word}", 0.8
    for word in visible.later:
        yield word, _LATER
    for word in view.outside.variables:
        if word not in visible.near:
            yield word, _OUTER


def _other_variable(view: ExpressionView, spot: Spot, node: ast.Name | ast.Attribute) -> Iterator[Edit]:
    text, wanted, least = view.text(node), view.choose_kind(spot), _least(view.context)
    if isinstance(node, ast.Name) and (node.id in view.outside.imports or node.id in _functions(view)):
        return
    for word, near in variables(view, spot):
        kind = view.kinds.of_name(word)
        fit = max(fits(kind, wanted), least)
        if _is_gone_into(spot) and kind & SEQUENCE and wanted & SEQUENCE:
            fit = max(fit, 0.5)
        if isinstance(spot.parent, ast.Attribute) and _lacks(wanted, kind, spot.parent.attr):
            fit = 0.9
        if word != text:
            prior = 0.9 if _alike(word, text) else 0.6 * near
            yield from swap(spot, name(word), NAME, prior * fit, become(text, word))


def _without_value(context: EditContext) -> frozenset[str]:
    """Return the names that failing tests read before they had a value."""
    messages = [message for kind, message in context.errors if kind in ("NameError", "UnboundLocalError")]
    return frozenset(word for message in messages for word in _NAMED.findall(message))


def _is_gone_into(spot: Spot) -> bool:
    """Check whether a value is subscripted, iterated over or passed to `len`, as both texts and lists can be."""
    inside = isinstance(spot.parent, ast.Subscript) and spot.field == "value"
    return inside or spot.field == "iter" or (spot.call is not None and getattr(spot.call.func, "id", "") == "len")


def _lacks(kind: Kind, other: Kind, attribute: str) -> bool:
    """Check whether values of one kind are known to lack an attribute that values of the other kind have."""
    is_lacking = bool(kind) and kind <= _BUILTIN.keys() and not any(hasattr(_BUILTIN[word], attribute) for word in kind)
    return is_lacking and any(hasattr(_BUILTIN[word], attribute) for word in other & _BUILTIN.keys())


_BUILTIN = {kind.__name__: kind for kind in (list, dict, set, str, tuple, int, float, bytes, frozenset)}


def _alike(word: str, other: str) -> bool:
    """Check whether two names are easily confused: `total` and `self.total`, `word` and `words`."""
    short, long = sorted((word.rpartition(".")[2], other.rpartition(".")[2]), key=len)
    return long == short or (len(short) > 2 and long in (f"{short}s", f"{short}es"))


def _least(context: EditContext) -> float:
    """Return the lower limit of the fit between the wanted kind and the kind of a variable.

    The limit is greater after errors that a wrong kind may cause.
    """
    return 0.3 if any(kind in _OF_WRONG_KIND for kind, _ in context.errors) else 0.05


def _any_variable(view: ExpressionView, spot: Spot, node: ast.Name) -> Iterator[Edit]:
    """Replace a name without a value by each visible variable, because the kind that was meant is unknown."""
    for word, near in variables(view, spot):
        if word != node.id and near > _LATER:
            yield from swap(spot, name(word), NAME, 0.7 * near, become(node.id, word))


def _functions(view: ExpressionView) -> tuple[str, ...]:
    return (*view.outside.functions, *view.outside.classes)


def _variable_instead(view: ExpressionView, spot: Spot, node: ast.expr) -> Iterator[Edit]:
    """Replace a larger expression or a constant by a variable."""
    text, wanted = view.text(node), view.choose_kind(spot)
    if isinstance(spot.parent, ast.Attribute) and not wanted:
        return
    prior = 0.3 if isinstance(node, ast.Constant | ast.Subscript) else 0.2
    if spot.truth and isinstance(node, ast.Constant):
        prior = 0.6
    for word, near in variables(view, spot):
        kind = view.kinds.of_name(word)
        # If only the truth value counts, any value that may be empty, zero or false fits.
        fit = 1.0 if spot.truth and kind & (SIZED | NUMBER) else fits(kind, wanted)
        if fit:
            yield from swap(spot, name(word), NAME, prior * near * fit, become(text, word))


def _other_function(view: ExpressionView, spot: Spot, node: ast.Call) -> Iterator[Edit]:
    """Call another function of the file that accepts as many arguments, or another method of the same object."""
    given = len(node.args) + len(node.keywords)
    if isinstance(node.func, ast.Name) and node.func.id not in spot.visible.near:
        if view.kinds.of_name(node.func.id) != CALLABLE and node.func.id not in _functions(view):
            return
        for word, function in view.outside.functions.items():
            if word != node.func.id and takes(function, given):
                fit = fits(view.kinds.of_call(word), view.kind(node))
                new = ast.Call(func=name(word), args=node.args, keywords=node.keywords)
                yield from swap(spot, new, NAME, 0.4 * fit, become(f"{node.func.id}(…)", f"{word}(…)"))
    elif isinstance(node.func, ast.Attribute) and view.text(node.func.value) == spot.visible.owner:
        for word, function in spot.visible.methods.items():
            if word != node.func.attr and takes(function, given + 1) and not word.startswith("__"):
                func = ast.Attribute(value=node.func.value, attr=word, ctx=LOAD)
                new = ast.Call(func=func, args=node.args, keywords=node.keywords)
                yield from swap(spot, new, NAME, 0.4, become(f"{node.func.attr}(…)", f"{word}(…)"))


def takes(function: Function, count: int) -> bool:
    """Check whether a function can be called with this number of arguments."""
    args = function.args
    most = len(args.posonlyargs) + len(args.args) + len(args.kwonlyargs)
    least = most - len(args.defaults) - sum(1 for default in args.kw_defaults if default is not None)
    return count >= least and (count <= most or bool(args.vararg or args.kwarg))


def _other_target(view: ExpressionView, spot: Spot, node: ast.Name) -> Iterator[Edit]:
    """Assign the value to another variable."""
    if not isinstance(spot.parent, ast.Assign | ast.AugAssign | ast.Tuple) or spot.up is None:
        return
    value = getattr(spot.parent, "value", None)
    wanted: Kind = view.kind(value) if value is not None else view.kinds.of_name(node.id)
    for word in (*spot.visible.near, *spot.visible.later):
        fit = fits(view.kinds.of_name(word), wanted)
        if word != node.id and fit and word != spot.visible.owner:
            new = ast.Name(id=word, ctx=ast.Store())
            yield from swap(spot, new, NAME, 0.3 * fit, f"the value goes to `{word}` instead of `{node.id}`")


def _other_attribute(view: ExpressionView, spot: Spot, node: ast.Attribute) -> Iterator[Edit]:
    """Use another attribute: one of the class for `self`, and one that the file uses for other objects."""
    if spot.field == "func" or isinstance(node.ctx, ast.Del):
        return
    own = isinstance(node.value, ast.Name) and node.value.id == spot.visible.owner
    if isinstance(node.value, ast.Name) and node.value.id in view.outside.imports:
        return
    for attr in spot.visible.attributes if own else view.file.attributes:
        prior = 0.5 * (fits(view.kinds.of_name(f"self.{attr}"), view.kind(node)) if own else 0.8)
        if attr != node.attr and (not own or isinstance(node.ctx, ast.Store)):
            new = ast.Attribute(value=node.value, attr=attr, ctx=node.ctx)
            yield from swap(spot, new, NAME, prior, become(f".{node.attr}", f".{attr}"))


TRANSPLANT = "surgery"
_MOST_TRANSPLANTS = 1400
_SMALL = 3
"""Maximum number of parts of an expression that may replace an expression which it does not resemble."""


@expression_operator()
def transplants(view: ExpressionView) -> Iterator[Edit]:
    """Replace each whole expression by others of the file that fit, the most similar first."""
    suspicion = view.context.lines
    likely = heapq.nlargest(
        _MOST_TRANSPLANTS, _pairs(view), key=lambda pair: pair[0] * (0.02 + suspicion.get(pair[1].line, 0))
    )
    for weight, spot, donor in likely:
        yield from swap(spot, donor.node, TRANSPLANT, weight, become(view.text(spot.node), donor.text))


def _pairs(view: ExpressionView) -> Iterator[tuple[float, Spot, Donor]]:
    fitting: dict[tuple[str, ...], list[Donor]] = {}
    for spot, node in view.values:
        if isinstance(node, ast.Lambda) or isinstance(spot.parent, ast.Expr):
            continue
        if spot.visible.near not in fitting:
            names = allow_names(view, spot)
            fitting[spot.visible.near] = [donor for donor in donors(view) if donor.names <= names]
        yield from _at(view, spot, node, fitting[spot.visible.near])


def _at(view: ExpressionView, spot: Spot, node: ast.expr, given: list[Donor]) -> Iterator[tuple[float, Spot, Donor]]:
    """Yield the expressions from elsewhere that fit a spot, with weights."""
    wanted, truth, text, parts = view.choose_kind(spot), spot.truth, view.text(node), view.file.parts(node)
    simple, form = isinstance(node, ast.Constant), type(node)
    for donor in given:
        fit = 0.5 if truth else fits(donor.kind, wanted)
        if fit and donor.text != text:
            alike = 1.0
            if simple or text not in donor.parts:
                common = len(parts & donor.parts) / len(parts | donor.parts)
                alike = (
                    (0.3 if len(donor.parts) <= _SMALL else 0.15)
                    + (0.3 if type(donor.node) is form else 0.0)
                    + 0.55 * common
                )
            yield donor.prior * fit * alike, spot, donor
