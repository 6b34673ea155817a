"""Edits of calls: their arguments and keywords, the called function or method, and missing calls."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from itertools import combinations, permutations

from nightshift_engine.edit import Edit
from nightshift_engine.edits.expression import (
    LOAD,
    ExpressionView,
    Spot,
    become,
    call,
    expression_operator,
    name,
    name_callee,
    number,
    parse,
    swap,
    with_item,
    without,
)
from nightshift_engine.edits.names import variables
from nightshift_engine.kinds import CALLABLE, DICT, LIST, NONE, SET, STR, Kind, fits
from nightshift_engine.tree import Function, at

ARGUMENTS = "argument"
_MOST_ARGUMENTS = 700
_DEFAULTS = ("0", "None", "''", "[]", "1", "False", "{}")
_OF_ONE = {
    *("abs", "all", "any", "append", "bool", "chr", "extend", "hash", "id", "isdigit", "iter", "join", "keys", "len"),
    *("list", "lower", "ord", "popleft", "range", "repr", "reversed", "set", "sorted", "tuple", "upper", "values"),
    "items",
}
_WITH_DEFAULT = {"get": 2, "pop": 2, "setdefault": 2, "next": 2, "getattr": 3}


@expression_operator(_MOST_ARGUMENTS)
def arguments(view: ExpressionView) -> Iterator[Edit]:
    """Change the arguments of existing calls."""
    for spot, node in view.of(ast.Call):
        yield from _reorder(view, spot, node)
        yield from _drop(view, spot, node)
        yield from _unpack(view, spot, node)
        yield from _usual(view, spot, node)
        yield from _add(view, spot, node)


def _callee(view: ExpressionView, spot: Spot, node: ast.Call) -> tuple[Function | None, int]:
    """Return the function of the file that a call runs, and the number of its parameters that Python fills.

    The number is 1 for a method, whose `self` Python fills. The function is None if it is not in the file.
    """
    if isinstance(node.func, ast.Name):
        owner = view.outside.classes.get(node.func.id)
        if owner is not None:
            inits = (item for item in owner.body if isinstance(item, Function) and item.name == "__init__")
            return next(inits, None), 1
        return view.outside.functions.get(node.func.id), 0
    if isinstance(node.func, ast.Attribute):
        own = view.text(node.func.value) == spot.visible.owner
        return (spot.visible.methods if own else view.file.methods).get(node.func.attr), 1
    return None, 0


def _reorder(view: ExpressionView, spot: Spot, node: ast.Call) -> Iterator[Edit]:
    args, text = node.args, view.text(node)
    if len(args) < 2 or any(isinstance(arg, ast.Starred) for arg in args) or name_callee(node) in ("max", "min"):
        return
    for first, other in combinations(range(len(args)), 2):
        turned = list(args)
        turned[first], turned[other] = args[other], args[first]
        fit = fits(view.kind(args[first]), view.kind(args[other]))
        new = ast.Call(func=node.func, args=turned, keywords=node.keywords)
        yield from swap(spot, new, ARGUMENTS, 0.25 + 0.5 * fit, f"arguments of `{text}` swapped")
    if len(args) == 3:
        for order in ((1, 2, 0), (2, 0, 1)):
            new = ast.Call(func=node.func, args=[args[index] for index in order], keywords=node.keywords)
            yield from swap(spot, new, ARGUMENTS, 0.2, f"arguments of `{text}` in another order")


def _drop(view: ExpressionView, spot: Spot, node: ast.Call) -> Iterator[Edit]:
    callee, bound = _callee(view, spot, node)
    least = _least(callee, bound) if callee else 0
    few = len(node.args) + len(node.keywords)
    text = view.text(node)
    for index, arg in enumerate(node.args):
        if few - 1 < least or (callee is None and few == 1 and not isinstance(node.func, ast.Attribute)):
            break
        new = ast.Call(func=node.func, args=without(node.args, index), keywords=node.keywords)
        prior = 0.4 if callee or isinstance(node.func, ast.Attribute) else 0.2
        yield from swap(spot, new, ARGUMENTS, prior, f"the argument `{view.text(arg)}` of `{text}` dropped")


def _unpack(view: ExpressionView, spot: Spot, node: ast.Call) -> Iterator[Edit]:
    for index, arg in enumerate(node.args):
        if isinstance(arg, ast.Starred):
            new = _with_args(node, with_item(node.args, index, arg.value))
            yield from swap(spot, new, ARGUMENTS, 0.3, f"`{view.text(arg)}` not unpacked")
        elif view.kind(arg) & {"list", "tuple"} and len(node.args) == 1:
            new = _with_args(node, [ast.Starred(value=arg, ctx=LOAD)])
            yield from swap(spot, new, ARGUMENTS, 0.1, f"`{view.text(arg)}` unpacked")


def _least(function: Function, bound: int) -> int:
    args = function.args
    needed = sum(1 for default in args.kw_defaults if default is None)
    return len(args.posonlyargs) + len(args.args) - len(args.defaults) - bound + needed


def _usual(view: ExpressionView, spot: Spot, node: ast.Call) -> Iterator[Edit]:
    """Add an optional argument to a call of a well-known method or builtin: a default, an index or a separator."""
    text, word = view.text(node), name_callee(node)
    if len(node.args) + 1 == _WITH_DEFAULT.get(word):
        for default in _DEFAULTS:
            new = _with_args(node, [*node.args, parse(default)])
            yield from swap(spot, new, ARGUMENTS, 0.3, f"`{text}` with the default `{default}`")
    if word == "pop" and not node.args:
        for value in (0, -1):
            yield from swap(spot, _with_args(node, [number(value)]), ARGUMENTS, 0.5, f"`pop({value})` for `pop()`")
    if word in ("split", "strip", "lstrip", "rstrip", "join") and not node.args:
        for separator in (" ", ",", "\n"):
            yield from swap(
                spot, _with_args(node, [ast.Constant(value=separator)]), ARGUMENTS, 0.2, f"`{text}` with {separator!r}"
            )


def _add(view: ExpressionView, spot: Spot, node: ast.Call) -> Iterator[Edit]:
    """Add an argument if the function accepts one; a variable with the parameter's name is likeliest."""
    text = view.text(node)
    callee, bound = _callee(view, spot, node)
    if any(isinstance(arg, ast.Starred) for arg in node.args):
        return
    if callee is None:
        yield from _add_to_unknown(view, spot, node)
        return
    params = [*callee.args.posonlyargs, *callee.args.args][bound:]
    if len(node.args) >= len(params) or {keyword.arg for keyword in node.keywords} & {arg.arg for arg in params}:
        return
    missing = params[len(node.args)].arg
    for word, near in variables(view, spot):
        prior = 0.8 if word.split(".")[-1] == missing else 0.25
        for index in (len(node.args), *range(len(node.args))):
            new = _with_args(node, [*node.args[:index], name(word), *node.args[index:]])
            weight = prior * near * (1.0 if index == len(node.args) else 0.2)
            yield from swap(spot, new, ARGUMENTS, weight, f"`{word}` added to `{text}`")
    for default in ("[]", "0", "1", "None", "True"):
        new = _with_args(node, [*node.args, parse(default)])
        yield from swap(spot, new, ARGUMENTS, 0.15, f"`{default}` added to `{text}`")


