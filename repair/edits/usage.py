"""What the uses of a variable suggest of its kind, where no value of it tells: it is measured, indexed, counted."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from repair.kinds import DICT, INT, LIST, SET, STR, Kind

_METHODS: dict[str, Kind] = {
    **dict.fromkeys(("append", "extend", "insert", "sort"), LIST),
    **dict.fromkeys(("popleft", "appendleft"), frozenset({"deque"})),
    **dict.fromkeys(("add", "discard"), SET),
    **dict.fromkeys(("items", "keys", "values", "setdefault"), DICT),
    **dict.fromkeys(("split", "strip", "lower", "upper", "startswith", "splitlines"), STR),
}
_OF_LISTS = frozenset({"len", "sorted", "sum", "enumerate", "reversed"})
_OF_INTEGERS = ast.FloorDiv | ast.LShift | ast.RShift
_OF_NUMBERS = frozenset({"range", "abs"})


def used_as(nodes: Iterable[ast.AST]) -> dict[str, Kind]:
    """Variables and dotted chains with the kinds that their uses suggest, taken together."""
    found: dict[str, Kind] = {}
    for node in nodes:
        for variable, kind in _suggested(node):
            if variable:
                found[variable] = found.get(variable, frozenset()) | kind
    return found


def chain(node: ast.expr) -> str:
    """A variable or a dotted chain of attributes of one as text; empty for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    owner = chain(node.value) if isinstance(node, ast.Attribute) else ""
    return f"{owner}.{node.attr}" if owner and isinstance(node, ast.Attribute) else ""


def _suggested(node: ast.AST) -> Iterator[tuple[str, Kind]]:
    if isinstance(node, ast.For) and not isinstance(node.iter, ast.Call):
        yield chain(node.iter), LIST
    elif isinstance(node, ast.AugAssign) and (_is_number(node.value) or isinstance(node.op, _OF_INTEGERS)):
        yield chain(node.target), INT
    elif isinstance(node, ast.Call):
        yield from _of_call(node)
    elif isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Constant):
        yield chain(node.value), LIST
    elif isinstance(node, ast.Compare):
        yield from _of_operands([node.left, *node.comparators])
    elif isinstance(node, ast.BinOp):
        yield from _of_operands([node.left, node.right])
        if isinstance(node.op, _OF_INTEGERS):
            yield from ((chain(side), INT) for side in (node.left, node.right))


def _of_call(node: ast.Call) -> Iterator[tuple[str, Kind]]:
    function = node.func
    if isinstance(function, ast.Attribute) and function.attr in _METHODS:
        yield chain(function.value), _METHODS[function.attr]
    elif isinstance(function, ast.Name) and node.args:
        if function.id in _OF_LISTS:
            yield chain(node.args[0]), LIST
        elif function.id in _OF_NUMBERS:
            yield chain(node.args[0]), INT


def _of_operands(sides: list[ast.expr]) -> Iterator[tuple[str, Kind]]:
    """A number beside an operator tells that the other side is one."""
    if any(_is_number(side) for side in sides):
        yield from ((side.id, INT) for side in sides if isinstance(side, ast.Name))


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in {int, float}
