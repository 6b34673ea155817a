"""Shows the expressions of a scope to the edit operators, and makes such operators from functions.

A `Spot` is a node where an edit may begin, with its role there, the visible names and the kind of value that the place
needs. There are no spots in the texts of f-strings, decorators, annotations, docstrings, patterns, deleted targets, and
the targets of assignments. The expressions in the brackets of an assignment's target do have spots.
"""

from __future__ import annotations

import ast
import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, wraps
from typing import Generic, TypeVar

from nightshift_engine.edit import Edit, EditContext, EditOperator
from nightshift_engine.kinds import (
    INT,
    ITERABLE,
    MAPPING,
    NONE,
    SEQUENCE,
    UNKNOWN,
    Kind,
    Kinds,
    Locals,
    Outside,
    Visible,
    attributes,
    infer,
    methods,
    outside,
    parameters,
)
from nightshift_engine.tree import Function, Place, at

Held = TypeVar("Held")
Made = TypeVar("Made")


class _Key(Generic[Held]):
    """An object as a key, compared by identity. It keeps the object alive, so that its id is not reused."""

    __slots__ = ("held",)

    def __init__(self, held: Held) -> None:
        self.held = held

    def __hash__(self) -> int:
        return id(self.held)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and other.held is self.held


def once(make: Callable[[Held], Made]) -> Callable[[Held], Made]:
    """Return the function with a cache of its results for the last four arguments, which are compared by identity."""

    @lru_cache(maxsize=4)
    def compute(key: _Key[Held]) -> Made:
        return make(key.held)

    @wraps(make)
    def recall(held: Held) -> Made:
        return compute(_Key(held))

    return recall


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Spot:
    """A node where an edit may begin.

    Attributes:
        position: the place of the node in the tree. Its last step is the node's field and index in the parent node.
        up: the spot of the parent node; None for a statement of the scope itself.
        line: the node's own line, or the line of the parent node if edits may not begin on the node's line.
        is_replaceable: True if any other expression may replace the node.
        quoted: True if the node is inside an f-string.
    """

    position: Place
    node: ast.AST
    up: Spot | None
    line: int
    statement: ast.stmt
    visible: Visible
    is_replaceable: bool
    quoted: bool = False

    @property
    def field(self) -> str:
        """Field of the parent that holds the node."""
        return self.position[-1][0]

    @property
    def index(self) -> int:
        """Index of the node in a list field; -1 in other fields."""
        index = self.position[-1][1]
        return -1 if index is None else index

    @property
    def parent(self) -> ast.AST | None:
        """The node that holds this one; None for a statement of the scope itself."""
        return self.up.node if self.up else None

    @property
    def truth(self) -> bool:
        """True if only the truth value counts: the node is a condition, or a part of one."""
        parent = self.parent
        if isinstance(parent, ast.BoolOp) or (isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not)):
            assert self.up is not None
            return isinstance(parent, ast.UnaryOp) or self.up.truth
        return self.field in ("test", "ifs", "guard")

    @property
    def call(self) -> ast.Call | None:
        """The call of which the node is an argument; None if there is none."""
        holder = self.up.up if self.up and isinstance(self.parent, ast.keyword) else self.up
        node = holder.node if holder and self.field != "func" else None
        return node if isinstance(node, ast.Call) else None


LOAD = ast.Load()


def swap(spot: Spot, new: ast.AST, kind: str, weight: float, note: str) -> Iterator[Edit]:
    """Yield the edit that puts `new` at a spot, unless it has no weight, makes no sense there or changes nothing."""
    if weight > 0 and not _absurd(spot, new) and not same(spot.node, new):
        yield Edit(kind=kind, position=spot.position, new=(new,), weight=weight, line=spot.line, note=note)


def same(tree: object, other: object) -> bool:
    """Check whether two trees have the same text."""
    if tree is other:
        return True
    if type(tree) is not type(other):
        return False
    if isinstance(tree, ast.AST):
        return all(same(getattr(tree, name, None), getattr(other, name, None)) for name in tree._fields)
    if isinstance(tree, list) and isinstance(other, list):
        return len(tree) == len(other) and all(map(same, tree, other))
    # 0.0 and -0.0 are equal but have different texts.
    return tree == other and repr(tree) == repr(other)


def _absurd(spot: Spot, new: ast.AST) -> bool:
    """Check whether an expression makes no sense at a spot, so that the compiler may warn or fail.

    Examples are a literal as a condition, a literal compared by identity, and a subscripted number.
    """
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
    """Check whether an expression may break an f-string around it: before Python 3.12 its quotes may end the string."""
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