def _add_to_unknown(view: ExpressionView, spot: Spot, node: ast.Call) -> Iterator[Edit]:
    """Add an argument to an unknown function; builtins and methods with one argument are left out."""
    text = view.text(node)
    if name_callee(node) in _OF_ONE:
        return
    for word, near in variables(view, spot):
        new = _with_args(node, [*node.args, name(word)])
        yield from swap(spot, new, ARGUMENTS, 0.05 * near, f"`{word}` added to `{text}`")


def _with_args(node: ast.Call, args: list[ast.expr]) -> ast.Call:
    return ast.Call(func=node.func, args=args, keywords=node.keywords)


KEYWORD = "keyword"
_MOST_KEYWORDS = 300
_KEYED = ("sorted", "sort", "max", "min", "nlargest", "nsmallest", "groupby")
_KEYS = (
    "lambda item: item[0]",
    "lambda item: item[1]",
    "lambda item: item[-1]",
    "len",
    "str.lower",
    "lambda item: -item",
)
_KEYS_OF_PAIRS = (
    "lambda item: (-item[1], item[0])",
    "lambda item: (item[1], item[0])",
    "lambda item: (len(item), item)",
)


@expression_operator(_MOST_KEYWORDS)
def keywords(view: ExpressionView) -> Iterator[Edit]:
    """Change the keyword arguments of existing calls."""
    for spot, node in view.of(ast.Call):
        yield from _keywords(view, spot, node)
        yield from _missing(view, spot, node)
        if name_callee(node) in _KEYED:
            yield from _sorting(view, spot, node)


