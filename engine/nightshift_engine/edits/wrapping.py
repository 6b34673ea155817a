"""Edits that put something around or beside a value: a call, bounds, a remainder, or one more item.

The bound of a number is usually found nearby: it is the variable that gets the value, a value that the surrounding
condition compares, or a part of the same statement.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from nightshift_engine.edit import Edit
from nightshift_engine.edits.expression import (
    LOAD,
    ExpressionView,
    Spot,
    become,
    binary,
    call,
    display,
    expect_kind,
    expression_operator,
    name,
    name_callee,
    number,
    swap,
)
from nightshift_engine.edits.names import takes, variables
from nightshift_engine.kinds import (
    BOOL,
    CALLABLE,
    DICT,
    FLOAT,
    INT,
    ITERABLE,
    LIST,
    NONE,
    NUMBER,
    SEQUENCE,
    SET,
    SIZED,
    STR,
    TUPLE,
    UNKNOWN,
    Kind,
    fits,
    is_number,
)
from nightshift_engine.tree import at

WRAPPED = "wrapping"
_MOST_WRAPPED = 700
_TURNS: tuple[tuple[str, Kind, Kind, float], ...] = (
    ("len", SIZED, INT, 0.6),
    ("abs", INT | FLOAT, INT | FLOAT, 0.4),
    ("int", FLOAT | STR, INT, 0.4),
    ("str", INT | FLOAT | LIST, STR, 0.3),
    ("list", ITERABLE, LIST, 0.35),
    ("sorted", ITERABLE - STR, LIST, 0.4),
    ("set", ITERABLE - STR, SET, 0.3),
    ("tuple", ITERABLE - STR, TUPLE, 0.2),
    ("float", INT | STR, FLOAT, 0.2),
    ("round", FLOAT, INT, 0.2),
    ("sum", ITERABLE - STR, INT, 0.2),
    ("max", ITERABLE - STR, UNKNOWN, 0.15),
    ("min", ITERABLE - STR, UNKNOWN, 0.15),
    ("dict", DICT, DICT, 0.3),
    ("bool", UNKNOWN, BOOL, 0.05),
)
"""Rows: a builtin with one argument, the kinds that it accepts, the kind of its result, and how often its call is
forgotten.
"""


@expression_operator(_MOST_WRAPPED)
def wrapping(view: ExpressionView) -> Iterator[Edit]:
    """Put calls around an expression or drop them; replace `x` by `[x]`."""
    for spot, node in view.values:
        yield from _in_builtin(view, spot, node)
        yield from _in_own_function(view, spot, node)
        yield from _as_elsewhere(view, spot, node)
        yield from _in_display(view, spot, node)
        if isinstance(node, ast.Call):
            yield from _unwrap(view, spot, node)


def _in_builtin(view: ExpressionView, spot: Spot, node: ast.expr) -> Iterator[Edit]:
    kind, text, wanted = view.kind(node), view.text(node), expect_kind(spot, view.kinds)
    if isinstance(node, ast.Constant | ast.Lambda) or (spot.truth and not kind & ITERABLE):
        return
    # A TypeError in a test may come from a value of unknown kind, so wrapping such values is likelier then.
    doubt = 0.5 if any(error == "TypeError" for error, _ in view.context.errors) else 0.25
    around = spot.call.func.id if spot.call and isinstance(spot.call.func, ast.Name) else ""
    for function, takes_kind, gives, prior in _TURNS:
        if function == around or (function == "bool" and kind != INT) or kind == gives == INT:
            continue
        if kind and not kind & takes_kind:
            continue
        sure = (1.0 if kind else doubt) * _weigh_call(gives, wanted, spot) * (0.4 if kind == gives and kind else 1.0)
        if sure:
            new = call(function, node)
            if function == "abs" and isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
                sure *= 2
            yield from swap(spot, new, WRAPPED, prior * sure, become(text, f"{function}({text})"))


def _weigh_call(gives: Kind, wanted: Kind, spot: Spot) -> float:
    """Rate how well the result of a call fits the kind that the place needs."""
    if isinstance(spot.parent, ast.Attribute | ast.Subscript) and spot.field == "value":
        return 0.1 if gives & SEQUENCE or not gives else 0.0
    if spot.truth:
        return 0.2
    return fits(gives, wanted) if wanted else 0.4


def _in_own_function(view: ExpressionView, spot: Spot, node: ast.expr) -> Iterator[Edit]:
    """Call a function of the file with one argument, or a method of the same object; a recursive call weighs most."""
    if isinstance(node, ast.Lambda | ast.Constant) and isinstance(spot.parent, ast.Attribute):
        return
    text, wanted = view.text(node), view.choose_kind(spot)
    owns = isinstance(spot.parent, ast.Attribute)
    for word, function in view.outside.functions.items():
        fit = fits(view.kinds.of_call(word), wanted) if takes(function, 1) else 0.0
        if fit and not (isinstance(node, ast.Call) and getattr(node.func, "id", "") == word):
            prior = 0.15 if owns else 0.4 if function is view.root else 0.2
            yield from swap(spot, call(word, node), WRAPPED, prior * fit, become(text, f"{word}({text})"))
    for word, function in spot.visible.methods.items():
        if takes(function, 2) and not owns and not word.startswith("__") and not isinstance(node, ast.Constant):
            new = call(f"{spot.visible.owner}.{word}", node)
            yield from swap(spot, new, WRAPPED, 0.1, become(text, f"{spot.visible.owner}.{word}({text})"))


def _as_elsewhere(view: ExpressionView, spot: Spot, node: ast.expr) -> Iterator[Edit]:
    """Wrap the node in a call the file uses elsewhere: a function with one argument, or a method without arguments."""
    text, kind = view.text(node), view.kind(node)
    if isinstance(spot.parent, ast.Attribute):
        yield from _in_chain(spot, node, text, kind)
        return
    if isinstance(node, ast.Constant | ast.Lambda):
        return
    usual_functions = {function for function, *_ in _TURNS}
    for function in view.file.turns:
        if (
            function not in usual_functions
            and function not in view.outside.functions
            and not text.startswith(f"{function}(")
        ):
            fit = fits(view.kind(call(function, node)), expect_kind(spot, view.kinds))
            yield from swap(spot, call(function, node), WRAPPED, 0.25 * fit, become(text, f"{function}({text})"))
    usual = _OF_TEXT if kind == STR else _OF_COLLECTION if kind & (LIST | DICT | SET) else ()
    for word in dict.fromkeys((*usual, *(() if kind & NUMBER else view.file.plain_methods))):
        if word not in view.file.methods and not text.endswith(f".{word}()"):
            new = ast.Call(func=ast.Attribute(value=node, attr=word, ctx=LOAD), args=[], keywords=[])
            sure = 0.2 if word in usual else 0.08
            yield from swap(
                spot,
                new,
                WRAPPED,
                sure * fits(view.kind(new), view.choose_kind(spot)),
                become(text, f"{text}.{word}()"),
            )


def _in_chain(spot: Spot, node: ast.expr, text: str, kind: Kind) -> Iterator[Edit]:
    """Insert a method call into a chain: for example, replace `text.split()` by `text.lower().split()`."""
    called_next = getattr(spot.parent, "attr", "")
    if kind != STR and not (not kind and called_next in _ON_TEXT):
        return
    for word in _ON_TEXT[:3] if not isinstance(node, ast.Constant) else ():
        if word != called_next and not text.endswith(f".{word}()"):
            new = ast.Call(func=ast.Attribute(value=node, attr=word, ctx=LOAD), args=[], keywords=[])
            yield from swap(spot, new, WRAPPED, 0.12 if kind else 0.06, become(text, f"{text}.{word}()"))


_ON_TEXT = ("lower", "strip", "upper", "split", "startswith", "endswith", "replace", "isalpha", "isdigit", "isalnum")
_OF_ONE = frozenset(word for word, *_ in _TURNS) - {"max", "min", "round", "sum", "int", "dict", "sorted"} | {"set"}
"""Builtins that accept only one argument. If a call passes several arguments, they were probably meant as one tuple."""
_OF_TEXT, _OF_COLLECTION = ("strip", "lower", "split"), ("copy",)


def _in_display(view: ExpressionView, spot: Spot, node: ast.expr) -> Iterator[Edit]:
    kind, text = view.kind(node), view.text(node)
    if isinstance(node, ast.List | ast.Tuple | ast.Set) and len(node.elts) == 1:
        item = node.elts[0]
        if not isinstance(item, ast.Starred):
            yield from swap(spot, item, WRAPPED, 0.4, become(text, view.text(item)))
    elif not spot.truth and spot.field in ("args", "value", "left", "right", "elt", "elts", "values"):
        if isinstance(spot.parent, ast.Attribute | ast.Subscript | ast.Expr):
            return
        sure = 0.25 if expect_kind(spot, view.kinds) & LIST or _adds_to_list(spot) else 0.12
        yield from swap(spot, display(node), WRAPPED, sure, become(text, f"[{text}]"))
        pair = ast.Tuple(elts=[node], ctx=LOAD)
        sure = 0.25 if expect_kind(spot, view.kinds) & TUPLE else 0.03
        yield from swap(spot, pair, WRAPPED, sure if kind != NONE else 0.01, become(text, f"({text},)"))


def _adds_to_list(spot: Spot) -> bool:
    func = spot.call.func if spot.call else None
    return isinstance(func, ast.Attribute) and func.attr in ("append", "extend", "insert")


def _unwrap(view: ExpressionView, spot: Spot, node: ast.Call) -> Iterator[Edit]:
    """Replace `f(x)` by `x`, and `x.f()` by `x`."""
    text = view.text(node)
    inner = [(arg, 0.4) for arg in node.args if not isinstance(arg, ast.Starred)]
    if isinstance(node.func, ast.Attribute) and view.text(node.func.value) not in view.outside.imports:
        inner.append((node.func.value, 0.25))
    for part, prior in inner:
        fit = fits(view.kind(part), view.choose_kind(spot))
        weight = prior * max(fit, 0.3)
        if not isinstance(part, ast.GeneratorExp) or spot.field in ("iter", "args", "value"):
            yield from swap(spot, part, WRAPPED, weight, become(text, view.text(part)))
    if len(node.args) > 1 and not any(isinstance(arg, ast.Starred) for arg in node.args) and not spot.truth:
        many = ast.Tuple(elts=node.args, ctx=LOAD)
        prior = 0.4 if name_callee(node) in _OF_ONE else 0.03
        yield from swap(spot, many, WRAPPED, prior, become(text, f"({', '.join(map(view.text, node.args))})"))


_MOST_BOUNDS, _MOST_REMAINDERS = 400, 120
_TESTS = ast.If | ast.While | ast.IfExp
_NEAR = ast.Subscript | ast.Attribute | ast.Call | ast.BinOp
_ENDS = (ast.Assign, ast.AugAssign, ast.Return, ast.Tuple, ast.List, ast.Dict, ast.Slice, ast.Yield, ast.Call)
"""Parents whose child is a complete value; under other parents, a value is a part of a larger value."""
_LETTERS = 26
"""Number of letters of the alphabet: the modulus if the file converts between characters and numbers."""
_LARGEST_SHARED = 12
"""Maximum number of nodes of an expression that serves as a bound."""


@expression_operator(_MOST_BOUNDS)
def bounds(view: ExpressionView) -> Iterable[Edit]:
    """Replace `x` by `max(x, y)` or `min(x, y)`, so that another value is its lower or upper bound."""
    near = _Near(view)
    return (edit for spot, node in view.values for edit in _limit(view, near, spot, node))


@expression_operator(_MOST_REMAINDERS)
def remainders(view: ExpressionView) -> Iterable[Edit]:
    """Replace `x` by `x % n`, for an index or character number that should wrap around."""
    return (edit for spot, node in view.values for edit in _circle(view, spot, node))


class _Near:
    """Finds expressions near a spot that may serve as bounds; the result is cached for each statement."""

    def __init__(self, view: ExpressionView) -> None:
        self._view = view
        self._nearby: dict[int, list[tuple[ast.expr, float]]] = {}

    def of(self, spot: Spot) -> list[tuple[ast.expr, float]]:
        """Return parts of the conditions around a spot, then parts of the spot's own statement, with weights."""
        key = id(spot.statement)
        if key not in self._nearby:
            self._nearby[key] = list(self._all(spot))
        return self._nearby[key]

    def _all(self, spot: Spot) -> Iterator[tuple[ast.expr, float]]:
        tree, seen = self._view.context.tree, set[str]()
        around = [at(tree, spot.position[:end]) for end in range(len(spot.position), 0, -1)]
        tests = [node.test for node in around if isinstance(node, _TESTS)]
        own = [] if isinstance(spot.statement, ast.If | ast.While | ast.For) else [spot.statement]
        for trees, weight in ((tests[:2], 0.3), (own, 0.15)):
            for node in (part for tree in trees for part in ast.walk(tree) if isinstance(part, ast.expr)):
                if _is_shared(node) and (text := self._view.text(node)) not in seen:
                    seen.add(text)
                    yield node, weight


