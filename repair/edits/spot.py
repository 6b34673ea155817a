"""A spot: a node of a scope where an edit may begin, and the part that it plays there."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from repair.scoping import Visible
from repair.tree import Place


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Spot:
    """A node where an edit may begin. `field` and `index` tell where it stands in the node of `up`.

    `line` is its own, or that of its statement where only that was executed. `whole` tells that any other expression
    may stand there instead, `quoted` that it is inside of an f-string.
    """

    place: Place
    node: ast.AST
    up: Spot | None
    line: int
    statement: ast.stmt
    visible: Visible
    whole: bool
    quoted: bool = False

    @property
    def field(self) -> str:
        """The field of the parent that holds it."""
        return self.place[-1][0]

    @property
    def index(self) -> int:
        """Its index in a field that is a list; -1 elsewhere."""
        index = self.place[-1][1]
        return -1 if index is None else index

    @property
    def parent(self) -> ast.AST | None:
        """The node that holds it; none for a statement of the scope itself."""
        return self.up.node if self.up else None

    @property
    def truth(self) -> bool:
        """Whether only its truth counts: it is a condition, or a part of one."""
        parent = self.parent
        if isinstance(parent, ast.BoolOp) or (isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not)):
            assert self.up is not None
            return isinstance(parent, ast.UnaryOp) or self.up.truth
        return self.field in ("test", "ifs", "guard")

    @property
    def call(self) -> ast.Call | None:
        """The call of which it is an argument."""
        holder = self.up.up if self.up and isinstance(self.parent, ast.keyword) else self.up
        found = holder.node if holder and self.field != "func" else None
        return found if isinstance(found, ast.Call) else None