def _keywords(view: ExpressionView, spot: Spot, node: ast.Call) -> Iterator[Edit]:
    text = view.text(node)
    for index, keyword in enumerate(node.keywords):
        rest = [*node.keywords[:index], *node.keywords[index + 1 :]]
        new = ast.Call(func=node.func, args=node.args, keywords=rest)
        yield from swap(spot, new, KEYWORD, 0.3, f"`{keyword.arg or '**'}` of `{text}` dropped")
    named = [index for index, keyword in enumerate(node.keywords) if keyword.arg]
    for first, other in combinations(named, 2):
        keywords = list(node.keywords)
        keywords[first] = ast.keyword(arg=node.keywords[first].arg, value=node.keywords[other].value)
        keywords[other] = ast.keyword(arg=node.keywords[other].arg, value=node.keywords[first].value)
        new = ast.Call(func=node.func, args=node.args, keywords=keywords)
        yield from swap(spot, new, KEYWORD, 0.3, f"values of keywords of `{text}` swapped")


def _missing(view: ExpressionView, spot: Spot, node: ast.Call) -> Iterator[Edit]:
    """Add a keyword argument that other calls of the same function pass, or that the function accepts."""
    text, present = view.text(node), {keyword.arg for keyword in node.keywords}
    for keyword in view.file.keywords.get(name_callee(node), ()):
        if keyword.arg and keyword.arg not in present:
            new = _with_keyword(node, keyword.arg, keyword.value)
            note = f"`{keyword.arg}={view.text(keyword.value)}` added to `{text}`"
            yield from swap(spot, new, KEYWORD, 0.4, note)
    function = view.outside.functions.get(name_callee(node)) or view.file.methods.get(name_callee(node))
    parameters = [arg.arg for arg in (*function.args.args, *function.args.kwonlyargs)] if function else []
    for word in parameters[len(node.args) :]:
        for value in (word, "True", "False", "None"):
            if word not in present and (value != word or word in spot.visible.near):
                new = _with_keyword(node, word, parse(value))
                yield from swap(
                    spot, new, KEYWORD, 0.5 if value == word else 0.1, f"`{word}={value}` added to `{text}`"
                )


def _sorting(view: ExpressionView, spot: Spot, node: ast.Call) -> Iterator[Edit]:
    word, text = name_callee(node), view.text(node)
    present = {keyword.arg: keyword.value for keyword in node.keywords}
    if word in ("sorted", "sort") and "reverse" not in present:
        new = _with_keyword(node, "reverse", ast.Constant(value=True))
        yield from swap(spot, new, KEYWORD, 0.5, f"`reverse=True` added to `{text}`")
    if word in ("max", "min") and len(node.args) == 1 and "default" not in present:
        for default in ("0", "None"):
            new = _with_keyword(node, "default", parse(default))
            yield from swap(spot, new, KEYWORD, 0.3, f"`default={default}` added to `{text}`")
    keys = [(key, 0.2) for key in _KEYS] + [(key, 0.12) for key in _KEYS_OF_PAIRS]
    keys += [(own, 0.2) for own in view.outside.functions]
    keys += [(f"{own}.get", 0.3) for own in spot.visible.near if view.kinds.of_name(own) & {"dict", "Counter"}]
    for key, weight in keys:
        new = _with_keyword(node, "key", parse(key))
        yield from swap(spot, new, KEYWORD, weight, f"`{text}` with `key={key}`")
    if isinstance(present.get("key"), ast.Lambda):
        yield from _other_key(view, spot, node, present["key"])


def _other_key(view: ExpressionView, spot: Spot, node: ast.Call, key: ast.expr) -> Iterator[Edit]:
    """Reorder the parts of a sort key, or negate one of them."""
    assert isinstance(key, ast.Lambda)
    bodies: list[ast.expr] = []
    if isinstance(key.body, ast.Tuple) and len(key.body.elts) <= 3:
        bodies += [ast.Tuple(elts=list(order), ctx=LOAD) for order in permutations(key.body.elts)]
        for index, part in enumerate(key.body.elts):
            bodies.append(ast.Tuple(elts=with_item(key.body.elts, index, _turn(part)), ctx=LOAD))
    else:
        bodies.append(_turn(key.body))
    for body in bodies:
        new = _with_keyword(node, "key", ast.Lambda(args=key.args, body=body))
        yield from swap(spot, new, KEYWORD, 0.4, f"`{view.text(node)}` with `key` by `{ast.unparse(body)}`")


