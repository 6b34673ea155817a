"""Base of the operators on statements: makes edits from proposals, removes duplicates, and keeps the likeliest."""

from __future__ import annotations

import ast
import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import wraps

from nightshift_engine.edit import Edit, EditContext, EditOperator
from nightshift_engine.edits.build import Piece, piece
from nightshift_engine.edits.statement_view import Block, Site, StatementView, statement_view
from nightshift_engine.tree import Place, at

MOST_CHOICES = 400
"""Maximum number of proposals for one expression."""
_AT_PASS = 3.0
_BLOCK_FIELDS = frozenset({"body", "orelse", "finalbody", "handlers", "cases"})


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementExpression:
    """An expression of a statement, with its place and its text."""

    site: Site
    position: Place
    node: ast.expr
    parent: ast.AST

    @property
    def piece(self) -> Piece:
        """The expression with its text."""
        return piece(self.node)


def statement_expressions(site: Site) -> Iterator[StatementExpression]:
    """Yield the expressions of a statement, without the expressions of statements inside it."""
    yield from _expressions(site, site.node, site.position)


def _expressions(site: Site, node: ast.AST, position: Place) -> Iterator[StatementExpression]:
    for field, value in ast.iter_fields(node):
        if node is site.node and field in _BLOCK_FIELDS:
            continue
        for index, child in enumerate(value) if isinstance(value, list) else ((None, value),):
            if not isinstance(child, ast.AST):
                continue
            below = (*position, (field, index))
            if isinstance(child, ast.expr):
                yield StatementExpression(site=site, position=below, node=child, parent=node)
            yield from _expressions(site, child, below)


def replacement(kind: str, spot: StatementExpression, new: Piece, weight: float, old: str = "") -> Edit:
    """Return the edit that replaces the expression at a spot."""
    note = f"`{old or spot.piece.text}` becomes `{new.text}`"
    return Edit(kind=kind, position=spot.position, new=(new.node,), weight=weight, line=spot.site.line, note=note)


def best_of(proposals: Iterable[tuple[Piece, float]], most: int) -> list[tuple[Piece, float]]:
    """Return the best proposals, at most `most`; of proposals with the same text, only the likeliest counts."""
    best: dict[str, tuple[Piece, float]] = {}
    for new, weight in proposals:
        if weight > best.get(new.text, (new, 0.0))[1]:
            best[new.text] = (new, weight)
    return heapq.nlargest(most, best.values(), key=lambda pair: pair[1])


def choices(kind: str, spot: StatementExpression, proposals: Iterable[tuple[Piece, float]]) -> Iterator[Edit]:
    """Yield an edit for each of the best proposals whose text differs from the present text.

    If a text is proposed several times, it becomes one edit with the greatest of its weights.
    """
    old = spot.piece.text
    best = best_of(proposals, MOST_CHOICES)
    return (replacement(kind, spot, new, weight, old) for new, weight in best if new.text != old)


def change(kind: str, site: Site, new: Sequence[ast.stmt], weight: float, note: str, count: int = 1) -> Edit:
    """Return the edit that replaces `count` statements from the site on."""
    return Edit(
        kind=kind, position=site.position, new=tuple(new), count=count, weight=weight, line=site.line, note=note
    )  # fmt: skip


def insert(kind: str, gap: tuple[Block, int, int], new: ast.stmt, weight: float, note: str) -> Edit:
    """Return the edit that inserts a statement at a gap between statements.

    At a `pass`, the edit replaces the `pass` and is likelier.
    """
    block, index, line = gap
    count = int(block.idle(index))
    weight = min(weight * (_AT_PASS if count else 1.0), 1.0)
    return Edit(kind=kind, position=block.position(index), new=(new,), count=count, weight=weight, line=line, note=note)


def statement_operator(most: int | None = None) -> Callable[[Callable[[StatementView], Iterable[Edit]]], EditOperator]:
    """Make an edit operator from a function that makes edits from the view of a scope.

    Args:
        most: maximum number of edits. The edits with the greatest product of weight and suspicion are kept.
    """

    def operator_of(make: Callable[[StatementView], Iterable[Edit]]) -> EditOperator:
        @wraps(make)
        def operator(context: EditContext) -> Iterator[Edit]:
            view = statement_view(context)
            edits = make(view)
            if most is not None:
                edits = heapq.nlargest(most, edits, key=lambda edit: edit.weight * view.suspicion(edit.line))
            yield from compilable(context, edits)

        return operator

    return operator_of


def compilable(context: EditContext, edits: Iterable[Edit]) -> Iterator[Edit]:
    """Yield the edits whose scope compiles.

    This is checked only if the scope has constructs that the operators ignore: `global`, `nonlocal`, `async def` and
    `except*`.
    """
    node = at(context.tree, context.scope)
    if not any(isinstance(part, _DELICATE) for part in ast.walk(node)):
        yield from edits
        return
    for edit in edits:
        try:
            compile(ast.unparse(at(edit.apply(context.tree), context.scope)), "<edit>", "exec", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError):
            continue
        yield edit


_DELICATE = ast.Global | ast.Nonlocal | ast.AsyncFunctionDef | ast.TryStar
