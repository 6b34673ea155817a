"""An edit: what it replaces by what, how likely it is, and how to say so."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from repair.ground import Ground
from repair.tree import Place, replaced, spliced


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """One edit of a tree.

    With `count` None the node at `place` is replaced by the one in `new`; else `count` statements from there on by
    those in `new` (0 inserts before).

    Attributes:
        kind: a stable short name, such as `comparison` or `off_by_one`.
        weight: how likely an edit of this kind mends a fault, before it is known where the fault lies. 1.0 is a usual
            slip such as a wrong comparison; 0.1 is tried ten times later.
        line: the line of the file whose suspicion it takes.
        note: what it does in a few words, with code in backquotes.
    """

    kind: str
    place: Place
    new: tuple[ast.AST, ...]
    count: int | None = None
    weight: float = 1.0
    line: int
    note: str = ""

    def apply(self, tree: ast.AST) -> Any:
        """The tree with this edit; the tree must be the one that the edit was made for."""
        if self.count is None:
            return replaced(tree, self.place, self.new[0])
        return spliced(tree, self.place, self.count, self.new)  # type: ignore[arg-type] # statements, by construction


Generator = Callable[[Ground], Iterator[Edit]]
"""Makes the edits of one family for a ground. The same edit may come from several; twins are tried once."""
