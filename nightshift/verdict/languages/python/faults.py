"""The faults from which Python mutants are made.

Each fault is an edit in one function, ranked by how hard the fault is to notice.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import partial

from nightshift.core.code.parsing import parse
from nightshift.core.text.encoding import encode
from nightshift.sandbox.source import Edit, Source
from nightshift.verdict.languages.dialect import DOUBTFUL, LIKELY, PLAIN, Fault, Text, shorten
from nightshift.verdict.languages.python.outline import Function, last_name

_ARITHMETIC: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "+"), ast.Div: ("/", "*"), ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "*"), ast.Pow: ("**", "*"), ast.BitAnd: ("&", "|"), ast.BitOr: ("|", "&"),
    ast.LShift: ("<<", ">>"), ast.RShift: (">>", "<<"),
}  # fmt: skip
_COMPARISON: dict[type[ast.cmpop], tuple[str, str, int]] = {
    ast.Lt: ("<", "<=", LIKELY), ast.LtE: ("<=", "<", LIKELY), ast.Gt: (">", ">=", LIKELY),
    ast.GtE: (">=", ">", LIKELY), ast.Eq: ("==", "!=", PLAIN), ast.NotEq: ("!=", "==", PLAIN),
    ast.In: ("in", "not in", PLAIN), ast.Is: ("is", "is not", PLAIN),
}  # fmt: skip
_OTHER = "_other_value"
_OTHER_TEXT = """

def _other_value(value):
    kind = type(value)
    if kind is bool:
        return not value
    if kind in (int, float):
        other = value + abs(value) + 1
        return other if other != value and other == other else kind(0)
    if kind in (str, bytes):
        return value + kind(b"x") if kind is bytes else value + "x"
    if kind in (list, tuple):
        return kind([_other_value(value[0]), *value[1:]]) if value else kind([0])
    if kind is dict:
        return {**value, **{key: _other_value(value[key]) for key in list(value)[:1]}} or {"": 0}
    if kind in (set, frozenset):
        return kind(list(value)[1:]) if value else kind([0])
    return None
"""


def mutate(_path: str, text: str, lines: Collection[int]) -> Iterator[tuple[str, Fault, Text]]:
    """Yield the faults at these lines, each with the function's name and a callable that makes the faulty file.

    Args:
        text: the source; if it does not parse, there are no faults.
        lines: the line numbers, counted from 1.
    """
    try:
        source = Source(text)
    except SyntaxError:
        return
    for name, function in _functions(source.tree, ""):
        for fault in _faults(source, function):
            if fault.line in lines:
                yield name, fault, partial(_write_mutant, source, fault)


def _faults(source: Source, function: Function) -> Iterator[Fault]:
    """List the faults that can be put into a function's own body; nested functions are excluded."""
    maker = _Maker(source)
    for statement in _without_docstring(function.body):
        yield from maker.walk(statement, in_loop=False)


