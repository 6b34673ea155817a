"""Makes edits that swap one expression for another, and the small expressions that they bring in."""

from __future__ import annotations

import ast
import heapq
from collections.abc import Iterable, Iterator, Sequence

from repair.edit import Edit
from repair.edits.spot import Spot
from repair.ground import Ground

LOAD = ast.Load()


def swap(spot: Spot, new: ast.AST, kind: str, weight: float, note: str) -> Iterator[Edit]:
    """The edit that puts another node at a spot; none when it is the same, absurd there, or of no weight."""
    if weight > 0 and not _absurd(spot, new) and not same(spot.node, new):
        yield Edit(kind=kind, place=spot.place, new=(new,), weight=weight, line=spot.line, note=note)


def same(one: object, other: object) -> bool:
    """Whether two trees have the same text."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, ast.AST):
        return all(same(getattr(one, name, None), getattr(other, name, None)) for name in one._fields)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    # 0.0 and -0.0 are equal and yet two texts.
    return one == other and repr(one) == repr(other)


def _absurd(spot: Spot, new: ast.AST) -> bool:
    """Whether the compiler may warn of it: a literal as a condition, held by identity, or taken an item from."""
    parent = spot.parent
    if spot.quoted and _has_quotes(new):
        return True
    if spot.truth and isinstance(new, ast.Tuple | ast.List | ast.Set | ast.Dict | ast.Lambda):
        return True
    if isinstance(parent, ast.Compare) and any(isinstance(op, ast.Is | ast.IsNot) for op in parent.ops):
        single = isinstance(new, ast.Constant) and (new.value is None or isinstance(new.value, bool))
        return isinstance(new, (*_LITERALS, ast.BinOp)) and not single
    if isinstance(parent, ast.Subscript | ast.Attribute) and spot.field == "value":
        if isinstance(new, ast.BinOp) and isinstance(new.left, ast.Constant | ast.BinOp):
            return True
        return isinstance(new, _LITERALS) and not isinstance(getattr(new, "value", None), str)
    return False


def _has_quotes(new: ast.AST) -> bool:
    """Whether it cannot stand in every f-string: before Python 3.12 its quotation marks may end the string."""
    for part in ast.walk(new):
        if isinstance(part, ast.JoinedStr | ast.Lambda | ast.Yield | ast.Await):
            return True
        if isinstance(part, ast.Constant) and isinstance(part.value, str | bytes):
            return True
    return False


_LITERALS = (
    *(ast.Constant, ast.Tuple, ast.List, ast.Set, ast.Dict, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp),
    *(ast.UnaryOp, ast.Compare, ast.BoolOp, ast.Lambda),
)


def likeliest(edits: Iterable[Edit], ground: Ground, most: int) -> Iterator[Edit]:
    """The `most` edits that come first by weight and suspicion; the bound of families that grow with the square."""
    yield from heapq.nlargest(most, edits, key=lambda edit: edit.weight * (0.02 + ground.lines.get(edit.line, 0.0)))


def number(value: float) -> ast.expr:
    """A literal; a negative one is a minus before a literal, as the parser has it."""
    if value < 0:
        return ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=-value))
    return ast.Constant(value=value)


def name(word: str) -> ast.expr:
    """A name, or an attribute when the word has a dot."""
    first, *rest = word.split(".")
    made: ast.expr = ast.Name(id=first, ctx=LOAD)
    for part in rest:
        made = ast.Attribute(value=made, attr=part, ctx=LOAD)
    return made


def parsed(text: str) -> ast.expr:
    """The expression with this source text, which must be one of ours."""
    return ast.parse(text, mode="eval").body


def called(node: ast.Call) -> str:
    """The name of the function or method that is called; empty for other callees."""
    return getattr(node.func, "id", "") or getattr(node.func, "attr", "")


def call(function: str, *args: ast.expr) -> ast.Call:
    """A call of a name with plain arguments."""
    return ast.Call(func=name(function), args=list(args), keywords=[])


def binary(left: ast.expr, op: type[ast.operator], right: ast.expr) -> ast.BinOp:
    """An operation of two operands."""
    return ast.BinOp(left=left, op=op(), right=right)


def display(*items: ast.expr) -> ast.List:
    """A list of these items."""
    return ast.List(elts=list(items), ctx=LOAD)


def negation(node: ast.expr) -> ast.expr:
    """`not x`; of `not x` it is `x`."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return node.operand
    return ast.UnaryOp(op=ast.Not(), operand=node)


def become(old: str, new: str) -> str:
    """The note of a replacement."""
    return f"`{old}` becomes `{new}`"


def with_item(items: Sequence[ast.expr], index: int, new: ast.expr) -> list[ast.expr]:
    """The items with another one at an index."""
    return [*items[:index], new, *items[index + 1 :]]


def without(items: Sequence[ast.expr], index: int) -> list[ast.expr]:
    """The items without the one at an index."""
    return [*items[:index], *items[index + 1 :]]
