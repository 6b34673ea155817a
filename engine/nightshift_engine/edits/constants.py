"""Edits of constants: other constants of the file or its tests, nearby numbers, and off-by-one changes."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from nightshift_engine.edit import Edit, EditContext
from nightshift_engine.edits.expression import (
    LOAD,
    ExpressionView,
    Spot,
    become,
    binary,
    call,
    display,
    expression_operator,
    name_callee,
    number,
    parse,
    swap,
)
from nightshift_engine.kinds import DICT, INT, LIST, NONE, NUMBER, SET, SIZED, STR, TUPLE, is_number

CONSTANT = "constant"
_MOST = 600
_MADE = ("set", "list", "dict", "tuple")
_COMMON = 12
"""Number of the commonest constants of the vocabulary that count as likely; the others come much later."""


@expression_operator(_MOST)
def constants(view: ExpressionView) -> Iterable[Edit]:
    """Replace a literal by another number, string, truth value or empty container."""
    words = _words(view.context)
    return _all(view, words)


def _all(view: ExpressionView, words: list[object]) -> Iterator[Edit]:
    for spot, node in view.values:
        if isinstance(node, ast.Constant):
            for new, weight in _instead_of(spot, node.value, words):
                yield from _edit(view, spot, node, new, weight)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
            for new, weight in _instead_of_number(-_number_or_zero(node.operand.value), words):
                yield from _edit(view, spot, node, new, weight)
        else:
            for new, weight in _instead_of_empty(node):
                yield from _edit(view, spot, node, new, weight)
            for new, weight in _instead_of_infinite(node):
                yield from _edit(view, spot, node, new, weight)
            if spot.field == "value" and isinstance(spot.parent, ast.Return | ast.Assign):
                yield from _simple_result(view, spot, node)


def _edit(view: ExpressionView, spot: Spot, node: ast.expr, new: ast.expr, weight: float) -> Iterator[Edit]:
    yield from swap(spot, new, CONSTANT, weight, become(view.text(node), ast.unparse(new)))


def _words(context: EditContext) -> list[object]:
    values = list[object]()
    for word in context.words.constants:
        try:
            values.append(ast.literal_eval(word))
        except (SyntaxError, ValueError):
            continue
    return values


def _instead_of(spot: Spot, value: object, words: list[object]) -> Iterator[tuple[ast.expr, float]]:
    if isinstance(value, bool):
        yield ast.Constant(value=not value), 0.8
        yield ast.Constant(value=None), 0.2
        yield number(int(value)), 0.03
        yield number(int(not value)), 0.03
    elif isinstance(value, int | float):
        negated = isinstance(spot.parent, ast.UnaryOp)
        yield from () if negated else _instead_of_number(value, words)
    elif isinstance(value, str):
        yield from _instead_of_text(value, words)
    elif value is None:
        yield from _instead_of_none(spot)


def _instead_of_number(value: float, words: list[object]) -> Iterator[tuple[ast.expr, float]]:
    """Yield numbers near `value` first, then common initial values, then the vocabulary's numbers."""
    weights: dict[float, float] = {value + 1: 0.7, value - 1: 0.7}
    if value:
        weights.setdefault(-value, 0.4)
    for usual, weight in ((0, 0.5), (1, 0.5), (-1, 0.3), (2, 0.3)):
        weights.setdefault(usual, weight)
    common = [word for word in words if isinstance(word, int | float)]
    for rank, word in enumerate(common):
        weights.setdefault(word, 0.3 if rank < _COMMON else 0.04)
    for twice in (value * 2, value * 10, value + 2, value - 2):
        weights.setdefault(twice, 0.06)
    for new, weight in weights.items():
        if new != value:
            yield number(new), weight
    if value == int(value):
        yield number(float(value) if isinstance(value, int) else int(value)), 0.15
    if value in (0, 1, -1):
        yield ast.Constant(value=None), 0.2
        yield ast.Constant(value=value == 1), 0.1
        yield _infinite(negative=True), 0.15
        yield _infinite(negative=False), 0.15
        yield display(), 0.05
        yield ast.Constant(value=""), 0.05