class _Maker:
    def __init__(self, source: Source) -> None:
        self._source = source

    def walk(self, node: ast.AST, *, in_loop: bool) -> Iterator[Fault]:
        """List the faults at a node and below it.

        A fault in a `while` loop gets a higher rank number, so it is tried later, because an endless loop takes long.
        """
        if isinstance(node, Function | ast.ClassDef | ast.JoinedStr | ast.Raise | ast.Assert | ast.Import):
            return  # positions inside f-strings are wrong before 3.12; error messages are rarely asserted
        in_loop = in_loop or isinstance(node, ast.While)
        for fault in self._at(node):
            yield replace(fault, rank=fault.rank + 2 * in_loop)
        for name, child in ast.iter_fields(node):
            if name not in {"annotation", "returns", "decorator_list", "type_params"}:
                for part in child if isinstance(child, list) else [child]:
                    if isinstance(part, ast.AST):
                        yield from self.walk(part, in_loop=in_loop)

    def _at(self, node: ast.AST) -> Iterator[Fault]:
        yield from self._in_statement(node) if isinstance(node, ast.stmt) else self._in_expression(node)

    def _in_statement(self, node: ast.stmt) -> Iterator[Fault]:
        match node:
            case ast.Return(value=ast.expr() as value):
                yield from self._result(value)
            case ast.AugAssign(target=target, op=op, value=value):
                yield from self._swap_operator("assignment", node, target, value, _ARITHMETIC.get(type(op)))
            case ast.If(test=test):
                yield self._negate_test(test)
            case ast.Expr(value=ast.Call() as call):
                yield self._drop_statement(node, DOUBTFUL if _speaks(call) else LIKELY)
            case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
                yield self._drop_statement(node, PLAIN)

    def _in_expression(self, node: ast.AST) -> Iterator[Fault]:
        match node:
            case ast.Yield(value=ast.expr() as value):
                yield from self._result(value)
            case ast.BinOp(left=left, op=op, right=right):
                yield from self._swap_operator("arithmetic", node, left, right, _ARITHMETIC.get(type(op)))
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                yield from self._comparison(node, left, op, right)
            case ast.BoolOp(op=op, values=[first, second, *_]):
                words = ("and", "or") if isinstance(op, ast.And) else ("or", "and")
                yield from self._swap_operator("connective", node, first, second, words, LIKELY)
            case ast.IfExp(test=test) | ast.comprehension(ifs=[test, *_]):
                yield self._negate_test(test)
            case ast.Constant():
                yield from self._constant(node)
            case ast.Slice():
                yield from self._slice(node)

    def _result(self, value: ast.expr) -> Iterator[Fault]:
        if isinstance(value, ast.Constant) and value.value is None:
            return
        text = self._source.segment(value)
        start, end = self._source.span(value)
        edit = Edit(start, end, f"{_OTHER}(({text}))")
        now = "another value of the same type"
        yield Fault(
            kind="result", rank=PLAIN, line=value.lineno, edit=edit, was=shorten(text), now=now, needs_other=True
        )

    def _swap_operator(
        self, kind: str, node: ast.expr | ast.stmt, left: ast.expr, right: ast.expr,
        words: tuple[str, str] | None, rank: int = PLAIN,
    ) -> Iterator[Fault]:  # fmt: skip
        """Return a fault that replaces the operator between two operands.

        There is none if the operator cannot be located, because a comment or a bracket is between the operands.
        """
        if words is None:
            return
        start, end = self._source.span(left)[1], self._source.span(right)[0]
        between = self._source.slice(start, end)
        at = between.find(words[0])
        if at >= 0 and "#" not in between:
            here = start + len(between[:at].encode())
            yield self._fault(kind, rank, node, Edit(here, here + len(words[0]), words[1]))

    def _comparison(self, node: ast.Compare, left: ast.expr, op: ast.cmpop, right: ast.expr) -> Iterator[Fault]:
        if isinstance(op, ast.NotIn | ast.IsNot):
            words, rank = ("not in", "in") if isinstance(op, ast.NotIn) else ("is not", "is"), PLAIN
            yield from self._swap_operator("comparison", node, left, right, words, rank)
        elif swap := _COMPARISON.get(type(op)):
            kind = "boundary" if swap[2] else "comparison"
            yield from self._swap_operator(kind, node, left, right, swap[:2], swap[2])

    def _negate_test(self, test: ast.expr) -> Fault:
        text = self._source.segment(test)
        return self._fault("condition", PLAIN, test, self._source.replace(test, f"not ({text})"))

    def _constant(self, node: ast.Constant) -> Iterator[Fault]:
        value = node.value
        if isinstance(value, bool):
            yield self._fault("constant", LIKELY, node, self._source.replace(node, repr(not value)))
        elif isinstance(value, int | float):
            yield self._fault("constant", LIKELY, node, self._source.replace(node, repr(value + 1)))
        elif isinstance(value, str) and value:
            yield self._fault("text", DOUBTFUL, node, self._source.replace(node, repr(f"{value}x")))

    def _slice(self, node: ast.Slice) -> Iterator[Fault]:
        for bound, step in ((node.upper, "- 1"), (node.lower, "+ 1")):
            if bound is not None and not isinstance(bound, ast.Constant):
                text = f"({self._source.segment(bound)}) {step}"
                yield self._fault("slice", LIKELY, bound, self._source.replace(bound, text))

    def _drop_statement(self, node: ast.stmt, rank: int) -> Fault:
        edit = self._source.replace(node, "pass")
        was = shorten(self._source.segment(node))
        return Fault(kind="statement", rank=rank, line=node.lineno, edit=edit, was=was, now="`pass`")

    def _fault(self, kind: str, rank: int, node: ast.expr | ast.stmt, edit: Edit) -> Fault:
        start, end = self._source.span(node)
        was, now = self._source.slice(start, end), self._source.slice(start, edit.start) + edit.text
        now += self._source.slice(edit.end, end)
        return Fault(kind=kind, rank=rank, line=node.lineno, edit=edit, was=shorten(was), now=f"`{shorten(now)}`")


def _functions(node: ast.AST, prefix: str) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{prefix}{child.name}", child
            yield from _functions(child, f"{prefix}{child.name}.")
        elif isinstance(child, ast.ClassDef):
            yield from _functions(child, f"{prefix}{child.name}.")
        else:
            yield from _functions(child, prefix)


def _write_mutant(source: Source, fault: Fault) -> str | None:
    """Return the text of the file with the fault; None if that is not valid Python."""
    text = source.edit([fault.edit])
    if fault.needs_other:
        text += _OTHER_TEXT
    try:
        parse(encode(text))
    except (SyntaxError, ValueError, RecursionError):
        return None
    return text


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    first = body[0] if body else None
    is_text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return body[1:] if is_text else body


def _speaks(call: ast.Call) -> bool:
    """Check whether a call only prints, logs or writes something, which tests rarely check."""
    name = last_name(call.func)
    return name in {"print", "debug", "info", "warning", "error", "exception", "log", "echo", "write", "flush"}
