"""The lists of statements of a scope, and where in them edits may begin.

A statement may stand only where it compiles: a `return` in a function, a `break` in a loop. Each block knows what
encloses it, so that generators can ask before they put a statement there.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from repair.ground import Ground
from repair.tree import Function, Place, at

_NEW_SCOPES = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda
_LOOPS = ast.For | ast.AsyncFor | ast.While
JUMPS = ast.Return | ast.Raise | ast.Break | ast.Continue
"""Statements behind which nothing of their block is reached."""
_FIELDS = ("body", "orelse", "finalbody")


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A list of statements: `field` of the node at `holder`.

    Attributes:
        owner: the node at `holder`.
        function: the innermost function around it, None at the level of a module or class.
        loops: how many loops of that function are around it.
        open: whether `return`, `break` and `continue` may leave it; false inside `except*`.
        above: the block that holds the owner, and the owner's index there.
    """

    holder: Place
    field: str
    owner: ast.AST
    statements: Sequence[ast.stmt]
    function: Function | None
    loops: int
    open: bool = True
    above: tuple[Block, int] | None = None

    def place(self, index: int) -> Place:
        """The place of the statement with this index; the length of the block for its end."""
        return (*self.holder, (self.field, index))

    def idle(self, index: int) -> bool:
        """Whether the statement with this index does nothing."""
        return index < len(self.statements) and isinstance(self.statements[index], ast.Pass)

    @property
    def first(self) -> int:
        """The index of the first statement that may move: a docstring and imports from the future must stay first."""
        index = int(isinstance(self.owner, Function | ast.ClassDef | ast.Module) and _is_text(self.statements[0]))
        while index < len(self.statements) and _is_future(self.statements[index]):
            index += 1
        return index


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A statement where edits may begin, and the most suspicious line of its own."""

    block: Block
    index: int
    node: ast.stmt
    line: int

    @property
    def place(self) -> Place:
        """The statement's place."""
        return self.block.place(self.index)


def blocks(ground: Ground) -> Iterator[Block]:
    """The blocks of the ground's scope, outer ones first; functions are left out of the empty scope."""
    node = at(ground.tree, ground.scope)
    outside = Block(holder=(), field="body", owner=node, statements=(), function=None, loops=0)
    yield from _inside(node, ground.scope, outside, bool(ground.scope))


def _inside(node: ast.AST, place: Place, outer: Block, functions: bool) -> Iterator[Block]:
    above = (outer, place[-1][1] or 0) if place and outer.statements else None
    for field in _FIELDS:
        statements = getattr(node, field, None)
        if isinstance(statements, list) and statements:
            yield from _block(node, place, field, outer, above, functions)
    for field in ("handlers", "cases"):
        for index, part in enumerate(getattr(node, field, ())):
            yield from _block(part, (*place, (field, index)), "body", outer, above, functions)


def _block(
    node: ast.AST, place: Place, field: str, outer: Block, above: tuple[Block, int] | None, functions: bool
) -> Iterator[Block]:
    function, loops, is_open = outer.function, outer.loops, outer.open
    if isinstance(node, Function):
        function, loops, is_open = node, 0, True
    elif isinstance(node, ast.ClassDef):
        function, loops = None, 0
    elif isinstance(node, _LOOPS) and field == "body":
        loops += 1
    elif isinstance(node, ast.ExceptHandler) and above and isinstance(_statement(above), ast.TryStar):
        is_open = False
    block = Block(
        holder=place, field=field, owner=node, statements=getattr(node, field), function=function, loops=loops,
        open=is_open, above=above,
    )  # fmt: skip
    yield block
    for index, statement in enumerate(block.statements):
        if functions or not isinstance(statement, Function):
            yield from _inside(statement, block.place(index), block, functions)


def _statement(above: tuple[Block, int]) -> ast.stmt:
    block, index = above
    return block.statements[index]


def sites(ground: Ground) -> Iterator[Site]:
    """The statements whose own lines are among the ground's; docstrings are none."""
    for block in blocks(ground):
        for index in range(block.first, len(block.statements)):
            node = block.statements[index]
            line = line_of(ground, node)
            if line is not None:
                yield Site(block=block, index=index, node=node, line=line)


def gaps(ground: Ground) -> Iterator[tuple[Block, int, int]]:
    """The places where a statement may be put in, with the line of a neighbour: (block, index, line).

    Nothing is put after what leaves the block; a `pass` is a place, not a neighbour.
    """
    for block in blocks(ground):
        for index in range(block.first, len(block.statements) + 1):
            before = block.statements[index - 1] if index > block.first else None
            if isinstance(before, JUMPS | ast.Pass):
                continue
            after = block.statements[index] if index < len(block.statements) else None
            lines = [line_of(ground, node) for node in (after, before) if node is not None]
            found = [line for line in lines if line is not None]
            if found:
                yield block, index, max(found, key=lambda line: ground.lines[line])


def line_of(ground: Ground, node: ast.AST) -> int | None:
    """The most suspicious of the node's own lines, those of the statements in it left out; None if none counts."""
    first = getattr(node, "lineno", 0)
    for decorator in getattr(node, "decorator_list", ()):
        first = min(first, decorator.lineno)
    inner = getattr(node, "body", None)
    last = getattr(node, "end_lineno", None) or first
    if isinstance(inner, list) and inner:
        last = max(first, inner[0].lineno - 1) if inner[0].lineno > first else first
    own = [line for line in range(first, last + 1) if line in ground.lines]
    return max(own, key=lambda line: ground.lines[line]) if own else None


def fits(statement: ast.stmt, block: Block) -> bool:
    """Tell whether a statement may stand in a block, so far as jumps and `await` are concerned."""
    return all(_node_fits(node, block) for node in own_nodes(statement))


def own_nodes(statement: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a statement without those of functions, classes and loops in it that bind its jumps themselves.

    The bodies of loops are walked without their `break` and `continue`.
    """
    yield from _own(statement, False)


def _own(node: ast.AST, in_loop: bool) -> Iterator[ast.AST]:
    if not (in_loop and isinstance(node, ast.Break | ast.Continue)):
        yield node
    if isinstance(node, _NEW_SCOPES):
        return
    inside = in_loop or isinstance(node, _LOOPS)
    for child in ast.iter_child_nodes(node):
        yield from _own(child, inside)


def _node_fits(node: ast.AST, block: Block) -> bool:
    is_async = isinstance(block.function, ast.AsyncFunctionDef)
    if isinstance(node, ast.Break | ast.Continue):
        return block.loops > 0 and block.open
    if isinstance(node, ast.Return):
        return block.function is not None and block.open
    if isinstance(node, ast.Yield):
        return block.function is not None
    if isinstance(node, ast.YieldFrom):
        return block.function is not None and not is_async
    if isinstance(node, ast.Await | ast.AsyncFor | ast.AsyncWith):
        return is_async
    return not isinstance(node, ast.Global | ast.Nonlocal | ast.ImportFrom)


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
