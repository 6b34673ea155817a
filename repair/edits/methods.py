"""Edits of the function or method that is called: others of the same shape, such as `find` for `index`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from repair.edit import Edit
from repair.edits.scene import Scene, scene_of
from repair.edits.spot import Spot
from repair.edits.swapping import LOAD, become, name, swap
from repair.ground import Ground
from repair.kinds import DICT, LIST, SET, STR, Kind

KIND = "method"
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


def methods(ground: Ground) -> Iterator[Edit]:
    """Another builtin, another function of the same module, another method of the same object."""
    scene = scene_of(ground)
    for spot, node in scene.of(ast.Call):
        if isinstance(node.func, ast.Attribute):
            yield from _other_method(scene, spot, node, node.func)
            yield from _another_way(scene, spot, node, node.func)
        elif isinstance(node.func, ast.Name):
            yield from _other_function(scene, spot, node, node.func.id)


def _other_method(scene: Scene, spot: Spot, node: ast.Call, func: ast.Attribute) -> Iterator[Edit]:
    kind, told = scene.kind(func.value), dict[str, float]()
    if isinstance(func.value, ast.Name) and func.value.id in scene.outside.imports:
        families = [(weight, family) for weight, family in _IN_MODULES if func.attr in family]
    else:
        near = [(weight * (1.0 if kind else 0.6), family) for of, weight, family in _FAMILIES if not kind or kind & of]
        families = [(weight, family) for weight, family in near if func.attr in family]
        if not families:  # it has no such method, so that one of its own may have been meant
            families = [(weight, family) for _, weight, family in _FAMILIES if func.attr in family]
    for weight, family in families:
        for word in family:
            told[word] = max(told.get(word, 0.0), weight)
    for word, weight in told.items():
        new = ast.Call(
            func=ast.Attribute(value=func.value, attr=word, ctx=LOAD), args=node.args, keywords=node.keywords
        )
        if word != func.attr and _takes(word, len(node.args)):
            yield from swap(spot, new, KIND, weight, become(f".{func.attr}(…)", f".{word}(…)"))


_ARGUMENTS = {"append": (1, 1), "extend": (1, 1), "remove": (1, 1), "pop": (0, 2), "clear": (0, 0), "copy": (0, 0)}
_ARGUMENTS |= {"sort": (0, 0), "reverse": (0, 0), "add": (1, 1), "popleft": (0, 0), "items": (0, 0), "get": (1, 2)}


def _takes(word: str, given: int) -> bool:
    least, most = _ARGUMENTS.get(word, (0, 9))
    return least <= given <= most


def _another_way(scene: Scene, spot: Spot, node: ast.Call, func: ast.Attribute) -> Iterator[Edit]:
    """The same object changed or read in another way, with other arguments."""
    text, holder, args = scene.text(node), func.value, node.args
    if func.attr in ("append", "appendleft") and len(args) == 1:
        front = [ast.Constant(value=0), args[0]]
        yield from _method(spot, holder, "insert", front, 0.4, text)
        if isinstance(args[0], ast.List | ast.Tuple) and len(args[0].elts) == 1:
            yield from _method(spot, holder, func.attr, [args[0].elts[0]], 0.4, text)
        one: list[ast.expr] = [ast.List(elts=[args[0]], ctx=LOAD)]
        yield from _method(spot, holder, "append", one, 0.15, text)
    elif func.attr == "insert" and len(args) == 2:
        yield from _method(spot, holder, "append", [args[1]], 0.5, text)
    elif func.attr == "extend" and len(args) == 1:
        yield from _method(spot, holder, "append", args, 0.5, text)
    elif func.attr == "pop" and len(args) == 1:
        yield from _method(spot, holder, "pop", [], 0.5, text)
    elif func.attr in ("sort", "reverse") and isinstance(spot.parent, ast.Return | ast.Assign):
        function = "sorted" if func.attr == "sort" else "reversed"
        new = ast.Call(func=name(function), args=[holder], keywords=node.keywords)
        yield from swap(spot, new, KIND, 0.9, become(text, f"{function}({scene.text(holder)})"))


def _method(spot: Spot, holder: ast.expr, word: str, args: list[ast.expr], weight: float, text: str) -> Iterator[Edit]:
    new = ast.Call(func=ast.Attribute(value=holder, attr=word, ctx=LOAD), args=args, keywords=[])
    yield from swap(spot, new, KIND, weight, become(text, ast.unparse(new)))


def _other_function(scene: Scene, spot: Spot, node: ast.Call, called: str) -> Iterator[Edit]:
    told = dict[str, float]()
    families = _IN_MODULES if called in scene.outside.imports else _FUNCTIONS
    for weight, family in families:
        if called in family:
            for word in family:
                if families is _FUNCTIONS or word in scene.outside.imports:
                    told[word] = max(told.get(word, 0.0), weight)
    for word, weight in told.items():
        new = ast.Call(func=name(word), args=node.args, keywords=node.keywords)
        if word != called and not (
            len(node.args) > 1 and word in ("len", "sorted", "list", "set", "tuple", "reversed")
        ):
            yield from swap(spot, new, KIND, weight, become(f"{called}(…)", f"{word}(…)"))