def _is_shared(node: ast.expr) -> bool:
    """Check whether an expression is small and may be evaluated twice."""
    if not isinstance(node, _NEAR) or not isinstance(getattr(node, "ctx", None), ast.Load | None):
        return False
    parts = list(ast.walk(node))
    return len(parts) <= _LARGEST_SHARED and not any(isinstance(part, ast.Await | ast.NamedExpr) for part in parts)


def _limit(view: ExpressionView, near: _Near, spot: Spot, node: ast.expr) -> Iterator[Edit]:
    target, text, is_end = _target(view, spot), view.text(node), isinstance(spot.parent, _ENDS)
    kind = view.kind(node) or (view.kinds.of_name(target) if target else UNKNOWN)
    if spot.truth or not (is_number(kind) or (not kind and (target or spot.field in ("value", "elts", "args")))):
        return
    if _is_plain(node) or isinstance(spot.parent, ast.Attribute):
        return
    if spot.call and name_callee(spot.call) in ("max", "min"):
        return
    sure = (1.0 if kind else 0.5) * (1.0 if is_end else 0.5)
    for other, weight in _others(view, near, spot, (node, kind)):
        is_target = bool(target) and ast.unparse(other) == target
        for function in ("max", "min"):
            new = call(function, other, node) if is_target else call(function, node, other)
            yield from swap(spot, new, "wrapping", weight * sure, become(text, ast.unparse(new)))


