"""Edits that replace an empty or literal result by an expression, or an exception by another exception.

The expression is modelled on the results of other branches, built from the parameters, or taken from the file.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator
from typing import Any

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
    parse,
    same,
    swap,
)
from nightshift_engine.edits.names import allow_names, donors, takes
from nightshift_engine.edits.operators import fitting
from nightshift_engine.kinds import (
    CALLABLE,
    DICT,
    INT,
    ITERABLE,
    LIST,
    MAPPING,
    SEQUENCE,
    SET,
    STR,
    TUPLE,
    UNKNOWN,
    Kind,
    fits,
    is_number,
    parameters,
)
from nightshift_engine.tree import OPERATIONS, Function, places, replace

RESULT = "result"
_MOST_RESULTS, _LARGEST, _MOST_DONORS = 500, 30, 150
_SEPARATORS = ("", " ", "\n", ", ", ",")
_ASKED = ("{x}", "not {x}", "{x} is not None", "{x} > 0", "{x} % 2 == 0", "{x} % 2", "isinstance({x}, int)")
_DONE = ("str({x})", "int({x})", "len({x})", "{x} * {x}", "{x} * 2", "{x} + 1", "{x}.lower()", "{x}.strip()", "{x}[0]")
"""Common conditions on items (`_ASKED`), and common values computed from items (`_DONE`)."""

Value = tuple[ast.expr, float]


@expression_operator(_MOST_RESULTS)
def return_expressions(view: ExpressionView) -> Iterable[Edit]:
    """Replace `return`, `return None` or, less likely, a returned literal by `return <expression>`."""
    if not isinstance(view.root, Function) or any(isinstance(n, ast.Yield | ast.YieldFrom) for n in _all_results(view)):
        return ()
    return _fix(view)


def _all_results(view: ExpressionView) -> Iterator[ast.AST]:
    return ast.walk(view.root)


def _fix(view: ExpressionView) -> Iterator[Edit]:
    for spot, node in view.of(ast.Return):
        scale = _emptiness(node.value)
        for value, weight in _values(view, spot, node) if scale else ():
            note = become(view.text(node), f"return {ast.unparse(value)}")
            yield from swap(spot, ast.Return(value=value), RESULT, weight * scale, note)


def _emptiness(value: ast.expr | None) -> float:
    """Rate how likely it is that the expression of a `return` was lost."""
    if value is None or (isinstance(value, ast.Constant) and value.value is None):
        return 1.0
    if isinstance(value, ast.List | ast.Tuple | ast.Set) and not value.elts:
        return 0.5
    return 0.4 if isinstance(value, ast.Constant) or (isinstance(value, ast.Dict) and not value.keys) else 0.0


def _values(view: ExpressionView, spot: Spot, node: ast.Return) -> Iterator[Value]:
    others = [
        other for other in _all_results(view) if isinstance(other, ast.Return) and other is not node and other.value
    ]
    kinds: Kind = UNKNOWN.union(*(view.kind(other.value) for other in others if other.value)) - {"NoneType"}
    words = [word for word in spot.visible.near if word != spot.visible.owner]
    for other in others:
        if other.value and len(list(ast.walk(other.value))) <= _LARGEST:
            yield from _like(view, spot, other.value)
    yield from _elsewhere(view, spot, kinds)
    yield from _calls(view, words)
    yield from _turn(view, words, kinds)
    yield from _items(view, spot, words)
    yield from _join(view, words, kinds)
    yield from _operations(view, words, kinds)
    yield from _of_items(view, words, kinds)


def _like(view: ExpressionView, spot: Spot, value: ast.expr) -> Iterator[Value]:
    """Yield the value that another branch returns, unchanged and with one operator or name replaced."""
    if isinstance(value, ast.Constant) or not _names(value) <= allow_names(view, spot):
        return
    yield value, 0.3
    for position, part in places(value):
        if isinstance(part, ast.BinOp):
            for op in fitting(view.kind(part.left), view.kind(part.right)):
                if op in OPERATIONS and not isinstance(part.op, op):
                    yield _with(value, position, binary(part.left, op, part.right)), 0.2
        elif isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load):
            kind = view.kinds.of_name(part.id)
            for word in spot.visible.near if kind != CALLABLE else ():
                fit = fits(view.kinds.of_name(word), kind)
                if word != part.id and fit:
                    yield _with(value, position, name(word)), 0.15 * fit


def _with(value: ast.expr, position: Any, new: ast.expr) -> ast.expr:
    expression: ast.expr = replace(value, position, new)
    return expression


def _names(value: ast.expr) -> frozenset[str]:
    """Return the names that an expression reads and does not bind itself."""
    names = [part for part in ast.walk(value) if isinstance(part, ast.Name)]
    stored = {part.id for part in names if isinstance(part.ctx, ast.Store)}
    return frozenset(part.id for part in names if part.id not in stored)


def _elsewhere(view: ExpressionView, spot: Spot, kinds: Kind) -> Iterator[Value]:
    visible = allow_names(view, spot)
    for donor in donors(view)[:_MOST_DONORS]:
        if donor.names <= visible and (fit := fits(donor.kind, kinds)):
            yield donor.node, 0.5 * donor.prior * fit


def _calls(view: ExpressionView, words: list[str]) -> Iterator[Value]:
    """Yield calls of the file's functions with the parameters of the present function, or with one variable."""
    assert isinstance(view.root, Function)
    given = [word for word in parameters(view.root.args) if word in words]
    for word, function in view.outside.functions.items():
        if len(given) > 1 and takes(function, len(given)) and function is not view.root:
            yield call(word, *map(name, given)), 0.2
        for other in words if takes(function, 1) else ():
            if view.kinds.of_name(other) != CALLABLE:
                yield call(word, name(other)), 0.12


