"""Short ways to build nodes of syntax trees, each with its text.

Rendering a node costs more than building it, and a search builds thousands. So the text of a built node is composed
from the texts of its parts.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from nightshift_engine.tree import COMPARISONS, NEGATED

Tree = TypeVar("Tree", bound=ast.AST)


@dataclass(frozen=True, slots=True)
class Piece:
    """An expression and its text."""

    node: ast.expr
    text: str


def piece(node: ast.expr) -> Piece:
    """Return a node of the file with its text."""
    return Piece(node, ast.unparse(node))


def name(identifier: str) -> Piece:
    """Build a variable, or a dotted chain of attributes of one."""
    first, *rest = identifier.split(".")
    node: ast.expr = ast.Name(id=first, ctx=ast.Load())
    for part in rest:
        node = ast.Attribute(value=node, attr=part, ctx=ast.Load())
    return Piece(node, identifier)


def constant(value: object) -> Piece:
    """Build a constant of a plain type; a negative integer becomes a minus before a literal, as Python parses it."""
    if isinstance(value, int) and value < 0:
        return Piece(ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=-value)), repr(value))
    return Piece(ast.Constant(value=value), repr(value))  # type: ignore[arg-type] # plain types, see above


def empty(kind: str) -> Piece:
    """Build an empty `list`, `dict`, `tuple`, `set` or `str`."""
    if kind == "list":
        return Piece(ast.List(elts=[], ctx=ast.Load()), "[]")
    if kind == "dict":
        return Piece(ast.Dict(keys=[], values=[]), "{}")
    if kind == "tuple":
        return Piece(ast.Tuple(elts=[], ctx=ast.Load()), "()")
    return constant("") if kind == "str" else call("set")


def call(function: str, *arguments: Piece) -> Piece:
    """Build `function(arguments)`; the function may be a dotted chain."""
    node = ast.Call(func=name(function).node, args=[part.node for part in arguments], keywords=[])
    return Piece(node, f"{function}({', '.join(part.text for part in arguments)})")


def method(owner: Piece, attribute: str, *arguments: Piece) -> Piece:
    """Build `owner.attribute(arguments)`."""
    function = ast.Attribute(value=owner.node, attr=attribute, ctx=ast.Load())
    node = ast.Call(func=function, args=[part.node for part in arguments], keywords=[])
    return Piece(node, f"{owner.text}.{attribute}({', '.join(part.text for part in arguments)})")


def item(owner: Piece, key: Piece) -> Piece:
    """Build `owner[key]`."""
    return Piece(ast.Subscript(value=owner.node, slice=key.node, ctx=ast.Load()), f"{owner.text}[{key.text}]")


def compare(left: Piece, operator: type[ast.cmpop], right: Piece) -> Piece:
    """Build `left operator right`."""
    node = ast.Compare(left=left.node, ops=[operator()], comparators=[right.node])
    return Piece(node, f"{left.text} {COMPARISONS[operator]} {right.text}")


def negate(part: Piece) -> Piece:
    """Negate an expression, without `not` if its operator has an opposite."""
    node = part.node
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return Piece(node.operand, part.text.removeprefix("not ").strip())
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        opposite = NEGATED[type(node.ops[0])]()
        comparison = ast.Compare(left=node.left, ops=[opposite], comparators=node.comparators)
        return Piece(comparison, ast.unparse(comparison))
    return refuse(part)


def refuse(part: Piece) -> Piece:
    """Build `not part`."""
    text = f"not ({part.text})" if isinstance(part.node, ast.BoolOp | ast.IfExp) else f"not {part.text}"
    return Piece(ast.UnaryOp(op=ast.Not(), operand=part.node), text)


def join_with(operator: type[ast.boolop], *parts: Piece) -> Piece:
    """Build `left and right` or `left or right`; parts with the same operator are merged."""
    values: list[ast.expr] = []
    for part in parts:
        same = isinstance(part.node, ast.BoolOp) and isinstance(part.node.op, operator)
        values += part.node.values if same else [part.node]  # type: ignore[attr-defined] # a BoolOp, see above
    word = " and " if operator is ast.And else " or "
    return Piece(ast.BoolOp(op=operator(), values=values), word.join(_shield(part, operator) for part in parts))


def _shield(part: Piece, operator: type[ast.boolop]) -> str:
    node = part.node
    loose = isinstance(node, ast.IfExp) or (isinstance(node, ast.BoolOp) and not isinstance(node.op, operator))
    return f"({part.text})" if loose else part.text


def calculate(left: Piece, operator: type[ast.operator], right: Piece) -> Piece:
    """Build `left operator right` with `+`, `-` or `*`."""
    symbol = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*"}[operator]
    return Piece(ast.BinOp(left=left.node, op=operator(), right=right.node), f"{left.text} {symbol} {right.text}")


# `ast.unparse` looks up type comments by the line number of some statements, so these need a `lineno`.


def assign(target: str, value: Piece) -> ast.stmt:
    """Build `target = value`; the target may be a dotted chain."""
    return ast.Assign(targets=[as_target(name(target).node)], value=value.node, lineno=0)


def augment(target: str, operator: type[ast.operator], value: Piece) -> ast.stmt:
    """Build `target += value` or a similar statement."""
    return ast.AugAssign(target=as_target(name(target).node), op=operator(), value=value.node)  # type: ignore[arg-type]


def when(test: Piece, *body: ast.stmt) -> ast.stmt:
    """Build `if test:` with a body."""
    return ast.If(test=test.node, body=list(body), orelse=[])


def return_value(value: Piece | None) -> ast.stmt:
    """Build `return value`, or a bare `return`."""
    return ast.Return(value=value.node if value else None)


def statement(value: Piece) -> ast.stmt:
    """Build an expression statement."""
    return ast.Expr(value=value.node)


def as_target(node: ast.expr) -> ast.expr:
    """Return the target with a store context."""
    return _with_context(node, ast.Store())


def as_value(node: ast.expr) -> ast.expr:
    """Return the variable or tuple of variables with a load context."""
    if isinstance(node, ast.Tuple | ast.List):
        return type(node)(elts=[as_value(part) for part in node.elts], ctx=ast.Load())
    return _with_context(node, ast.Load())


def _with_context(node: ast.expr, context: ast.expr_context) -> ast.expr:
    if isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
        return type(node)(**{**dict(ast.iter_fields(node)), "ctx": context})
    return node


def same(left: ast.AST | Sequence[ast.stmt], right: ast.AST | Sequence[ast.stmt]) -> bool:
    """Check whether two trees are equal."""
    if isinstance(left, ast.AST) and isinstance(right, ast.AST):
        return type(left) is type(right) and ast.dump(left) == ast.dump(right)
    if isinstance(left, ast.AST) or isinstance(right, ast.AST):
        return False
    return len(left) == len(right) and all(map(same, left, right))


def rename(node: Tree, old: str, new: str) -> Tree:
    """Return a tree with one variable renamed; subtrees that do not mention the variable are shared."""
    if isinstance(node, ast.Name):
        return type(node)(id=new, ctx=node.ctx) if node.id == old else node
    fields: dict[str, object] = {}
    for field, value in ast.iter_fields(node):
        if isinstance(value, ast.AST):
            new_value: object = rename(value, old, new)
        elif isinstance(value, list):
            new_value = [rename(part, old, new) if isinstance(part, ast.AST) else part for part in value]
            new_value = (
                value if all(new_part is other for new_part, other in zip(new_value, value, strict=True)) else new_value
            )
        else:
            continue
        if new_value is not value:
            fields[field] = new_value
    if not fields:
        return node
    changed = copy.copy(node)
    for field, value in fields.items():
        setattr(changed, field, value)
    return changed