def number(value: float) -> ast.expr:
    """Build a number literal; a negative one is a minus before a literal, as the parser builds it."""
    if value < 0:
        return ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=-value))
    return ast.Constant(value=value)


def name(word: str) -> ast.expr:
    """Build a name, or an attribute if the word has a dot."""
    first, *rest = word.split(".")
    expression: ast.expr = ast.Name(id=first, ctx=LOAD)
    for part in rest:
        expression = ast.Attribute(value=expression, attr=part, ctx=LOAD)
    return expression


def parse(text: str) -> ast.expr:
    """Parse an expression. The text must be written by this package, because a syntax error is not handled."""
    return ast.parse(text, mode="eval").body


def name_callee(node: ast.Call) -> str:
    """Return the name of the called function or method; empty for other callees."""
    return getattr(node.func, "id", "") or getattr(node.func, "attr", "")


def call(function: str, *args: ast.expr) -> ast.Call:
    """Build a call of a name with positional arguments."""
    return ast.Call(func=name(function), args=list(args), keywords=[])


def binary(left: ast.expr, op: type[ast.operator], right: ast.expr) -> ast.BinOp:
    """Build a binary operation."""
    return ast.BinOp(left=left, op=op(), right=right)


def display(*items: ast.expr) -> ast.List:
    """Build a list of these items."""
    return ast.List(elts=list(items), ctx=LOAD)