def _is_plain(node: ast.expr) -> bool:
    """Check whether an expression is a literal, a lambda or a truth value, for which bounds make no sense."""
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.Not) or isinstance(node.operand, ast.Constant)
    return isinstance(node, ast.Constant | ast.Compare | ast.Lambda)


def _others(
    view: ExpressionView, near: _Near, spot: Spot, old: tuple[ast.expr, Kind]
) -> Iterator[tuple[ast.expr, float]]:
    """Yield bounds for a number: zero and one, the target, variables, and nearby expressions."""
    node, kind = old
    text, target = view.text(node), _target(view, spot)
    yield number(0), 0.3
    yield number(1), 0.15
    if target and target != text:
        yield (name(target) if target.isidentifier() else _as_value(spot)), 0.4
    for word, ready in variables(view, spot):
        fit = fits(view.kinds.of_name(word), kind) if word not in (text, target) else 0.0
        if fit:
            yield name(word), 0.12 * fit * ready
    parts = view.file.parts(node)
    for other, weight in near.of(spot):
        shown = view.text(other)
        fit = fits(view.kind(other), kind) if kind else 0.5 * (not view.kind(other) or is_number(view.kind(other)))
        if fit and shown not in (text, target) and shown not in parts:
            yield other, weight * max(fit, 0.7)


