"""Puts faults into programs, one at a time: common mistakes, by kind.

The module is independent of the engine's edits, which it tests: a fault imitates the slip of a programmer and is not
one of the engine's edits reversed.

An engine without a model can copy, change and combine existing code. If a fault removes code and leaves nothing like it
in the program, such an engine can restore the code only by chance. Such faults are counted separately (`lost`). A
removed piece is not lost if another piece of the program differs from it in one token at most, or if it is a common
guard against empty, None or zero.
"""

from __future__ import annotations

import ast
import copy
import io
import re
import tokenize
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from nightshift_engine.tree import Place, at, places, replace, splice


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A program with a fault: its whole text, the kind of the fault, and the line of the fault in the original.

    `lost` is true if the fault removed code that is nowhere else in the program (`is_lost`).
    """

    kind: str
    line: int
    text: str
    lost: bool = False


def faults(text: str) -> Iterator[Fault]:
    """Yield every fault that this module can put into a program, in the order of the text and without duplicates."""
    tree = ast.parse(text)
    seen = {ast.unparse(tree)}
    for kind, line, broken_tree in _trees(tree):
        broken = ast.unparse(ast.fix_missing_locations(broken_tree))
        if broken not in seen and _compiles(broken):
            seen.add(broken)
            yield Fault(kind=kind, line=line, text=broken + "\n", lost=is_lost(kind, tree, broken_tree))


def by_kind(text: str) -> dict[str, list[Fault]]:
    """Group the faults of a program by kind."""
    faults_by_kind = defaultdict[str, list[Fault]](list)
    for fault in faults(text):
        faults_by_kind[fault.kind].append(fault)
    return dict(faults_by_kind)


def same(program: str, other: str) -> bool:
    """Check whether two programs are equal if comments and layout are ignored."""
    try:
        return ast.dump(ast.parse(program)) == ast.dump(ast.parse(other))
    except SyntaxError:
        return False


def _trees(tree: ast.Module) -> Iterator[tuple[str, int, ast.Module]]:
    docstrings = set(_docstrings(tree))
    for position, node in places(tree):
        line = getattr(node, "lineno", 0)
        if isinstance(node, ast.expr) and not _within(tree, position, docstrings):
            for kind, new in _break_expression(node, _names(tree, position)):
                yield kind, line, replace(tree, position, new)
        if isinstance(node, ast.stmt) and id(node) not in docstrings:
            for kind, count, body in _break_statement(tree, position):
                yield kind, line, splice(tree, position, count, body)


def _docstrings(tree: ast.Module) -> Iterator[int]:
    held = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(tree):
        if isinstance(node, held) and ast.get_docstring(node) is not None:
            yield id(node.body[0])


def _within(tree: ast.Module, position: Place, holders: set[int]) -> bool:
    return any(id(at(tree, position[:end])) in holders for end in range(1, len(position) + 1))


def _names(tree: ast.Module, position: Place) -> tuple[str, ...]:
    """Return the variables of the innermost function around a place, in the order of the text."""
    for end in range(len(position) - 1, -1, -1):
        holder = at(tree, position[:end])
        if isinstance(holder, ast.FunctionDef | ast.AsyncFunctionDef):
            bound = [node.arg for node in ast.walk(holder) if isinstance(node, ast.arg)]
            bound += [n.id for n in ast.walk(holder) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
            return tuple(dict.fromkeys(name for name in bound if name not in {"self", "_"}))
    return ()


def _compiles(text: str) -> bool:
    try:
        compile(text, "program", "exec")
    except SyntaxError:
        return False
    return True


# The functions below make faults of expressions: a wrong operator, bound, constant, index, variable, argument,
# condition, method or name.


ExpressionFault = tuple[str, ast.expr]

_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Div, ast.Mod)
_BOUNDARY: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
}  # fmt: skip
_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.Gt, ast.GtE), ast.LtE: (ast.GtE, ast.Gt), ast.Gt: (ast.Lt, ast.LtE), ast.GtE: (ast.LtE, ast.Lt),
    ast.Eq: (ast.NotEq, ast.LtE), ast.NotEq: (ast.Eq, ast.Gt), ast.In: (ast.NotIn,), ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,),
}  # fmt: skip
_METHODS = (
    ("append", "extend"), ("append", "remove"), ("strip", "lstrip", "rstrip"), ("upper", "lower"), ("keys", "values"),
    ("items", "keys"), ("startswith", "endswith"), ("partition", "rpartition"), ("ljust", "rjust"), ("add", "discard"),
    ("get", "pop"), ("capitalize", "title"), ("isdigit", "isalpha"), ("union", "intersection"), ("index", "count"),
    ("isupper", "islower"), ("split", "splitlines"),
)  # fmt: skip


def _break_expression(node: ast.expr, names: Sequence[str]) -> Iterator[ExpressionFault]:
    """Yield faulty versions of an expression, each with its kind; `names` are the variables around the expression."""
    yield from _operators(node)
    yield from _comparisons(node)
    yield from _constants(node)
    yield from _bounds(node)
    yield from _variables(node, names)
    yield from _arguments(node)
    yield from _conditions(node)
    yield from _missing(node)
    yield from _misspelt(node)


def _operators(node: ast.expr) -> Iterator[ExpressionFault]:
    match node:
        case ast.BinOp(op=op) if isinstance(op, _ARITHMETIC):
            for other in _ARITHMETIC:
                if not isinstance(op, other):
                    yield "operator", _with(node, op=other())
        case ast.BoolOp(op=op):
            yield "operator", _with(node, op=ast.Or() if isinstance(op, ast.And) else ast.And())
            for value in node.values:
                yield "clause missing", _without(node, value)
        case ast.UnaryOp(op=ast.USub(), operand=ast.expr() as operand):
            yield "operator", operand


def _comparisons(node: ast.expr) -> Iterator[ExpressionFault]:
    if isinstance(node, ast.Compare):
        for at, op in enumerate(node.ops):
            if other := _BOUNDARY.get(type(op)):
                yield "boundary", _with(node, ops=_put(node.ops, at, other()))
            for other in _COMPARISONS[type(op)]:
                yield "comparison", _with(node, ops=_put(node.ops, at, other()))


def _constants(node: ast.expr) -> Iterator[ExpressionFault]:
    match node:
        case ast.Constant(value=bool() as value):
            yield "constant", ast.Constant(value=not value)
        case ast.Constant(value=int() | float() as number):
            for other in sorted({number + 1, number - 1, number * 10, 0} - {number}):
                yield "constant", ast.Constant(value=other)
        case ast.Constant(value=str() as text):
            for word in sorted({"", text + " ", text.upper(), text.strip()} - {text}):
                yield "constant", ast.Constant(value=word)


def _bounds(node: ast.expr) -> Iterator[ExpressionFault]:
    """Yield off-by-one faults of an index, a slice or a range."""
    match node:
        case ast.Subscript(slice=ast.Slice() as part):
            for end in ("lower", "upper"):
                if value := getattr(part, end):
                    for moved in _off_by_one(value):
                        yield "off by one", _with(node, slice=_with(part, **{end: moved}))
        case ast.Subscript(slice=ast.expr() as index) if not isinstance(index, ast.Constant | ast.Tuple):
            for moved in _off_by_one(index):
                yield "off by one", _with(node, slice=moved)
        case ast.Call(func=ast.Name(id="range"), args=arguments):
            for at, argument in enumerate(arguments):
                for moved in _off_by_one(argument):
                    yield "off by one", _with(node, args=_put(arguments, at, moved))


def _off_by_one(value: ast.expr) -> Iterator[ast.expr]:
    """Yield a value plus one and a value minus one; `n - 1` and `n + 1` become `n`."""
    match value:
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=ast.Constant(value=1)):
            yield left
        case ast.Constant(value=int() as number):
            yield from (ast.Constant(value=number + 1), ast.Constant(value=number - 1))
        case _:
            yield ast.BinOp(left=value, op=ast.Add(), right=ast.Constant(value=1))
            yield ast.BinOp(left=value, op=ast.Sub(), right=ast.Constant(value=1))


def _variables(node: ast.expr, names: Sequence[str]) -> Iterator[ExpressionFault]:
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in names:
        for name in names:
            if name != node.id:
                yield "wrong variable", ast.Name(id=name, ctx=ast.Load())


def _arguments(node: ast.expr) -> Iterator[ExpressionFault]:
    if isinstance(node, ast.Call) and len(node.args) > 1:
        for at in range(len(node.args) - 1):
            arguments = [*node.args[:at], node.args[at + 1], node.args[at], *node.args[at + 2 :]]
            yield "arguments swapped", _with(node, args=arguments)
    if isinstance(node, ast.Call) and node.args and node.keywords:
        yield "argument missing", _with(node, keywords=node.keywords[:-1])


def _conditions(node: ast.expr) -> Iterator[ExpressionFault]:
    if isinstance(node, ast.IfExp):
        yield "condition negated", _with(node, body=node.orelse, orelse=node.body)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "condition negated", node.operand
    if isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
        for at, part in enumerate(node.generators):
            for index, test in enumerate(part.ifs):
                less = _with(part, ifs=[*part.ifs[:index], *part.ifs[index + 1 :]])
                yield "clause missing", _with(node, generators=_put(node.generators, at, less))
                turned = _with(part, ifs=_put(part.ifs, index, ast.UnaryOp(op=ast.Not(), operand=test)))
                yield "condition negated", _with(node, generators=_put(node.generators, at, turned))


def _missing(node: ast.expr) -> Iterator[ExpressionFault]:
    """Yield faults in which a call, an await or a yield is forgotten."""
    match node:
        case ast.Call(func=ast.Name(), args=[argument], keywords=[]) if not isinstance(argument, ast.Starred):
            yield "call missing", argument
        case ast.Call(func=ast.Attribute(value=inner, attr="copy" | "strip" | "lower" | "split" | "rstrip")):
            yield "call missing", inner
        case ast.Await(value=inner):
            yield "await missing", inner
        case ast.YieldFrom(value=inner):
            yield "yield missing", ast.Yield(value=inner)
            yield "yield missing", inner
        case ast.Yield(value=ast.expr() as inner):
            yield "yield missing", inner


def _misspelt(node: ast.expr) -> Iterator[ExpressionFault]:
    """Yield faulty versions of a name: another method of the same object, or a misspelling."""
    match node:
        case ast.Attribute(attr=name):
            for group in _METHODS:
                if name in group:
                    for other in group:
                        if other != name:
                            yield "wrong method", _with(node, attr=other)
            if isinstance(node.ctx, ast.Load):
                yield from (("misspelt", _with(node, attr=word)) for word in _slips(name))
        case ast.Name(id=name, ctx=ast.Load()):
            yield from (("misspelt", _with(node, id=word)) for word in _slips(name))


def _slips(word: str) -> Iterator[str]:
    """Yield two misspellings of a word: one lacks a letter, the other has two letters swapped."""
    if len(word) > 3:
        yield word[:2] + word[3:]
        yield word[0] + word[2] + word[1] + word[3:]


N = TypeVar("N", bound=ast.AST)
T = TypeVar("T")


def _with(node: N, **fields: object) -> N:
    values = {name: getattr(node, name) for name in node._fields}
    make: Callable[..., N] = type(node)
    return make(**{**values, **fields})


def _put(items: Sequence[T], at: int, new: T) -> list[T]:
    return [*items[:at], new, *items[at + 1 :]]


def _without(node: ast.BoolOp, value: ast.expr) -> ast.expr:
    left = [operand for operand in node.values if operand is not value]
    return left[0] if len(left) == 1 else _with(node, values=left)


# The functions below make faults of statements: a statement deleted, moved, swapped or negated; or a missing guard,
# return or import.


StatementFault = tuple[str, int, list[ast.stmt]]

_SIMPLE = (ast.Assign, ast.AugAssign, ast.Expr, ast.Raise, ast.Delete, ast.Continue, ast.Break)
_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_BLOCKS = (ast.For, ast.While, ast.If, ast.With, ast.AsyncFor)


def _break_statement(tree: ast.Module, position: Place) -> Iterator[StatementFault]:
    """Yield the faults that begin at a statement, as (kind, number of replaced statements, new statements)."""
    node, inside = at(tree, position), len(position) > 1
    assert isinstance(node, ast.stmt)
    following = _following(tree, position)
    yield from _delete(node)
    yield from _returns(node, inside=inside)
    yield from _initial_values(node)
    yield from _branches(node)
    yield from _reorder(node, following)


def _following(tree: ast.Module, position: Place) -> ast.stmt | None:
    *way, (name, index) = position
    assert index is not None
    body = getattr(at(tree, tuple(way)), name)
    return body[index + 1] if index + 1 < len(body) else None


def _delete(node: ast.stmt) -> Iterator[StatementFault]:
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield "import deleted", 1, []
    elif isinstance(node, ast.If) and not node.orelse and isinstance(node.body[-1], _LEAVES):
        yield "guard deleted", 1, []
        if not isinstance(node.body[-1], ast.Raise):
            yield "guard deleted", 1, node.body[:-1] or [ast.Pass()]
    elif isinstance(node, _SIMPLE):
        yield "statement deleted", 1, []


def _returns(node: ast.stmt, *, inside: bool) -> Iterator[StatementFault]:
    if isinstance(node, ast.Return) and node.value is not None and inside:
        yield "return removed", 1, [ast.Expr(value=node.value)]
        yield "return lost", 1, [ast.Return(value=None)]
        match node.value:
            case ast.Tuple(elts=[first, second]):
                yield "return changed", 1, [ast.Return(value=ast.Tuple(elts=[second, first], ctx=ast.Load()))]
            case ast.Compare() | ast.BoolOp():
                turned = ast.UnaryOp(op=ast.Not(), operand=node.value)
                yield "return changed", 1, [ast.Return(value=turned)]


def _initial_values(node: ast.stmt) -> Iterator[StatementFault]:
    """Yield wrong initial values of variables."""
    match node:
        case ast.Assign(value=ast.Constant(value=value)):
            others: tuple[bool | int | str | None, ...] = (
                (not value,) if isinstance(value, bool) else (0, 1, -1, None, "")
            )
            for other in others:
                if other != value or other is None is not value:
                    yield "initial value", 1, [_assign(node, ast.Constant(value=other))]
        case ast.Assign(value=ast.List(elts=[]) | ast.Dict(keys=[])):
            yield "initial value", 1, [_assign(node, ast.Constant(value=None))]
        case ast.Assign(value=ast.Subscript(value=whole)):
            yield "initial value", 1, [_assign(node, whole)]
        case ast.AugAssign(op=ast.Add()):
            yield "operator", 1, [ast.AugAssign(target=node.target, op=ast.Sub(), value=node.value)]
        case ast.AugAssign(op=ast.Sub()):
            yield "operator", 1, [ast.AugAssign(target=node.target, op=ast.Add(), value=node.value)]
    if isinstance(node, ast.AugAssign):
        target = copy.copy(node.target)
        yield "operator", 1, [ast.Assign(targets=[target], value=node.value, lineno=node.lineno)]


def _assign(node: ast.Assign, value: ast.expr) -> ast.stmt:
    return ast.Assign(targets=node.targets, value=value, lineno=node.lineno)


def _branches(node: ast.stmt) -> Iterator[StatementFault]:
    if isinstance(node, ast.If):
        turned = ast.UnaryOp(op=ast.Not(), operand=node.test)
        yield "condition negated", 1, [ast.If(test=turned, body=node.body, orelse=node.orelse)]
        yield "condition missing", 1, list(node.body)
        if len(node.orelse) == 1 and isinstance(inner := node.orelse[0], ast.If):
            yield "else lost", 1, [ast.If(test=node.test, body=node.body, orelse=[]), inner]


def _reorder(node: ast.stmt, following: ast.stmt | None) -> Iterator[StatementFault]:
    """Yield faults of order: two statements swapped, or a statement moved into or out of the block before it."""
    if isinstance(node, _SIMPLE) and isinstance(following, _SIMPLE):
        yield "statements swapped", 2, [following, node]
    if isinstance(node, _BLOCKS) and len(node.body) > 1 and isinstance(node.body[-1], _SIMPLE):
        less = copy.copy(node)
        less.body = node.body[:-1]
        yield "statement moved", 1, [less, node.body[-1]]
    if isinstance(node, _BLOCKS) and isinstance(following, ast.Return | ast.Assign | ast.AugAssign | ast.Expr):
        more = copy.copy(node)
        more.body = [*node.body, following]
        yield "statement moved", 2, [more]


# The functions below detect faults that remove code that is nowhere else in the program.


TAKING = frozenset({"statement deleted", "guard deleted", "clause missing", "condition missing", "return lost"})
"""Kinds of faults that remove code. All other kinds change the code but leave its parts in the program."""
_USUAL = re.compile(
    r"(not )?[\w.]+|[\w.]+ is (not )?None|(len\([\w.]+\)|[\w.]+) (==|!=|<=|<|>|>=) [01]|"
    r"return( (-1|''|\[\]|\{\}|[\w.]+))?|continue|break"
)


def is_lost(kind: str, before: ast.Module, after: ast.Module) -> bool:
    """Check whether a fault of this kind removed code that is nowhere else."""
    if kind not in TAKING:
        return False
    left = set(_pieces(after))
    gone = [piece for piece in _pieces(before) if piece not in left]
    return any(not _USUAL.fullmatch(piece) and not _is_near(piece, left) for piece in gone)


def _pieces(tree: ast.Module) -> Iterator[str]:
    """Yield simple statements, conditions and parts of conditions, as text."""
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and not hasattr(node, "body"):
            yield ast.unparse(node)
        for test in [getattr(node, "test", None), *getattr(node, "ifs", ())]:
            if isinstance(test, ast.BoolOp):
                yield from map(ast.unparse, test.values)
            elif isinstance(test, ast.expr):
                yield ast.unparse(test)


def _is_near(piece: str, others: Iterable[str]) -> bool:
    words = _token_texts(piece)
    for other in others:
        other_words = _token_texts(other)
        if len(other_words) == len(words) and sum(a != b for a, b in zip(words, other_words, strict=True)) <= 1:
            return True
    return False


def _token_texts(text: str) -> list[str]:
    return [token.string for token in tokenize.generate_tokens(io.StringIO(text).readline) if token.string.strip()]