def _items(view: ExpressionView, spot: Spot, words: list[str]) -> Iterator[Value]:
    """Yield items of visible variables, attributes of `self` and module variables, by a visible index or key."""
    own = [f"{spot.visible.owner}.{word}" for word in spot.visible.attributes]
    for holder in (*words, *own, *view.outside.variables):
        kind = view.kinds.of_name(holder)
        if kind and not kind & (SEQUENCE | MAPPING):
            continue
        for word in words:
            index = view.kinds.of_name(word)
            if word != holder and (index & INT or not index or (index & STR and not kind & SEQUENCE)):
                subscript = ast.Subscript(value=name(holder), slice=name(word), ctx=LOAD)
                yield subscript, 0.15 * (1.0 if kind else 0.6) * (1.0 if index else 0.6)


def _turn(view: ExpressionView, words: list[str], kinds: Kind) -> Iterator[Value]:
    """Yield the results of builtins for a visible collection, such as `list(xs)`, `len(xs)` and `sorted(xs)`."""
    for word in words:
        holder = view.kinds.of_name(word)
        for function, weight in _TURNS if holder & (ITERABLE - STR) else ():
            new = call(function, name(word))
            fit = fits(view.kind(new), kinds)
            if fit and view.kind(new) != holder:
                yield new, weight * fit
        if holder & (LIST | SET):
            yield call("sorted", name(word)), 0.25


_TURNS = (("list", 0.2), ("tuple", 0.12), ("len", 0.15), ("sum", 0.12), ("set", 0.08), ("dict", 0.08))


def _join(view: ExpressionView, words: list[str], kinds: Kind) -> Iterator[Value]:
    """Yield expressions that join a list of texts into one text, with likely separators."""
    texts = [word[1:-1] for word in view.context.words.constants if word[:1] == "'" and len(word) <= 4]
    separators = [separator for separator in texts if "\\" not in separator][:4]
    for word in words if not kinds or kinds & STR else ():
        holder, items = view.kinds.of_name(word), view.kinds.of_name(f"{word}[]")
        if holder & (LIST | TUPLE) and (not items or items & STR):
            sure = 1.0 if items or kinds else 0.5
            for separator in dict.fromkeys((*separators, *_SEPARATORS)):
                joiner = ast.Attribute(value=ast.Constant(value=separator), attr="join", ctx=LOAD)
                join_call = ast.Call(func=joiner, args=[name(word)], keywords=[])
                yield join_call, sure * (0.25 if separator in separators else 0.2)


def _operations(view: ExpressionView, words: list[str], kinds: Kind) -> Iterator[Value]:
    """Yield operations on two visible numbers, or on two visible sequences."""
    for word in words[-6:]:
        for other in words[-6:]:
            kind = view.kinds.of_name(word)
            if word != other and kind & view.kinds.of_name(other) and fits(kind, kinds):
                number = is_number(kind)
                for op in _ARITHMETIC if number else (ast.Add,) if kind & (LIST | STR | TUPLE) else ():
                    if word < other or op not in (ast.Add, ast.Mult) or not number:
                        yield binary(name(word), op, name(other)), 0.07


_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Div, ast.Mod)


def _of_items(view: ExpressionView, words: list[str], kinds: Kind) -> Iterator[Value]:
    """Yield `[x for x in xs if …]` and `[… for x in xs]` with usual expressions or calls of the file's functions."""
    if kinds and not kinds & LIST:
        return
    for word in words:
        kind = view.kinds.of_name(word)
        if (kind and not kind & ITERABLE) or kind & DICT or kind == STR:
            continue
        sure = 1.0 if kind else 0.4
        for text in _ASKED:
            yield parse(f"[item for item in {word} if {text.format(x='item')}]"), 0.1 * sure
        for text in _DONE:
            yield parse(f"[{text.format(x='item')} for item in {word}]"), 0.08 * sure
        for function in view.outside.functions:
            if takes(view.outside.functions[function], 1):
                yield parse(f"[item for item in {word} if {function}(item)]"), 0.15 * sure
                yield parse(f"[{function}(item) for item in {word}]"), 0.12 * sure