def _target(view: ExpressionView, spot: Spot) -> str:
    """Return the target, as text, of the assignment whose value is at this spot; empty if there is none."""
    parent = spot.parent
    if isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Name | ast.Attribute | ast.Subscript):
        return view.text(parent.targets[0])
    return ""


def _as_value(spot: Spot) -> ast.expr:
    """Return the target of an assignment as an expression that is read."""
    assert isinstance(spot.parent, ast.Assign)
    return ast.parse(ast.unparse(spot.parent.targets[0]), mode="eval").body


def _circle(view: ExpressionView, spot: Spot, node: ast.expr) -> Iterator[Edit]:
    kind, text = view.kind(node), view.text(node)
    if spot.truth or _is_plain(node) or (kind and not kind & INT):
        return
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        return
    weight = _weigh_position(view, spot) * (1.0 if kind else 0.4)
    for other, share in _moduli(view, spot) if weight else ():
        new = binary(node, ast.Mod, other)
        yield from swap(spot, new, "operand", weight * share, become(text, ast.unparse(new)))


def _weigh_position(view: ExpressionView, spot: Spot) -> float:
    """Rate how often a number should wrap around at this place."""
    parent = spot.parent
    if isinstance(parent, ast.Subscript) and spot.field == "slice":
        return 1.0 if not view.kind(parent.value) or view.kind(parent.value) & SEQUENCE else 0.0
    if isinstance(parent, ast.Call):
        return 0.8 if name_callee(parent) == "chr" else 0.15
    if isinstance(parent, ast.BinOp):
        return 0.8 if isinstance(spot.node, ast.BinOp) else 0.2
    return 0.4 if isinstance(parent, ast.Assign | ast.Return | ast.Tuple | ast.AugAssign) else 0.0