def _turn(node: ast.expr) -> ast.expr:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return node.operand
    return ast.UnaryOp(op=ast.USub(), operand=node)


def _with_keyword(node: ast.Call, word: str, value: ast.expr) -> ast.Call:
    rest = [keyword for keyword in node.keywords if keyword.arg != word]
    return ast.Call(func=node.func, args=node.args, keywords=[*rest, ast.keyword(arg=word, value=value)])


CALL = "calling"
_PLAIN_METHODS = frozenset(
    ("lower", "upper", "strip", "split", "keys", "values", "items", "copy", "pop", "sort", "isdigit", "isalpha")
)
"""Methods without arguments whose call is often forgotten."""


@expression_operator()
def missing_calls(view: ExpressionView) -> Iterator[Edit]:
    """Replace `x.f` by `x.f()`, and `x` by `f(x)` for a parameter `f`; await coroutines of the file."""
    for spot, node in view.of(ast.Call):
        if name_callee(node) in view.file.coroutines and spot.is_replaceable and _could_await(view, spot):
            text = view.text(node)
            yield from swap(spot, ast.Await(value=node), CALL, 0.9, become(text, f"await {text}"))
    held = _list_holders(view)
    for spot, value in view.values:
        yield from _not_called(view, spot, value)
        yield from _by_parameter(view, spot, value, held)


def _list_holders(view: ExpressionView) -> dict[str, float]:
    """Return the parameters that may hold functions, each with a weight.

    A parameter counts if its kind is callable, or if the scope compares it with None and its kind is unknown.
    Parameters that are already called weigh less.
    """
    nodes = list(ast.walk(view.root))
    given = {arg.arg for node in nodes if isinstance(node, ast.arguments) for arg in (*node.args, *node.kwonlyargs)}
    asked = {_name_asked(node) for node in nodes}
    used = {name_callee(node) for node in nodes if isinstance(node, ast.Call)}
    weights: dict[str, float] = {}
    for word in given:
        kind = view.kinds.of_name(word)
        if CALLABLE & kind or (word in asked and kind <= NONE):
            weights[word] = 0.25 if word in used else 0.6
    return weights


def _name_asked(node: ast.AST) -> str:
    """Return the variable that a condition compares with None or tests for truth; empty for other nodes."""
    test = getattr(node, "test", node)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test = test.operand
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Is | ast.IsNot):
        test = test.left
    return test.id if isinstance(test, ast.Name) and test is not node else ""


def _by_parameter(view: ExpressionView, spot: Spot, node: ast.expr, held: Mapping[str, float]) -> Iterator[Edit]:
    """Replace `x` by `f(x)` for a parameter `f`."""
    if spot.field in ("test", "func") or isinstance(node, ast.Constant | ast.Lambda | ast.Compare):
        return
    text = view.text(node)
    for word, weight in held.items():
        if word in spot.visible.near and word not in view.file.parts(node):
            near = 1.0 if _name_asked(spot.parent or node) == word else 0.4
            yield from swap(spot, call(word, node), CALL, weight * near, become(text, f"{word}({text})"))


def _not_called(view: ExpressionView, spot: Spot, node: ast.expr) -> Iterator[Edit]:
    """Replace `x.f` by `x.f()`."""
    text = view.text(node)
    if isinstance(node, ast.Attribute):
        own = node.attr in view.file.methods
        if own or node.attr in _PLAIN_METHODS or node.attr in view.file.calls:
            new = ast.Call(func=node, args=[], keywords=[])
            yield from swap(spot, new, CALL, 0.9 if own else 0.5, become(text, f"{text}()"))
    elif isinstance(node, ast.Name) and view.kind(node) == CALLABLE and node.id not in view.outside.classes:
        new = ast.Call(func=node, args=[], keywords=[])
        yield from swap(spot, new, CALL, 0.3, become(text, f"{text}()"))