def _instead_of_text(value: str, words: list[object]) -> Iterator[tuple[ast.expr, float]]:
    weights: dict[str, float] = {}
    if value == "":
        weights |= {" ": 0.5, "\n": 0.2, "0": 0.1, ",": 0.1}
    for variant in (value.lower(), value.upper(), value.capitalize(), value.title()):
        weights.setdefault(variant, 0.4)
    for variant in (value.strip(), f"{value} ", f" {value}", value[:-1], value[1:], f"{value}\n"):
        weights.setdefault(variant, 0.25 if value else 0.02)
    for variant in (value.replace(" ", ""), value.replace(" ", "_"), value.replace("_", " "), value.replace("-", "_")):
        weights.setdefault(variant, 0.25)
    weights.setdefault("", 0.3)
    texts = [word for word in words if isinstance(word, str)]
    for rank, word in enumerate(texts):
        weights.setdefault(word, 0.3 if rank < _COMMON else 0.06)
    for new, weight in weights.items():
        if new != value:
            yield ast.Constant(value=new), weight
    if not value:
        yield ast.Constant(value=None), 0.2
        yield display(), 0.1


def _instead_of_none(spot: Spot) -> Iterator[tuple[ast.expr, float]]:
    if isinstance(spot.parent, ast.Compare):
        yield number(0), 0.1
        return
    for value in (0, 1, -1):
        yield number(value), 0.25
    for word in (False, True, ""):
        yield ast.Constant(value=word), 0.25
    yield display(), 0.25
    yield ast.Dict(keys=[], values=[]), 0.2
    yield call("set"), 0.1
    yield ast.Tuple(elts=[], ctx=LOAD), 0.1


def _instead_of_empty(node: ast.expr) -> Iterator[tuple[ast.expr, float]]:
    """Yield replacements of empty containers: `[]` for `[[]]`, `{}` for `set()` and so on."""
    if not _is_empty(node):
        if isinstance(node, ast.List) and len(node.elts) == 1 and _is_empty(node.elts[0]):
            yield node.elts[0], 0.5
        return
    weights = {"[[]]": 0.5, "[]": 0.3, "{}": 0.4, "set()": 0.4, "()": 0.3, "None": 0.3, "[0]": 0.3, "[()]": 0.05}
    weights |= {"''": 0.2, "0": 0.15, "[1]": 0.2, "['']": 0.1, "[None]": 0.1, "{0}": 0.05}
    if not isinstance(node, ast.List):
        weights = {
            word: weight * (0.2 if word.startswith("[") and word != "[]" else 1) for word, weight in weights.items()
        }
    for word, weight in weights.items():
        yield parse(word), weight


def _is_empty(node: ast.expr) -> bool:
    if isinstance(node, ast.List | ast.Tuple):
        return not node.elts
    if isinstance(node, ast.Dict):
        return not node.keys
    if not isinstance(node, ast.Call) or node.args or node.keywords:
        return False
    return isinstance(node.func, ast.Name) and name_callee(node) in _MADE


def _infinite(*, negative: bool) -> ast.expr:
    return call("float", ast.Constant(value="-inf" if negative else "inf"))