EXCEPTION = "exception"
_MOST_RAISED = 200
_USUAL = ("ValueError", "TypeError", "KeyError", "IndexError", "Exception")
_LOOKED_UP = frozenset({"KeyError", "IndexError", "AttributeError", "LookupError"})
_CONVERTED = frozenset({"ValueError", "TypeError", "ArithmeticError", "ZeroDivisionError", "OverflowError"})


@expression_operator(_MOST_RAISED)
def exceptions(view: ExpressionView) -> Iterator[Edit]:
    """Replace exceptions in `raise` and `except`, catch an additional one, and wrap the text of `raise "…"`."""
    weights = _list_exceptions(view)
    for spot, node in view.values:
        if isinstance(spot.parent, ast.Raise) and spot.field == "exc":
            yield from _raise_other(view, spot, node, weights)
    for spot, tried in view.of(ast.Try):
        for index, handler in enumerate(tried.handlers):
            if handler.type is not None:  # `exits.flow` adds the exceptions that ended tests
                yield from _catch_other(view, spot, (index, handler), weights)


def _list_exceptions(view: ExpressionView) -> dict[str, float]:
    """Map names of exceptions to their likelihood; exceptions that the file or its tests name are likelier."""
    words = view.context.words
    tested = [word for text in words.texts[1:] for word in _USUAL if word in text]
    weights = dict.fromkeys(_USUAL, 0.2) | dict.fromkeys((*words.names, *tested), 0.6)
    own = {word for word, item in view.outside.classes.items() if _is_exception_class(item)}
    return {word: weight for word, weight in weights.items() if word in own or _is_builtin(word)}


def _is_exception_class(node: ast.ClassDef) -> bool:
    bases = [base.id for base in node.bases if isinstance(base, ast.Name)]
    return any(base.endswith(("Error", "Exception")) for base in bases)


def _is_builtin(word: str) -> bool:
    kind = getattr(builtins, word, None)
    return isinstance(kind, type) and issubclass(kind, Exception) and not issubclass(kind, Warning)


def _raise_other(view: ExpressionView, spot: Spot, node: ast.expr, weights: dict[str, float]) -> Iterator[Edit]:
    text, exception = view.text(node), node.func if isinstance(node, ast.Call) else node
    loose = isinstance(node, ast.Constant | ast.JoinedStr) or view.kind(node) == STR
    for word, weight in weights.items():
        if loose:
            yield from swap(spot, call(word, node), EXCEPTION, 0.4 + 0.5 * weight, become(text, f"{word}({text})"))
        elif isinstance(exception, ast.Name) and exception.id != word:
            args = node.args if isinstance(node, ast.Call) else []
            new = ast.Call(func=name(word), args=args, keywords=[]) if isinstance(node, ast.Call) else name(word)
            yield from swap(spot, new, EXCEPTION, 0.5 * weight * _near(exception.id, word), become(exception.id, word))


def _near(old: str, new: str) -> float:
    """Rate how easily two exceptions are confused."""
    return 1.0 if any({old, new} <= group for group in (_LOOKED_UP, _CONVERTED)) else 0.6


def _catch_other(
    view: ExpressionView, spot: Spot, numbered_handler: tuple[int, ast.ExceptHandler], weights: dict[str, float]
) -> Iterator[Edit]:
    """Catch another exception instead, or an additional one."""
    index, handler = numbered_handler
    old, text = handler.type, view.text(handler.type) if handler.type else ""
    present = old.elts if isinstance(old, ast.Tuple) else [old] if old else []
    if any(isinstance(part, ast.Name) and part.id == "Exception" for part in present):
        return
    line = handler.lineno if handler.lineno in view.context.lines else spot.line
    position = (*spot.position, ("handlers", index), ("type", None))
    for word, weight in weights.items():
        if any(isinstance(part, ast.Name) and part.id == word for part in present):
            continue
        both = ast.Tuple(elts=[*present, name(word)], ctx=LOAD)
        for new, share in ((name(word), 0.6 * _near(text, word)), (both, 0.4)):
            if not same(old, new):
                note = become(f"except {text}", f"except {ast.unparse(new)}")
                yield Edit(kind=EXCEPTION, position=position, new=(new,), weight=weight * share, line=line, note=note)
