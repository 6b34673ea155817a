"""Shows the statements of a scope to the edit operators: blocks, variables, conditions, and kinds inferred from use."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from nightshift_engine.edit import EditContext
from nightshift_engine.edits.build import Piece, name, negate, piece
from nightshift_engine.edits.expression import once
from nightshift_engine.kinds import (
    CALLABLE,
    DICT,
    INT,
    LIST,
    NUMBER,
    SET,
    SIZED,
    STR,
    UNKNOWN,
    Kind,
    Kinds,
    infer,
    outside,
)
from nightshift_engine.tree import Function, Place, at

_NEW_SCOPES = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda
_LOOPS = ast.For | ast.AsyncFor | ast.While
JUMPS = ast.Return | ast.Raise | ast.Break | ast.Continue
"""Statements after which the rest of their block is unreachable."""
_FIELDS = ("body", "orelse", "finalbody")


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A list of statements: `field` of the node at `holder`.

    Attributes:
        owner: the node at `holder`.
        function: the innermost function around it; None at the level of a module or class.
        loops: number of loops of that function around it.
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

    def position(self, index: int) -> Place:
        """Return the place of the statement with this index; the length of the block gives its end."""
        return (*self.holder, (self.field, index))

    def idle(self, index: int) -> bool:
        """Check whether the statement with this index is a `pass`."""
        return index < len(self.statements) and isinstance(self.statements[index], ast.Pass)

    @property
    def first(self) -> int:
        """Index of the first statement that may move: a docstring and imports from `__future__` must stay first."""
        index = int(isinstance(self.owner, Function | ast.ClassDef | ast.Module) and _is_text(self.statements[0]))
        while index < len(self.statements) and _is_future(self.statements[index]):
            index += 1
        return index


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A statement where edits may begin, and the most suspicious of its own lines."""

    block: Block
    index: int
    node: ast.stmt
    line: int

    @property
    def position(self) -> Place:
        """Place of the statement."""
        return self.block.position(self.index)


def blocks(context: EditContext) -> Iterator[Block]:
    """Yield the blocks of the scope, outer ones first; the scope of the module leaves out functions."""
    node = at(context.tree, context.scope)
    outside = Block(holder=(), field="body", owner=node, statements=(), function=None, loops=0)
    yield from _inside(node, context.scope, outside, bool(context.scope))


def _inside(node: ast.AST, position: Place, outer: Block, functions: bool) -> Iterator[Block]:
    above = (outer, position[-1][1] or 0) if position and outer.statements else None
    for field in _FIELDS:
        statements = getattr(node, field, None)
        if isinstance(statements, list) and statements:
            yield from _block(node, position, field, outer, above, functions)
    for field in ("handlers", "cases"):
        for index, part in enumerate(getattr(node, field, ())):
            yield from _block(part, (*position, (field, index)), "body", outer, above, functions)


def _block(
    node: ast.AST, position: Place, field: str, outer: Block, above: tuple[Block, int] | None, functions: bool
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
        holder=position, field=field, owner=node, statements=getattr(node, field), function=function, loops=loops,
        open=is_open, above=above,
    )  # fmt: skip
    yield block
    for index, statement in enumerate(block.statements):
        if functions or not isinstance(statement, Function):
            yield from _inside(statement, block.position(index), block, functions)


def _statement(above: tuple[Block, int]) -> ast.stmt:
    block, index = above
    return block.statements[index]


def sites(context: EditContext) -> Iterator[Site]:
    """Yield the statements, without docstrings, that have a line of their own where edits may begin."""
    for block in blocks(context):
        for index in range(block.first, len(block.statements)):
            node = block.statements[index]
            line = line_of(context, node)
            if line is not None:
                yield Site(block=block, index=index, node=node, line=line)


def gaps(context: EditContext) -> Iterator[tuple[Block, int, int]]:
    """Yield the places where a statement may be inserted: (block, index, line of an adjacent statement).

    There is no place after a statement that leaves the block, such as a `return`. A statement that is inserted before a
    `pass` replaces the `pass`, so there is no place after a `pass` either.
    """
    for block in blocks(context):
        for index in range(block.first, len(block.statements) + 1):
            before = block.statements[index - 1] if index > block.first else None
            if isinstance(before, JUMPS | ast.Pass):
                continue
            after = block.statements[index] if index < len(block.statements) else None
            lines = [line_of(context, node) for node in (after, before) if node is not None]
            numbers = [line for line in lines if line is not None]
            if numbers:
                yield block, index, max(numbers, key=lambda line: context.lines[line])


