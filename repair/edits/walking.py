"""Walks through a scope and finds its spots, with the names that are visible at each."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from repair.edits.spot import Spot
from repair.ground import Ground
from repair.scoping import Locals, Visible, attributes, methods, parameters
from repair.tree import Function, Place, at

_SKIPPED = {
    ast.AnnAssign: ("target", "annotation"),
    ast.NamedExpr: ("target",),
    ast.ExceptHandler: ("type",),
    ast.match_case: ("pattern",),
    ast.keyword: (),
    ast.Delete: ("targets",),
    ast.JoinedStr: ("values",),  # see `_quoted`
}


class Walk:
    """Goes through the statements of a scope, knowing the names that are visible."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._found: list[Spot] = []

    def spots(self) -> list[Spot]:
        """The spots of the scope, outer ones first."""
        scope = at(self._ground.tree, self._ground.scope)
        if isinstance(scope, Function):
            visible = Visible(near=parameters(scope.args))
            owner = self._owner()
            if owner is not None:
                visible = _of_method(owner, scope)
            self._body(scope.body, (*self._ground.scope, ("body", 0)), visible, Locals(scope.body, visible.near))
        else:
            body = self._ground.tree.body
            self._body(body, (("body", 0),), Visible(), Locals(body))
        return self._found

    def _owner(self) -> ast.ClassDef | None:
        holder = at(self._ground.tree, self._ground.scope[:-1]) if len(self._ground.scope) > 1 else None
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

    def _statement(self, node: ast.stmt, place: Place, seen: Visible, around: Visible, names: Locals) -> None:
        line = getattr(node, "lineno", 0)
        spot = Spot(place=place, node=node, up=None, line=line, statement=node, visible=seen, whole=False)
        if line in self._ground.lines and not isinstance(node, Function | ast.ClassDef):
            self._found.append(spot)
        if isinstance(node, Function):
            self._function(node, spot)
            return
        if isinstance(node, ast.ClassDef):
            self._body(node.body, (*place, ("body", 0)), seen, Locals(node.body, seen.near))
            return
        for field, child, where in _children(node, place):
            if isinstance(child, ast.ExceptHandler | ast.match_case):
                if isinstance(child, ast.match_case) and child.guard:
                    self._expression(child.guard, (*where, ("guard", None)), spot, seen)
                self._body_of(child, "body", where, around, names)
            elif isinstance(child, ast.withitem):
                self._expression(child.context_expr, (*where, ("context_expr", None)), spot, seen)
            elif isinstance(child, ast.expr) and not _is_docstring(node):
                self._expression(child, where, spot, seen)
            elif isinstance(child, ast.stmt) and where[-1][1] == 0:
                self._body_of(node, field, place, around, names)

    def _body_of(self, node: ast.AST, field: str, place: Place, around: Visible, names: Locals) -> None:
        self._body(getattr(node, field), (*place, (field, 0)), around, names)

    def _function(self, node: Function, spot: Spot) -> None:
        for name in ("defaults", "kw_defaults"):
            for index, default in enumerate(getattr(node.args, name)):
                if default is not None:
                    self._expression(default, (*spot.place, ("args", None), (name, index)), spot, spot.visible)
        if self._ground.scope:
            inner = spot.visible.within(parameters(node.args))
            self._body(node.body, (*spot.place, ("body", 0)), inner, Locals(node.body, inner.near))

    def _expression(self, node: ast.expr, place: Place, up: Spot, visible: Visible) -> None:
        inner = visible
        if isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            inner = visible.within(_targets(node.generators))
        elif isinstance(node, ast.Lambda):
            inner = visible.within(parameters(node.args))
        spot = self._spot(node, place, up, visible)
        if isinstance(node, ast.JoinedStr):
            self._quoted(node, spot, visible)
        for _, child, where in _children(node, place):
            if isinstance(child, ast.comprehension):
                self._comprehension(child, where, spot, inner)
            elif isinstance(child, ast.keyword):
                self._expression(child.value, (*where, ("value", None)), self._spot(child, where, spot, visible), inner)
            elif isinstance(child, ast.expr):
                self._expression(child, where, spot, inner)

    def _quoted(self, node: ast.JoinedStr, spot: Spot, visible: Visible) -> None:
        """The expressions of an f-string; what tells their format is left alone."""
        for index, part in enumerate(node.values):
            if isinstance(part, ast.FormattedValue):
                self._expression(part.value, (*spot.place, ("values", index), ("value", None)), spot, visible)

    def _comprehension(self, node: ast.comprehension, place: Place, up: Spot, inner: Visible) -> None:
        spot = self._spot(node, place, up, inner)
        # The iterable of the first `for` is evaluated outside, and those of later ones see the earlier variables.
        sees = up.visible if place[-1][1] == 0 else inner
        self._expression(node.iter, (*place, ("iter", None)), spot, sees)
        for index, condition in enumerate(node.ifs):
            self._expression(condition, (*place, ("ifs", index)), spot, inner)

    def _spot(self, node: ast.AST, place: Place, up: Spot, visible: Visible) -> Spot:
        lines = self._ground.lines
        quoted = up.quoted or isinstance(up.node, ast.JoinedStr)
        # Python 3.11 does not tell on which line of a long f-string an expression stands.
        line = up.line if quoted else getattr(node, "lineno", up.line)
        line = line if line in lines else up.line
        whole = isinstance(node, ast.expr) and _is_whole(node, place[-1][0])
        spot = Spot(
            place=place,
            node=node,
            up=up,
            line=line,
            statement=up.statement,
            visible=visible,
            whole=whole,
            quoted=quoted,
        )
        if line in lines:
            self._found.append(spot)
        return spot


def _of_method(owner: ast.ClassDef, function: Function) -> Visible:
    given = parameters(function.args)
    static = any(isinstance(item, ast.Name) and item.id == "staticmethod" for item in function.decorator_list)
    if not given or static:
        return Visible(near=given)
    return Visible(near=given, owner=given[0], attributes=attributes(owner), methods=methods(owner))


def _children(node: ast.AST, place: Place) -> Iterator[tuple[str, ast.AST, Place]]:
    left_out = _SKIPPED.get(type(node), ())
    for field, value in ast.iter_fields(node):
        if field in left_out:
            continue
        if isinstance(value, ast.AST):
            yield field, value, (*place, (field, None))
        elif isinstance(value, list):
            for index, item in enumerate(value):
                if isinstance(item, ast.AST):
                    yield field, item, (*place, (field, index))


def _is_whole(node: ast.expr, field: str) -> bool:
    """Whether any expression may stand in its stead."""
    if isinstance(node, ast.Slice | ast.Starred | ast.Yield | ast.YieldFrom) or field == "func":
        return False
    if isinstance(node, ast.Tuple) and any(isinstance(item, ast.Slice) for item in node.elts):
        return False
    return isinstance(getattr(node, "ctx", None), ast.Load | None)


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _targets(generators: Iterable[ast.comprehension]) -> list[str]:
    return [node.id for generator in generators for node in ast.walk(generator.target) if isinstance(node, ast.Name)]