def _instead_of_infinite(node: ast.expr) -> Iterator[tuple[ast.expr, float]]:
    """Yield replacements of infinity: `float('inf')` for `float('-inf')`, `-math.inf` for `math.inf`, and 0."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "float" and node.args:
        word = node.args[0]
        if isinstance(word, ast.Constant) and isinstance(word.value, str):
            yield _infinite(negative="-" not in word.value), 0.8
            yield number(0), 0.2
    elif isinstance(node, ast.Attribute) and node.attr == "inf":
        yield ast.UnaryOp(op=ast.USub(), operand=node), 0.8
        yield number(0), 0.2


def _simple_result(view: ExpressionView, spot: Spot, node: ast.expr) -> Iterator[Edit]:
    """Replace a whole result or initial value by a plain value of its kind."""
    kind = view.kind(node)
    results: list[tuple[ast.expr, float]] = []
    if is_number(kind):
        results += [(number(value), 0.15) for value in (0, 1, -1)]
    elif kind & NUMBER:
        results += [(ast.Constant(value=value), 0.3) for value in (True, False)]
    for collection_kind, empty in ((LIST, "[]"), (DICT, "{}"), (SET, "set()"), (TUPLE, "()"), (STR, "''")):
        if kind & collection_kind:
            results.append((parse(empty), 0.1))
    if not kind & NONE and kind & (NUMBER | SIZED):
        results.append((ast.Constant(value=None), 0.08))
    if not kind:
        results += [(ast.Constant(value=value), 0.05) for value in (None, True, False, 0)]
    for new, weight in results:
        yield from _edit(view, spot, node, new, weight if isinstance(spot.parent, ast.Return) else weight * 0.5)


def _number_or_zero(value: object) -> float:
    return value if isinstance(value, int | float) else 0


OFF_BY_ONE = "off_by_one"
_HOLDERS = ast.Tuple | ast.List | ast.Dict | ast.keyword | ast.IfExp | ast.ListComp | ast.JoinedStr


@expression_operator()
def off_by_one(view: ExpressionView) -> Iterator[Edit]:
    """Add, subtract or drop a one in integer expressions: indices, bounds, arguments, comparands, results."""
    for spot, node in view.values:
        if isinstance(node, ast.Constant):
            continue
        prior = _prior(view, spot, node)
        if prior:
            yield from _shift(view, spot, node, prior)


def _prior(view: ExpressionView, spot: Spot, node: ast.expr) -> float:
    kind = view.kind(node)
    if (kind and not is_number(kind)) or isinstance(node, ast.Compare | ast.BoolOp | ast.Lambda | ast.IfExp):
        return 0.0
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return 0.0
    position_weight = _weigh_position(view, spot)
    sure = 1.0 if kind >= INT else 0.6 if kind else 0.35
    return position_weight * sure


def _weigh_position(view: ExpressionView, spot: Spot) -> float:
    """Rate how common an off-by-one error is at this place."""
    parent = spot.parent
    if isinstance(parent, ast.Slice):
        return 1.0
    if isinstance(parent, ast.Subscript):
        keyed = view.kind(parent.value) == frozenset({"dict"})
        return 0.0 if spot.field != "slice" else 0.3 if keyed else 1.0
    if isinstance(parent, ast.Call):
        ranged = isinstance(parent.func, ast.Name) and parent.func.id == "range"
        return 1.0 if ranged else 0.7
    if isinstance(parent, ast.Compare):
        return 0.8 if any(isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for op in parent.ops) else 0.5
    if isinstance(parent, ast.BinOp):
        # Adding one to a term of a sum equals adding one to the whole sum, which is tried at the sum's own place.
        return 0.0 if isinstance(parent.op, ast.Add | ast.Sub) else 0.3
    if isinstance(parent, ast.Return | ast.Assign | ast.AnnAssign | ast.Yield):
        return 0.7
    if isinstance(parent, ast.AugAssign):
        return 0.3
    return 0.4 if isinstance(parent, _HOLDERS) else 0.0


def _shift(view: ExpressionView, spot: Spot, node: ast.expr, prior: float) -> Iterator[Edit]:
    text = view.text(node)
    amount = _amount(node)
    if isinstance(node, ast.BinOp) and amount:
        yield from swap(spot, node.left, OFF_BY_ONE, 0.9 * prior, become(text, view.text(node.left)))
        yield from _move(view, spot, node, amount, prior)
        return
    for op, sign in ((ast.Add, "+"), (ast.Sub, "-")):
        new = binary(node, op, ast.Constant(value=1))
        yield from swap(spot, new, OFF_BY_ONE, 0.9 * prior, become(text, f"{text} {sign} 1"))


def _move(view: ExpressionView, spot: Spot, node: ast.BinOp, present: int, prior: float) -> Iterator[Edit]:
    """Replace `e + 2` by `e + 1`, `e + 3` and `e - 2`, and `e + 1` by `e + 2` and `e - 1`."""
    for shift, weight in ((present + 1, 0.5), (present - 1, 0.5), (-present, 0.8)):
        if shift:
            new = binary(node.left, ast.Add if shift > 0 else ast.Sub, number(abs(shift)))
            note = become(view.text(node), f"{view.text(node.left)} {'+' if shift > 0 else '-'} {abs(shift)}")
            yield from swap(spot, new, OFF_BY_ONE, weight * prior, note)


def _amount(node: ast.expr) -> int:
    """Return the integer that is added at the end of a sum: negative if it is subtracted, 0 if there is none."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub) and isinstance(node.right, ast.Constant):
        value = node.right.value
        if type(value) is int:
            return value if isinstance(node.op, ast.Add) else -value
    return 0