def _moduli(view: ExpressionView, spot: Spot) -> Iterator[tuple[ast.expr, float]]:
    """Yield lengths of visible collections, integers of the file and its tests, and variables."""
    parent = spot.parent
    holder = parent.value if isinstance(parent, ast.Subscript) else None
    if isinstance(holder, ast.Name | ast.Attribute):
        yield call("len", holder), 0.3
    for word in spot.visible.near:
        kind = view.kinds.of_name(word)
        if kind & SIZED and not (isinstance(holder, ast.Name) and holder.id == word):
            yield call("len", name(word)), 0.1
        elif kind & INT:
            yield name(word), 0.08
    letters = {"chr", "ord"} <= view.file.calls
    if letters:
        yield number(_LETTERS), 0.12
    numbers = (int(word) for word in view.context.words.constants if word.isdecimal())
    for value in [value for value in numbers if value > 1 and not (letters and value == _LETTERS)][:6]:
        yield number(value), 0.06


JOINED = "concatenation"
_MOST_JOINED = 500


@expression_operator(_MOST_JOINED)
def concatenations(view: ExpressionView) -> Iterator[Edit]:
    """Add a further element or part from the visible variables to a list, tuple or display."""
    for spot, node in view.values:
        kind = view.kind(node)
        if isinstance(node, ast.List | ast.Set) or (isinstance(node, ast.Tuple) and spot.field != "slice"):
            yield from _longer(view, spot, node)
        if spot.truth or isinstance(spot.parent, ast.Attribute | ast.Subscript):
            continue
        if kind & (LIST | TUPLE) or (not kind and _may_be_list(spot, node)):
            yield from _concatenate(view, spot, node, kind)


def _may_be_list(spot: Spot, node: ast.expr) -> bool:
    takes_value = spot.field in ("value", "args", "iter", "left", "right") and not isinstance(node, ast.Constant)
    return takes_value and not isinstance(spot.parent, ast.Expr | ast.Await | ast.Yield)


def _longer(view: ExpressionView, spot: Spot, node: ast.List | ast.Set | ast.Tuple) -> Iterator[Edit]:
    present = {view.text(item) for item in node.elts}
    text = view.text(node)
    for index in range(len(node.elts)):
        if len(node.elts) > 1:
            rest = type(node)(elts=[*node.elts[:index], *node.elts[index + 1 :]])
            yield from swap(
                spot, _read_operand(rest), "element", 0.2, f"`{view.text(node.elts[index])}` left out of `{text}`"
            )
    for word, near in variables(view, spot):
        kind = view.kinds.of_name(word)
        same_kind = fits(kind, view.kind(node.elts[0])) if node.elts else 0.6
        if word in present or kind == CALLABLE or not same_kind:
            continue
        for items in ([*node.elts, name(word)], [name(word), *node.elts]):
            new = _read_operand(type(node)(elts=items))
            prior = 0.15 if node.elts else 0.4
            yield from swap(spot, new, "element", prior * near * same_kind, f"`{word}` put into `{text}`")
            if not node.elts:
                break


def _read_operand(node: ast.List | ast.Set | ast.Tuple) -> ast.expr:
    if not isinstance(node, ast.Set):
        node.ctx = LOAD
    return node


def _concatenate(view: ExpressionView, spot: Spot, node: ast.expr, kind: Kind) -> Iterator[Edit]:
    """Replace `rest` by `[first] + rest`, `rest + [first]`, and the same with other sequences."""
    text, sure = view.text(node), 1.0 if kind else 0.35
    for word, near in variables(view, spot):
        part = view.kinds.of_name(word)
        if part == CALLABLE or word == text:
            continue
        is_tuple = kind == TUPLE
        single: ast.expr = ast.Tuple(elts=[name(word)], ctx=LOAD) if is_tuple else display(name(word))
        shown = f"({word},)" if is_tuple else f"[{word}]"
        weight = 0.2 * near * sure * (0.4 if part & (LIST | TUPLE) else 1.0)
        pairs = [(single, node, f"{shown} + {text}"), (node, single, f"{text} + {shown}")]
        for left, right, shown in pairs:
            yield from swap(spot, binary(left, ast.Add, right), JOINED, weight, become(text, shown))
        if not kind and part & (LIST | TUPLE):
            yield from swap(spot, binary(node, ast.Add, name(word)), JOINED, weight, become(text, f"{text} + {word}"))
            yield from swap(spot, binary(name(word), ast.Add, node), JOINED, weight, become(text, f"{word} + {text}"))