def line_of(context: EditContext, node: ast.AST) -> int | None:
    """Return the most suspicious line of a node, without lines of inner statements; None if none is suspected."""
    first = getattr(node, "lineno", 0)
    for decorator in getattr(node, "decorator_list", ()):
        first = min(first, decorator.lineno)
    inner = getattr(node, "body", None)
    last = getattr(node, "end_lineno", None) or first
    if isinstance(inner, list) and inner:
        last = max(first, inner[0].lineno - 1) if inner[0].lineno > first else first
    own = [line for line in range(first, last + 1) if line in context.lines]
    return max(own, key=lambda line: context.lines[line]) if own else None


def fits(statement: ast.stmt, block: Block) -> bool:
    """Check whether the jumps, `yield` and `await` of a statement are allowed in a block."""
    return all(_node_fits(node, block) for node in own_nodes(statement))


def own_nodes(statement: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a statement, but not the inside of functions and classes in it.

    Inside loops, `break` and `continue` are left out, because they belong to the loop.
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


def infer_from_uses(nodes: Iterable[ast.AST]) -> dict[str, Kind]:
    """Map variables and dotted chains to the union of the kinds that their uses suggest."""
    kinds: dict[str, Kind] = {}
    for node in nodes:
        for variable, kind in _suggest(node):
            if variable:
                kinds[variable] = kinds.get(variable, frozenset()) | kind
    return kinds


def chain(node: ast.expr) -> str:
    """Return a variable or a dotted chain of attributes as text; empty for other expressions."""
    if isinstance(node, ast.Name):
        return node.id
    owner = chain(node.value) if isinstance(node, ast.Attribute) else ""
    return f"{owner}.{node.attr}" if owner and isinstance(node, ast.Attribute) else ""


def _suggest(node: ast.AST) -> Iterator[tuple[str, Kind]]:
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
    """Yield INT for the variables that are compared or computed with a number."""
    if any(_is_number(side) for side in sides):
        yield from ((side.id, INT) for side in sides if isinstance(side, ast.Name))


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in {int, float}


_RAISES = re.compile(
    r"(?:raises|assertRaises(?:Regex)?)\(\s*(?P<kind>[A-Za-z_][\w.]*)"
    r"(?:\s*,\s*(?:match\s*=\s*)?r?(?P<quote>[\"'])(?P<words>.*?)(?P=quote))?"
)


def parts_of(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the test expressions of a node: an `if`, a `while`, a ternary, a comprehension or an `assert`."""
    if isinstance(node, ast.If | ast.While | ast.IfExp | ast.Assert):
        yield node.test
    elif isinstance(node, ast.comprehension):
        yield from node.ifs


def conditions_in(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the conditions in a node: comparisons, parts of `and` and `or`, and test expressions."""
    if isinstance(node, ast.Compare):
        yield node
    elif isinstance(node, ast.BoolOp):
        yield from node.values
    for test in parts_of(node):
        if not isinstance(test, ast.Constant):
            yield test


def memberships(node: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield the memberships that a node tests or makes: (element, container), both as text."""
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
        yield ast.unparse(node.left), ast.unparse(node.comparators[0])
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        added = node.args if node.func.attr in {"add", "append"} else []
        yield from ((ast.unparse(part), ast.unparse(node.func.value)) for part in added)


def records(node: ast.AST) -> Iterator[str]:
    """Yield the variable that a node reads with a string key: `row` in `row["name"]` or `row.get("name")`."""
    if isinstance(node, ast.Subscript):
        owner, keys = node.value, [node.slice]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
        owner, keys = node.func.value, node.args[:1]
    else:
        return
    if isinstance(owner, ast.Name) and any(
        isinstance(key, ast.Constant) and isinstance(key.value, str) for key in keys
    ):
        yield owner.id


def list_awaited(text: str) -> Iterator[tuple[str, str]]:
    """Yield the exceptions that a test file expects: (kind, the expected words of its message if they are plain)."""
    for match in _RAISES.finditer(text):
        words = match.group("words") or ""
        yield match.group("kind").rpartition(".")[2], words if re.fullmatch(r"[\w ,:;'-]*", words) else ""


def outside_functions(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a module that are in no function."""
    yield node
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, Function):
            yield from outside_functions(child)


def bindings(node: ast.AST, bound_names: dict[int, dict[str, int]], own: dict[str, int]) -> None:
    """Collect the names bound in and below a node, with their lines; comprehensions and lambdas are left out."""
    if isinstance(node, Function):
        own.setdefault(node.name, node.lineno)
        own = bound_names.setdefault(id(node), {})
        every = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg)
        own.update((argument.arg, node.lineno) for argument in every if argument)
        for statement in node.body:
            bindings(statement, bound_names, own)
        return
    if isinstance(node, ast.ClassDef):
        own.setdefault(node.name, node.lineno)
        own = {}
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        own.setdefault(node.id, node.lineno)
    elif isinstance(node, ast.comprehension | ast.Lambda):
        return
    for child in ast.iter_child_nodes(node):
        bindings(child, bound_names, own)


_MOST_NAMES = 12
_BINDING = ast.NamedExpr | ast.Await | ast.Yield | ast.YieldFrom


class StatementView:
    """The statements of a scope; everything is computed on demand."""

    def __init__(self, context: EditContext) -> None:
        self.context = context
        self.node = at(context.tree, context.scope)
        self._opposites: dict[str, Piece] = {}
        self._stale: dict[int, frozenset[str]] = {}
        self._own: dict[int, list[ast.AST]] = {}
        self._names: dict[tuple[int, str], list[str]] = {}
        self._read: dict[str, frozenset[str]] = {}
        self.tests: dict[tuple[int, str, int], dict[str, tuple[Piece, float]]] = {}  # filled by the module `guards`
        self._every: dict[tuple[int, str], frozenset[str]] = {}

    @cached_property
    def gaps(self) -> list[tuple[Block, int, int]]:
        """Places for a new statement: (block, index, line)."""
        return list(gaps(self.context))

    def nodes_of(self, function: Function) -> list[ast.AST]:
        """Return the nodes of a function without those of inner functions."""
        nodes = self._own.get(id(function))
        if nodes is None:
            nodes = self._own[id(function)] = [node for part in function.body for node in own_nodes(part)]
        return nodes

    def is_generator(self, function: Function) -> bool:
        """Check whether a function is a generator."""
        return any(isinstance(node, ast.Yield | ast.YieldFrom) for node in self.nodes_of(function))

    @cached_property
    def sites(self) -> list[Site]:
        """Statements where edits may begin."""
        return list(sites(self.context))

    def suspicion(self, line: int) -> float:
        """Return the suspicion of a line, but at least 0.01, so that weights still order the edits of other lines."""
        return max(self.context.lines.get(line, 0.0), 0.01)

    @cached_property
    def _nodes(self) -> list[ast.AST]:
        return list(ast.walk(self.node)) if self.context.scope else list(outside_functions(self.node))

    @cached_property
    def bound(self) -> dict[int, dict[str, int]]:
        """Maps the id of each function to the names that it binds, with the line of their first binding.

        The id of the module is 0.
        """
        bound_names: dict[int, dict[str, int]] = {}
        bindings(self.node, bound_names, bound_names.setdefault(0, {}))
        return bound_names

    def names(self, block: Block) -> list[str]:
        """Return the variables that a statement of the block can see, the function's own and the nearest first."""
        key = (id(block.owner), block.field)
        if key not in self._names:
            self._names[key] = [text for text in self._list_bound_around(block) if self.kinds(text) != CALLABLE]
        return self._names[key][:_MOST_NAMES]

    def visible(self, block: Block) -> frozenset[str]:
        """Return all names that a statement of the block may use, without builtins."""
        key = (id(block.owner), block.field)
        if key not in self._every:
            self._every[key] = self.globals.union(self._list_bound_around(block))
        return self._every[key]

    def _list_bound_around(self, block: Block) -> list[str]:
        names: dict[str, None] = {}
        ancestor: Block | None = block
        while ancestor is not None:
            key = id(ancestor.function) if ancestor.function else 0
            names.update((text, None) for text in self.bound.get(key, ()))
            ancestor = ancestor.above[0] if ancestor.above else None
        return list(names)

    def list_reassigned(self, block: Block) -> list[str]:
        """Return the variables that the block's function assigns, without parameters that are never assigned."""
        nodes = self.nodes_of(block.function) if block.function else self._nodes
        stored = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        return [text for text in self.names(block) if text in stored]

    @cached_property
    def lost(self) -> list[str]:
        """Names that the scope's function reads although nothing binds them: their assignment is missing."""
        if not self.context.scope:
            return []
        bound_names = {text for own in self.bound.values() for text in own} | self.globals | set(dir(builtins))
        inner = {
            part.id
            for node in self._nodes
            if isinstance(node, ast.comprehension | ast.NamedExpr)
            for part in ast.walk(node.target)
            if isinstance(part, ast.Name)
        }
        inner |= {node.arg for node in self._nodes if isinstance(node, ast.arg)}
        inner |= {node.name for node in self._nodes if isinstance(node, ast.ExceptHandler) and node.name}
        inner |= {alias.asname or alias.name for node in self._nodes for alias in getattr(node, "names", ())
                  if isinstance(alias, ast.alias)}  # fmt: skip
        if any(isinstance(node, ast.MatchAs | ast.MatchStar | ast.MatchMapping) for node in self._nodes):
            return []  # patterns bind names too; as they are rare, they are not analysed
        read = dict.fromkeys(text for text in self.list_read_names(self.node) if text not in bound_names | inner)
        return list(read)[:4]

    def unready(self, block: Block, line: int) -> frozenset[str]:
        """Return the variables of the block's function that have no value before a line; loops are ignored."""
        own = self.bound.get(id(block.function) if block.function else 0, {})
        return frozenset(text for text, first in own.items() if first >= line)

    def find_binding(self, block: Block, variable: str) -> int:
        """Return the line where the block's function first binds a variable; 0 if the function does not bind it."""
        return self.bound.get(id(block.function) if block.function else 0, {}).get(variable, 0)

    @cached_property
    def chains(self) -> list[str]:
        """Dotted chains such as `self.items` that the scope reads and does not call."""
        called = {id(node.func) for node in self._nodes if isinstance(node, ast.Call)}
        nodes = (node for node in self._nodes if isinstance(node, ast.Attribute) and id(node) not in called)
        return list(dict.fromkeys(text for node in nodes if (text := chain(node))))[:_MOST_NAMES]

    @cached_property
    def conditions(self) -> list[tuple[Piece, bool]]:
        """Distinct conditions of the file without `:=`, `await` and `yield`, each with True if it is in the scope.

        The conditions of the scope come first.
        """
        pieces: dict[str, tuple[Piece, bool]] = {}
        for nodes, near in ((self._nodes, True), (list(ast.walk(self.context.tree)), False)):
            for node in nodes:
                for part in conditions_in(node):
                    if not any(isinstance(inner, _BINDING) for inner in ast.walk(part)):
                        condition = piece(part)
                        pieces.setdefault(condition.text, (condition, near))
        return list(pieces.values())

    @cached_property
    def texts(self) -> list[str]:
        """Short string constants of the file and its tests, the commonest first."""
        return [word for word in self._words if isinstance(word, str)]

    @cached_property
    def numbers(self) -> list[int]:
        """Integers above 2 of the file and its tests, the commonest first; smaller ones are proposed in any case."""
        return [word for word in self._words if type(word) is int and word > 2]

    @cached_property
    def _words(self) -> list[object]:
        return [ast.literal_eval(word) for word in self.context.words.constants]

    @cached_property
    def looked_into(self) -> frozenset[str]:
        """Variables that the scope indexes with a string."""
        return frozenset(text for node in self._nodes for text in records(node))

    @cached_property
    def awaited(self) -> tuple[tuple[str, str], ...]:
        """Exceptions that the tests expect and the file can name: (kind, words of the exception's message)."""
        expected = dict.fromkeys(pair for text in self.context.words.texts[1:] for pair in list_awaited(text))
        return tuple(pair for pair in expected if pair[0] in self.globals or pair[0] in dir(builtins))

    @cached_property
    def members(self) -> frozenset[tuple[str, str]]:
        """Memberships that the scope tests or makes: (element, container), both as text."""
        return frozenset(pair for node in self._nodes for pair in memberships(node))

    @cached_property
    def fed(self) -> frozenset[tuple[str, str]]:
        """Variables in the values that are put into a container: (variable, container)."""
        calls = [node for node in self._nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)]
        return frozenset(
            (variable, ast.unparse(node.func.value))
            for node in calls
            if isinstance(node.func, ast.Attribute) and node.func.attr in {"add", "append", "extend"}
            for part in node.args
            for variable in self.list_read_names(part)
        )

    def negate(self, part: Piece) -> Piece:
        """Return the negation of a condition; cached, because it is needed at many places."""
        opposite = self._opposites.get(part.text)
        if opposite is None:
            opposite = self._opposites[part.text] = negate(part)
        return opposite

    def stale(self, block: Block) -> frozenset[str]:
        """Return the variables that the innermost loop around a block reads and never sets.

        Such a variable may lack an update.
        """
        ancestor: Block | None = block
        while ancestor is not None and not (
            isinstance(ancestor.owner, ast.For | ast.While) and ancestor.field == "body"
        ):
            ancestor = ancestor.above[0] if ancestor.above and ancestor.loops else None
        if ancestor is None:
            return frozenset()
        if id(ancestor.owner) not in self._stale:
            self._stale[id(ancestor.owner)] = self._never_set(ancestor.owner)
        return self._stale[id(ancestor.owner)]

    def _never_set(self, loop: ast.AST) -> frozenset[str]:
        nodes = [node for node in ast.walk(loop) if isinstance(node, ast.Name)]
        stored = {node.id for node in nodes if isinstance(node.ctx, ast.Store)}
        read = {node.id for node in nodes if isinstance(node.ctx, ast.Load)} - stored
        return frozenset(text for text in read if not self.has_length(text) or "str" in self.kinds(text))

    @cached_property
    def _kinds(self) -> Kinds:
        return infer(self._nodes, outside(self.context.tree), self.context.kinds)

    @cached_property
    def _used(self) -> dict[str, Kind]:
        return infer_from_uses(self._nodes)

    def kinds(self, variable: str) -> Kind:
        """Return the kind of a variable or dotted chain; empty if unknown.

        The kind was seen at run time, was inferred from the code, or is suggested by how the variable is used.
        """
        return self._kinds.of_name(variable) or self._used.get(variable, UNKNOWN)

    def kind_of(self, node: ast.expr) -> Kind:
        """Return the kind of an expression."""
        return self.kinds(ast.unparse(node)) if isinstance(node, ast.Name) else self._kinds.of(node)

    def has_length(self, variable: str) -> bool:
        """Check whether a variable has a length."""
        return bool(self.kinds(variable) & SIZED)

    def number(self, variable: str) -> bool:
        """Check whether a variable is a number."""
        return bool(self.kinds(variable) & NUMBER)

    def alike(self, variable: str, other: str) -> bool:
        """Check whether two variables may have values of the same kind."""
        left, right = self.kinds(variable), self.kinds(other)
        return bool(left & right) or not left or not right

    def has_kind(self, variable: str) -> bool:
        """Check whether any type other than NoneType is known for a variable."""
        return bool(self.kinds(variable) - {"NoneType"})

    def names_in(self, part: Piece) -> frozenset[str]:
        """Return the names that a piece reads; cached, because it is needed at many places."""
        names = self._read.get(part.text)
        if names is None:
            names = self._read[part.text] = frozenset(self.list_read_names(part.node))
        return names

    def list_read_names(self, node: ast.AST) -> Iterator[str]:
        """Yield the names in a tree."""
        return (part.id for part in ast.walk(node) if isinstance(part, ast.Name))

    @cached_property
    def globals(self) -> frozenset[str]:
        """Names that the module's own statements bind."""
        names: dict[int, dict[str, int]] = {}
        bindings(self.context.tree, names, names.setdefault(0, {}))
        return frozenset(names[0])

    def pieces(self, block: Block) -> list[Piece]:
        """Return the visible variables and dotted chains."""
        return [name(text) for text in (*self.names(block), *self.chains)]


@once
def statement_view(context: EditContext) -> StatementView:
    """Return the view of a scope; cached, because all operators on a scope use the same view."""
    return StatementView(context)