def _could_await(view: ExpressionView, spot: Spot) -> bool:
    """Check that the value at a spot is not awaited, and that the innermost function around it is a coroutine."""
    if isinstance(spot.parent, ast.Await):
        return False
    for end in range(len(spot.position), 0, -1):
        node = at(view.context.tree, spot.position[:end])
        if isinstance(node, Function | ast.Lambda):
            return isinstance(node, ast.AsyncFunctionDef)
    return False


METHOD = "method"
_DEQUE: Kind = frozenset({"deque"})
_FAMILIES: tuple[tuple[Kind, float, tuple[str, ...]], ...] = (
    (LIST, 0.6, ("append", "extend")),
    (LIST, 0.3, ("remove", "append", "pop")),
    (LIST, 0.3, ("index", "count")),
    (LIST, 0.3, ("sort", "reverse", "clear", "copy", "pop")),
    (_DEQUE, 0.7, ("append", "appendleft", "extend", "extendleft")),
    (_DEQUE, 0.7, ("pop", "popleft")),
    (SET, 0.5, ("add", "discard", "remove")),
    (SET, 0.4, ("add", "update")),
    (SET, 0.6, ("union", "intersection", "difference", "symmetric_difference")),
    (SET, 0.6, ("update", "intersection_update", "difference_update", "symmetric_difference_update")),
    (SET, 0.6, ("issubset", "issuperset", "isdisjoint")),
    (SET | DICT | LIST, 0.2, ("pop", "clear", "copy")),
    (DICT, 0.7, ("keys", "values", "items")),
    (DICT, 0.5, ("get", "pop", "setdefault")),
    (STR, 0.7, ("lower", "upper", "title", "capitalize", "casefold", "swapcase")),
    (STR, 0.7, ("strip", "lstrip", "rstrip")),
    (STR, 0.3, ("removeprefix", "removesuffix", "lstrip", "rstrip", "strip")),
    (STR, 0.7, ("find", "index", "rfind", "rindex", "count")),
    (STR, 0.8, ("startswith", "endswith")),
    (STR, 0.6, ("isdigit", "isalpha", "isalnum", "isnumeric", "isdecimal", "isspace", "isupper", "islower")),
    (STR, 0.5, ("split", "rsplit", "splitlines")),
    (STR, 0.5, ("partition", "rpartition")),
    (STR, 0.6, ("ljust", "rjust", "center", "zfill")),
)
_FUNCTIONS: tuple[tuple[float, tuple[str, ...]], ...] = (
    (0.9, ("min", "max")),
    (0.9, ("any", "all")),
    (0.4, ("sum", "max", "min", "len")),
    (0.3, ("sorted", "list", "set", "tuple", "reversed")),
    (0.4, ("int", "float", "round", "abs", "str")),
    (0.3, ("ord", "chr")),
    (0.2, ("zip", "enumerate")),
    (0.2, ("bin", "hex", "oct", "str")),
    (0.2, ("map", "filter")),
)
_IN_MODULES: tuple[tuple[float, tuple[str, ...]], ...] = (
    (0.8, ("floor", "ceil", "trunc")),
    (0.4, ("log", "log2", "log10", "log1p", "sqrt")),
    (0.5, ("sin", "cos", "tan")),
    (0.5, ("gcd", "lcm")),
    (0.5, ("comb", "perm")),
    (0.7, ("bisect_left", "bisect_right", "bisect", "insort")),
    (0.6, ("heappush", "heappop", "heapify", "heappushpop", "heapreplace")),
    (0.6, ("nlargest", "nsmallest")),
    (0.5, ("permutations", "combinations", "combinations_with_replacement", "product")),
    (0.5, ("takewhile", "dropwhile", "filterfalse")),
    (0.5, ("search", "match", "fullmatch", "findall", "finditer")),
    (0.4, ("dumps", "dump", "loads", "load")),
)


@expression_operator()
def methods(view: ExpressionView) -> Iterator[Edit]:
    """Call another builtin, another function of the same module, or another method of the same object."""
    for spot, node in view.of(ast.Call):
        if isinstance(node.func, ast.Attribute):
            yield from _other_method(view, spot, node, node.func)
            yield from _another_way(view, spot, node, node.func)
        elif isinstance(node.func, ast.Name):
            yield from _other_function(view, spot, node, node.func.id)