def negation(node: ast.expr) -> ast.expr:
    """Build `not x`, or `x` if the node is `not x`."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return node.operand
    return ast.UnaryOp(op=ast.Not(), operand=node)


def become(old: str, new: str) -> str:
    """Return the note of an edit that replaces one text by another."""
    return f"`{old}` becomes `{new}`"


def with_item(items: Sequence[ast.expr], index: int, new: ast.expr) -> list[ast.expr]:
    """Return the items with the item at an index replaced."""
    return [*items[:index], new, *items[index + 1 :]]


def without(items: Sequence[ast.expr], index: int) -> list[ast.expr]:
    """Return the items without the item at an index."""
    return [*items[:index], *items[index + 1 :]]


class FileView:
    """A file as the expression operators see it."""

    def __init__(self, tree: ast.Module) -> None:
        self._every = list(ast.walk(tree))
        self.outside: Outside = outside(tree)
        self._texts: dict[int, str] = {}
        self._parts: dict[int, frozenset[str]] = {}

    @cached_property
    def attributes(self) -> tuple[str, ...]:
        """Data attributes that the file reads or sets on objects, the outermost first; methods are left out."""
        methods = {id(node.func) for node in self._every if isinstance(node, ast.Call)}
        names = (node.attr for node in self._every if isinstance(node, ast.Attribute) and id(node) not in methods)
        return tuple(dict.fromkeys(names))

    @cached_property
    def indices(self) -> tuple[ast.expr, ...]:
        """Up to four distinct literals that the file uses as subscripts."""
        slices = (node.slice for node in self._every if isinstance(node, ast.Subscript))
        constants = {self.text(node): node for node in slices if isinstance(node, ast.Constant)}
        return tuple(constants.values())[:4]

    @cached_property
    def calls(self) -> frozenset[str]:
        """Names of the functions and methods that the file calls."""
        return frozenset(name_callee(node) for node in self._every if isinstance(node, ast.Call))

    @cached_property
    def keywords(self) -> dict[str, list[ast.keyword]]:
        """Map each called function to the keyword arguments that the file passes to it."""
        keywords_by_callee: dict[str, list[ast.keyword]] = {}
        for node in self._every:
            if isinstance(node, ast.Call) and node.keywords:
                keywords_by_callee.setdefault(name_callee(node), []).extend(node.keywords)
        return keywords_by_callee

    @cached_property
    def turns(self) -> tuple[str, ...]:
        """Functions that the file calls with one positional argument, as text; methods of objects are left out."""
        functions: dict[str, None] = {}
        for node in self._every:
            if isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
                holder = node.func.value if isinstance(node.func, ast.Attribute) else node.func
                if isinstance(holder, ast.Name) and (holder is node.func or holder.id in self.outside.imports):
                    functions.setdefault(self.text(node.func))
        return tuple(functions)

    @cached_property
    def plain_methods(self) -> tuple[str, ...]:
        """Names of methods that the file calls without arguments."""
        calls = (node for node in self._every if isinstance(node, ast.Call) and not node.args and not node.keywords)
        return tuple(dict.fromkeys(node.func.attr for node in calls if isinstance(node.func, ast.Attribute)))

    @cached_property
    def methods(self) -> dict[str, Function]:
        """Methods of all classes of the file, by name."""
        return {name: item for owner in self.outside.classes.values() for name, item in methods(owner).items()}

    @cached_property
    def coroutines(self) -> frozenset[str]:
        """Names of all coroutines of the file."""
        return frozenset(node.name for node in self._every if isinstance(node, ast.AsyncFunctionDef))

    @cached_property
    def expressions(self) -> tuple[ast.expr, ...]:
        """All expressions of the file, the nearest to the root first."""
        return tuple(node for node in self._every if isinstance(node, ast.expr))

    def text(self, node: ast.AST) -> str:
        """Return the source text of a node of the tree."""
        source = self._texts.get(id(node))
        if source is None:
            source = self._texts[id(node)] = ast.unparse(node)
        return source

    def parts(self, node: ast.expr) -> frozenset[str]:
        """Return the texts of an expression of the tree and of all its subexpressions."""
        texts = self._parts.get(id(node))
        if texts is None:
            below = (part for part in ast.walk(node) if isinstance(part, ast.expr) and not isinstance(part, ast.Slice))
            texts = self._parts[id(node)] = frozenset(map(self.text, below))
        return texts


@once
def file_view(tree: ast.Module) -> FileView:
    """Return the view of the file with this tree."""
    return FileView(tree)


_SKIPPED = {
    ast.AnnAssign: ("target", "annotation"),
    ast.NamedExpr: ("target",),
    ast.ExceptHandler: ("type",),
    ast.match_case: ("pattern",),
    ast.keyword: (),
    ast.Delete: ("targets",),
    ast.JoinedStr: ("values",),  # `Walk._walk_text` visits these
}


class Walk:
    """Walks through the statements of a scope and tracks the visible names."""

    def __init__(self, context: EditContext) -> None:
        self._context = context
        self._spots: list[Spot] = []

    def spots(self) -> list[Spot]:
        """Return the spots of the scope, outer ones first."""
        scope = at(self._context.tree, self._context.scope)
        if isinstance(scope, Function):
            visible = Visible(near=parameters(scope.args))
            owner = self._owner()
            if owner is not None:
                visible = _of_method(owner, scope)
            self._body(scope.body, (*self._context.scope, ("body", 0)), visible, Locals(scope.body, visible.near))
        else:
            body = self._context.tree.body
            self._body(body, (("body", 0),), Visible(), Locals(body))
        return self._spots

    def _owner(self) -> ast.ClassDef | None:
        holder = at(self._context.tree, self._context.scope[:-1]) if len(self._context.scope) > 1 else None
        return holder if isinstance(holder, ast.ClassDef) else None

    def _body(self, body: list[ast.stmt], first: Place, visible: Visible, names: Locals) -> None:
        way, (field, _) = first[:-1], first[-1]
        for index, statement in enumerate(body):
            near, later = names.at(statement)
            seen = Visible(
                near=(*(name for name in visible.near if name not in near), *near),
                later=later,
                owner=visible.owner,
                attributes=visible.attributes,
                methods=visible.methods,
            )
            self._statement(statement, (*way, (field, index)), seen, visible, names)

    def _statement(self, node: ast.stmt, position: Place, seen: Visible, around: Visible, names: Locals) -> None:
        line = getattr(node, "lineno", 0)
        spot = Spot(
            position=position, node=node, up=None, line=line, statement=node, visible=seen, is_replaceable=False
        )
        if line in self._context.lines and not isinstance(node, Function | ast.ClassDef):
            self._spots.append(spot)
        if isinstance(node, Function):
            self._function(node, spot)
            return
        if isinstance(node, ast.ClassDef):
            self._body(node.body, (*position, ("body", 0)), seen, Locals(node.body, seen.near))
            return
        for field, child, where in _children(node, position):
            if isinstance(child, ast.ExceptHandler | ast.match_case):
                if isinstance(child, ast.match_case) and child.guard:
                    self._expression(child.guard, (*where, ("guard", None)), spot, seen)
                self._body_of(child, "body", where, around, names)
            elif isinstance(child, ast.withitem):
                self._expression(child.context_expr, (*where, ("context_expr", None)), spot, seen)
            elif isinstance(child, ast.expr) and not _is_docstring(node):
                self._expression(child, where, spot, seen)
            elif isinstance(child, ast.stmt) and where[-1][1] == 0:
                self._body_of(node, field, position, around, names)

    def _body_of(self, node: ast.AST, field: str, position: Place, around: Visible, names: Locals) -> None:
        self._body(getattr(node, field), (*position, (field, 0)), around, names)

    def _function(self, node: Function, spot: Spot) -> None:
        for name in ("defaults", "kw_defaults"):
            for index, default in enumerate(getattr(node.args, name)):
                if default is not None:
                    self._expression(default, (*spot.position, ("args", None), (name, index)), spot, spot.visible)
        if self._context.scope:
            inner = spot.visible.within(parameters(node.args))
            self._body(node.body, (*spot.position, ("body", 0)), inner, Locals(node.body, inner.near))

    def _expression(self, node: ast.expr, position: Place, up: Spot, visible: Visible) -> None:
        inner = visible
        if isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            inner = visible.within(_targets(node.generators))
        elif isinstance(node, ast.Lambda):
            inner = visible.within(parameters(node.args))
        spot = self._spot(node, position, up, visible)
        if isinstance(node, ast.JoinedStr):
            self._walk_text(node, spot, visible)
        for _, child, where in _children(node, position):
            if isinstance(child, ast.comprehension):
                self._comprehension(child, where, spot, inner)
            elif isinstance(child, ast.keyword):
                self._expression(child.value, (*where, ("value", None)), self._spot(child, where, spot, visible), inner)
            elif isinstance(child, ast.expr):
                self._expression(child, where, spot, inner)

    def _walk_text(self, node: ast.JoinedStr, spot: Spot, visible: Visible) -> None:
        """Visit the expressions of an f-string, but not those of its format specifications."""
        for index, part in enumerate(node.values):
            if isinstance(part, ast.FormattedValue):
                self._expression(part.value, (*spot.position, ("values", index), ("value", None)), spot, visible)

    def _comprehension(self, node: ast.comprehension, position: Place, up: Spot, inner: Visible) -> None:
        spot = self._spot(node, position, up, inner)
        # The iterable of the first `for` is evaluated outside; later iterables see the earlier variables.
        sees = up.visible if position[-1][1] == 0 else inner
        self._expression(node.iter, (*position, ("iter", None)), spot, sees)
        for index, condition in enumerate(node.ifs):
            self._expression(condition, (*position, ("ifs", index)), spot, inner)

    def _spot(self, node: ast.AST, position: Place, up: Spot, visible: Visible) -> Spot:
        lines = self._context.lines
        quoted = up.quoted or isinstance(up.node, ast.JoinedStr)
        # Python 3.11 does not give the line of an expression inside a long f-string.
        line = up.line if quoted else getattr(node, "lineno", up.line)
        line = line if line in lines else up.line
        is_replaceable = isinstance(node, ast.expr) and _is_whole(node, position[-1][0])
        spot = Spot(
            position=position,
            node=node,
            up=up,
            line=line,
            statement=up.statement,
            visible=visible,
            is_replaceable=is_replaceable,
            quoted=quoted,
        )
        if line in lines:
            self._spots.append(spot)
        return spot


def _of_method(owner: ast.ClassDef, function: Function) -> Visible:
    given = parameters(function.args)
    static = any(isinstance(item, ast.Name) and item.id == "staticmethod" for item in function.decorator_list)
    if not given or static:
        return Visible(near=given)
    return Visible(near=given, owner=given[0], attributes=attributes(owner), methods=methods(owner))


def _children(node: ast.AST, position: Place) -> Iterator[tuple[str, ast.AST, Place]]:
    left_out = _SKIPPED.get(type(node), ())
    for field, value in ast.iter_fields(node):
        if field in left_out:
            continue
        if isinstance(value, ast.AST):
            yield field, value, (*position, (field, None))
        elif isinstance(value, list):
            for index, item in enumerate(value):
                if isinstance(item, ast.AST):
                    yield field, item, (*position, (field, index))


def _is_whole(node: ast.expr, field: str) -> bool:
    """Check whether any expression may replace the node."""
    if isinstance(node, ast.Slice | ast.Starred | ast.Yield | ast.YieldFrom) or field == "func":
        return False
    if isinstance(node, ast.Tuple) and any(isinstance(item, ast.Slice) for item in node.elts):
        return False
    return isinstance(getattr(node, "ctx", None), ast.Load | None)


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _targets(generators: Iterable[ast.comprehension]) -> list[str]:
    return [node.id for generator in generators for node in ast.walk(generator.target) if isinstance(node, ast.Name)]


_INTEGERS = ("range", "chr", "bin", "hex")
_ITERATING = (
    "list",
    "set",
    "tuple",
    "sorted",
    "sum",
    "any",
    "all",
    "enumerate",
    "zip",
    "reversed",
    "iter",
    "frozenset",
)


def expect_kind(spot: Spot, kinds: Kinds) -> Kind:
    """Return the kind of value that the place of an expression needs; unknown if the place needs no particular kind."""
    parent = spot.parent
    if isinstance(parent, ast.Slice):
        return INT
    if isinstance(parent, ast.Subscript):
        holder = kinds.of(parent.value)
        return INT if spot.field == "slice" and holder and holder <= SEQUENCE else UNKNOWN
    if isinstance(parent, ast.Compare):
        return _comparand(spot, parent, kinds)
    if isinstance(parent, ast.BinOp) and not isinstance(parent.op, ast.Mult | ast.Mod):
        return kinds.of(parent.right if spot.field == "left" else parent.left)
    if isinstance(parent, ast.AugAssign) and spot.field == "value" and not isinstance(parent.op, ast.Mult | ast.Mod):
        return kinds.of(parent.target)
    if spot.field == "iter":
        return ITERABLE
    if isinstance(parent, ast.Call) and isinstance(parent.func, ast.Name):
        return INT if parent.func.id in _INTEGERS else ITERABLE if parent.func.id in _ITERATING else UNKNOWN
    return UNKNOWN


def _comparand(spot: Spot, parent: ast.Compare, kinds: Kinds) -> Kind:
    if any(isinstance(op, ast.In | ast.NotIn) for op in parent.ops):
        if spot.field == "comparators":
            return ITERABLE | MAPPING
        return kinds.of_name(f"{ast.unparse(parent.comparators[0])}[]")
    others = [kinds.of(node) for node in (parent.left, *parent.comparators) if node is not spot.node]
    kind = frozenset[str]().union(*others)
    return kind - NONE


Node = TypeVar("Node", bound=ast.AST)


class ExpressionView:
    """All spots of a scope, outer ones first in the order of the text."""

    def __init__(self, context: EditContext) -> None:
        self.context = context
        self.file: FileView = file_view(context.tree)
        self.outside: Outside = self.file.outside
        self.spots = tuple(Walk(context).spots())

    @cached_property
    def kinds(self) -> Kinds:
        """Kinds of the scope's expressions."""
        return infer(list(ast.walk(self.root)), self.outside, self.context.kinds)

    def of(self, *types: type[Node]) -> Iterator[tuple[Spot, Node]]:
        """Yield the spots whose nodes have one of these types, with the nodes."""
        for spot in self.spots:
            if isinstance(spot.node, types):
                yield spot, spot.node

    @cached_property
    def values(self) -> tuple[tuple[Spot, ast.expr], ...]:
        """Spots where any other expression may be put, with their nodes."""
        return tuple(
            (spot, spot.node) for spot in self.spots if spot.is_replaceable and isinstance(spot.node, ast.expr)
        )

    @property
    def root(self) -> ast.AST:
        """The function of the scope, or the module."""
        return at(self.context.tree, self.context.scope)

    def kind(self, node: ast.AST) -> Kind:
        """Return the kind of an expression of the tree."""
        return self.kinds.of(node)

    def choose_kind(self, spot: Spot) -> Kind:
        """Return the kinds that fit a spot: the present kind and the kind that the place needs. Unknown means any kind.

        If only the truth value counts, any kind fits.
        """
        if spot.truth:
            return UNKNOWN
        here = self.kinds.of(spot.node)
        return here | expect_kind(spot, self.kinds) if here else UNKNOWN

    def text(self, node: ast.AST) -> str:
        """Return the source text of a node of the tree."""
        return self.file.text(node)


@once
def expression_view(context: EditContext) -> ExpressionView:
    """Return the view of a scope's expressions; cached, because all operators on a scope use the same view."""
    return ExpressionView(context)


def expression_operator(
    most: int | None = None,
) -> Callable[[Callable[[ExpressionView], Iterable[Edit]]], EditOperator]:
    """Make an edit operator from a function that makes edits from the view of a scope.

    Args:
        most: maximum number of edits, for operators whose number of edits grows quadratically. The edits with the
            greatest weight and suspicion are kept.
    """

    def operator_of(make: Callable[[ExpressionView], Iterable[Edit]]) -> EditOperator:
        @wraps(make)
        def operator(context: EditContext) -> Iterator[Edit]:
            edits, lines = make(expression_view(context)), context.lines
            if most is not None:
                edits = heapq.nlargest(most, edits, key=lambda edit: edit.weight * (0.02 + lines.get(edit.line, 0.0)))
            yield from edits

        return operator

    return operator_of
