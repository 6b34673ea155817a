"""What the statements of a scope show at a glance: variables, conditions, and what the variables seem to be."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property, lru_cache

from models.repair.edits.blocks import Block, Site, gaps, own_nodes, sites
from models.repair.edits.build import Piece, name, piece
from models.repair.ground import Ground
from models.repair.tree import Function, at

_MOST_NAMES = 12
_NUMBERS = frozenset({"int", "float", "bool", "complex", "Fraction", "Decimal"})
_SIZED = frozenset({"list", "tuple", "str", "dict", "set", "frozenset", "deque", "bytes", "defaultdict", "Counter"})
_BY_CALL = {
    "len": "int", "sum": "int", "int": "int", "abs": "int", "ord": "int", "float": "float", "list": "list",
    "sorted": "list", "dict": "dict", "set": "set", "str": "str", "tuple": "tuple", "deque": "deque",
    "defaultdict": "defaultdict", "Counter": "Counter", "bool": "bool",
}  # fmt: skip
_BY_METHOD = {
    "append": "list", "extend": "list", "insert": "list", "sort": "list", "popleft": "deque", "appendleft": "deque",
    "add": "set", "discard": "set", "items": "dict", "keys": "dict", "values": "dict", "setdefault": "dict",
    "split": "str", "strip": "str", "lower": "str", "upper": "str", "startswith": "str", "join": "str",
}  # fmt: skip
_BY_NODE: dict[type[ast.AST], str] = {
    ast.List: "list", ast.ListComp: "list", ast.Dict: "dict", ast.DictComp: "dict", ast.Set: "set",
    ast.SetComp: "set", ast.Tuple: "tuple", ast.JoinedStr: "str",
}  # fmt: skip


class Survey:
    """A ground, looked over once; everything is computed when first asked for."""

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        self.node = at(ground.tree, ground.scope)
        self._own: dict[int, list[ast.AST]] = {}
        self._names: dict[tuple[int, str], list[str]] = {}

    @cached_property
    def gaps(self) -> list[tuple[Block, int, int]]:
        """Where a statement may be put in: (block, index, line)."""
        return list(gaps(self.ground))

    def nodes_of(self, function: Function) -> list[ast.AST]:
        """The nodes of a function without those of functions in it."""
        found = self._own.get(id(function))
        if found is None:
            found = self._own[id(function)] = [node for part in function.body for node in own_nodes(part)]
        return found

    def is_generator(self, function: Function) -> bool:
        """Whether a function is a generator."""
        return any(isinstance(node, ast.Yield | ast.YieldFrom) for node in self.nodes_of(function))

    @cached_property
    def sites(self) -> list[Site]:
        """The statements where edits may begin."""
        return list(sites(self.ground))

    def suspicion(self, line: int) -> float:
        """The suspicion of a line; a little for lines that have none, so that weights still order them."""
        return max(self.ground.lines.get(line, 0.0), 0.01)

    @cached_property
    def _nodes(self) -> list[ast.AST]:
        return list(ast.walk(self.node)) if self.ground.scope else list(_outside_functions(self.node))

    @cached_property
    def bound(self) -> dict[int, dict[str, int]]:
        """For each function (and 0 for the module) the names that it binds, with the line where it first does."""
        found: dict[int, dict[str, int]] = {}
        _bindings(self.node, found, found.setdefault(0, {}))
        return found

    def names(self, block: Block) -> list[str]:
        """The variables that a statement of the block can see, the function's own and the nearest first."""
        key = (id(block.owner), block.field)
        if key not in self._names:
            self._names[key] = self._visible(block)
        return self._names[key]

    def _visible(self, block: Block) -> list[str]:
        found: dict[str, None] = {}
        place: Block | None = block
        while place is not None:
            key = id(place.function) if place.function else 0
            found.update(dict.fromkeys(self.bound.get(key, ())))
            place = place.above[0] if place.above else None
        return list(found)[:_MOST_NAMES]

    def bound_at(self, block: Block, variable: str) -> int:
        """The line where the block's function first binds a variable; 0 where it does not."""
        return self.bound.get(id(block.function) if block.function else 0, {}).get(variable, 0)

    @cached_property
    def chains(self) -> list[str]:
        """Dotted chains such as `self.items` that are read in the scope and are not called."""
        called = {id(node.func) for node in self._nodes if isinstance(node, ast.Call)}
        nodes = (node for node in self._nodes if isinstance(node, ast.Attribute) and id(node) not in called)
        return list(dict.fromkeys(text for node in nodes if (text := _chain(node))))[:_MOST_NAMES]

    @cached_property
    def conditions(self) -> list[tuple[Piece, bool]]:
        """The conditions that occur, each once, and whether it is in the scope: those of the file come last."""
        found: dict[str, tuple[Piece, bool]] = {}
        for nodes, near in ((self._nodes, True), (list(ast.walk(self.ground.tree)), False)):
            for node in nodes:
                for part in _conditions(node):
                    made = piece(part)
                    found.setdefault(made.text, (made, near))
        return list(found.values())

    @cached_property
    def members(self) -> frozenset[tuple[str, str]]:
        """What is asked to be in what, and what is put into what: (element, holder), both as text."""
        return frozenset(pair for node in self._nodes for pair in _memberships(node))

    @cached_property
    def _guessed(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for node in self._nodes:
            for variable, kind in _hints(node):
                found.setdefault(variable, set()).add(kind)
        return found

    def kinds(self, variable: str) -> frozenset[str]:
        """The names of the types that a variable was seen to have, or seems to have; empty when nothing is known."""
        return self.ground.kinds.get(variable) or frozenset(self._guessed.get(variable, ()))

    def sized(self, variable: str) -> bool:
        """Whether it has a length."""
        return bool(self.kinds(variable) & _SIZED)

    def number(self, variable: str) -> bool:
        """Whether it is a number."""
        return bool(self.kinds(variable) & _NUMBERS)

    def known(self, variable: str) -> bool:
        """Whether anything is known of its type."""
        return bool(self.kinds(variable) - {"NoneType"})

    def seen_names(self, node: ast.AST) -> Iterator[str]:
        """The names that a tree reads."""
        return (part.id for part in ast.walk(node) if isinstance(part, ast.Name))

    @cached_property
    def globals(self) -> frozenset[str]:
        """The names that the module's own statements bind."""
        names: dict[int, dict[str, int]] = {}
        _bindings(self.ground.tree, names, names.setdefault(0, {}))
        return frozenset(names[0])

    def pieces(self, block: Block) -> list[Piece]:
        """The visible variables and dotted chains."""
        return [name(text) for text in (*self.names(block), *self.chains)]


def survey_of(ground: Ground) -> Survey:
    """The survey of a ground, made once for the generators that ask one after the other."""
    return _survey(_Same(ground))


class _Same:
    """A ground as a key: the same object, and no comparison of what it holds."""

    __slots__ = ("ground",)

    def __init__(self, ground: Ground) -> None:
        self.ground = ground

    def __hash__(self) -> int:
        return id(self.ground)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.ground is self.ground


@lru_cache(maxsize=2)
def _survey(key: _Same) -> Survey:
    return Survey(key.ground)


def parts_of(node: ast.AST) -> Iterator[ast.expr]:
    """The tests of a node: of an `if`, a `while`, a ternary, a comprehension, an `assert`."""
    if isinstance(node, ast.If | ast.While | ast.IfExp | ast.Assert):
        yield node.test
    elif isinstance(node, ast.comprehension):
        yield from node.ifs


def _conditions(node: ast.AST) -> Iterator[ast.expr]:
    if isinstance(node, ast.Compare):
        yield node
    elif isinstance(node, ast.BoolOp):
        yield from node.values
    for test in parts_of(node):
        if not isinstance(test, ast.Constant):
            yield test


def _memberships(node: ast.AST) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
        yield ast.unparse(node.left), ast.unparse(node.comparators[0])
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        added = node.args if node.func.attr in {"add", "append"} else []
        yield from ((ast.unparse(part), ast.unparse(node.func.value)) for part in added)


def _outside_functions(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, Function):
            yield from _outside_functions(child)


def _bindings(node: ast.AST, found: dict[int, dict[str, int]], own: dict[str, int]) -> None:
    """Collect what is bound in and below a node; the variables of comprehensions and lambdas are not seen outside."""
    if isinstance(node, Function):
        own.setdefault(node.name, node.lineno)
        own = found.setdefault(id(node), {})
        every = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg)
        own.update((argument.arg, node.lineno) for argument in every if argument)
        for statement in node.body:
            _bindings(statement, found, own)
        return
    if isinstance(node, ast.ClassDef):
        own.setdefault(node.name, node.lineno)
        own = {}
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        own.setdefault(node.id, node.lineno)
    elif isinstance(node, ast.comprehension | ast.Lambda):
        return
    for child in ast.iter_child_nodes(node):
        _bindings(child, found, own)