def _other_method(view: ExpressionView, spot: Spot, node: ast.Call, func: ast.Attribute) -> Iterator[Edit]:
    kind, weights = view.kind(func.value), dict[str, float]()
    if isinstance(func.value, ast.Name) and func.value.id in view.outside.imports:
        families = [(weight, family) for weight, family in _IN_MODULES if func.attr in family]
    else:
        near = [(weight * (1.0 if kind else 0.6), family) for of, weight, family in _FAMILIES if not kind or kind & of]
        families = [(weight, family) for weight, family in near if func.attr in family]
        if not families:  # the object has no such method: propose the method's own family
            families = [(weight, family) for _, weight, family in _FAMILIES if func.attr in family]
    for weight, family in families:
        for word in family:
            weights[word] = max(weights.get(word, 0.0), weight)
    for word, weight in weights.items():
        new = ast.Call(
            func=ast.Attribute(value=func.value, attr=word, ctx=LOAD), args=node.args, keywords=node.keywords
        )
        if word != func.attr and _takes(word, len(node.args)):
            yield from swap(spot, new, METHOD, weight, become(f".{func.attr}(…)", f".{word}(…)"))


_ARGUMENTS = {"append": (1, 1), "extend": (1, 1), "remove": (1, 1), "pop": (0, 2), "clear": (0, 0), "copy": (0, 0)}
_ARGUMENTS |= {"sort": (0, 0), "reverse": (0, 0), "add": (1, 1), "popleft": (0, 0), "items": (0, 0), "get": (1, 2)}


def _takes(word: str, given: int) -> bool:
    least, most = _ARGUMENTS.get(word, (0, 9))
    return least <= given <= most


def _another_way(view: ExpressionView, spot: Spot, node: ast.Call, func: ast.Attribute) -> Iterator[Edit]:
    """Replace a method call by a call of another method of the same object, with other arguments."""
    text, holder, args = view.text(node), func.value, node.args
    if func.attr in ("append", "appendleft") and len(args) == 1:
        front = [ast.Constant(value=0), args[0]]
        yield from _method(spot, holder, "insert", front, 0.4, text)
        if isinstance(args[0], ast.List | ast.Tuple) and len(args[0].elts) == 1:
            yield from _method(spot, holder, func.attr, [args[0].elts[0]], 0.4, text)
        arguments: list[ast.expr] = [ast.List(elts=[args[0]], ctx=LOAD)]
        yield from _method(spot, holder, "append", arguments, 0.15, text)
    elif func.attr == "insert" and len(args) == 2:
        yield from _method(spot, holder, "append", [args[1]], 0.5, text)
    elif func.attr == "extend" and len(args) == 1:
        yield from _method(spot, holder, "append", args, 0.5, text)
    elif func.attr == "pop" and len(args) == 1:
        yield from _method(spot, holder, "pop", [], 0.5, text)
    elif func.attr in ("sort", "reverse") and isinstance(spot.parent, ast.Return | ast.Assign):
        function = "sorted" if func.attr == "sort" else "reversed"
        new = ast.Call(func=name(function), args=[holder], keywords=node.keywords)
        yield from swap(spot, new, METHOD, 0.9, become(text, f"{function}({view.text(holder)})"))


def _method(spot: Spot, holder: ast.expr, word: str, args: list[ast.expr], weight: float, text: str) -> Iterator[Edit]:
    new = ast.Call(func=ast.Attribute(value=holder, attr=word, ctx=LOAD), args=args, keywords=[])
    yield from swap(spot, new, METHOD, weight, become(text, ast.unparse(new)))


def _other_function(view: ExpressionView, spot: Spot, node: ast.Call, called: str) -> Iterator[Edit]:
    weights = dict[str, float]()
    families = _IN_MODULES if called in view.outside.imports else _FUNCTIONS
    for weight, family in families:
        if called in family:
            for word in family:
                if families is _FUNCTIONS or word in view.outside.imports:
                    weights[word] = max(weights.get(word, 0.0), weight)
    for word, weight in weights.items():
        new = ast.Call(func=name(word), args=node.args, keywords=node.keywords)
        if word != called and not (
            len(node.args) > 1 and word in ("len", "sorted", "list", "set", "tuple", "reversed")
        ):
            yield from swap(spot, new, METHOD, weight, become(f"{called}(…)", f"{word}(…)"))