def _chain(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    owner = _chain(node.value) if isinstance(node, ast.Attribute) else ""
    return f"{owner}.{node.attr}" if owner and isinstance(node, ast.Attribute) else ""


def _hints(node: ast.AST) -> Iterator[tuple[str, str]]:
    """What a node tells of the types of variables: (variable, type)."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        yield from _of_value(node.targets[0], node.value)
    elif isinstance(node, ast.AugAssign):
        yield from _of_value(node.target, node.value)
    elif isinstance(node, ast.For):
        yield from _of_loop(node)
    elif isinstance(node, ast.Call):
        yield from _of_call(node)
    elif isinstance(node, ast.Subscript):
        yield from ((_chain(node.value), "list"),) if not isinstance(node.slice, ast.Constant) else ()
        yield from ((_chain(node.slice), "int"),) if isinstance(node.value, ast.List) else ()
    elif isinstance(node, ast.Compare | ast.BinOp):
        yield from _of_operands(node)


def _of_value(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, str]]:
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        for left, right in zip(target.elts, value.elts, strict=True):
            yield from _of_value(left, right)
        return
    kind = kind_of(value)
    if kind and (variable := _chain(target)):
        yield variable, kind


def kind_of(value: ast.expr) -> str:
    """The name of the type that an expression plainly has, or the empty text."""
    if isinstance(value, ast.Constant):
        return type(value.value).__name__
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
        return _BY_CALL.get(value.func.id, "")
    if isinstance(value, ast.BinOp):
        return kind_of(value.left) or kind_of(value.right)
    return kind_of(value.operand) if isinstance(value, ast.UnaryOp) else _BY_NODE.get(type(value), "")


def _of_loop(node: ast.For) -> Iterator[tuple[str, str]]:
    source = node.iter
    if isinstance(source, ast.Call) and isinstance(source.func, ast.Name):
        target = node.target
        if source.func.id == "enumerate" and isinstance(target, ast.Tuple):
            target = target.elts[0]
        if source.func.id in {"range", "enumerate"} and (variable := _chain(target)):
            yield variable, "int"
    elif variable := _chain(source):
        yield variable, "list"


def _of_call(node: ast.Call) -> Iterator[tuple[str, str]]:
    function = node.func
    if isinstance(function, ast.Attribute) and function.attr in _BY_METHOD and (variable := _chain(function.value)):
        yield variable, _BY_METHOD[function.attr]
    elif isinstance(function, ast.Name) and node.args and (variable := _chain(node.args[0])):
        if function.id in {"len", "sorted", "sum", "enumerate", "reversed"}:
            yield variable, "list"
        elif function.id in {"range", "abs"}:
            yield variable, "int"


def _of_operands(node: ast.Compare | ast.BinOp) -> Iterator[tuple[str, str]]:
    """A number beside an operator tells that the other side is one."""
    sides = [node.left, node.right] if isinstance(node, ast.BinOp) else [node.left, *node.comparators]
    if any(isinstance(side, ast.Constant) and type(side.value) in {int, float} for side in sides):
        for side in sides:
            if isinstance(side, ast.Name):
                yield side.id, "int"
