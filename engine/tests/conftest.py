"""Helpers of the edits' tests: a small program with a fault, and the rank of the edit that fixes it."""

import ast
import re
import sys
from collections.abc import Callable, Mapping, Sequence

import pytest

from nightshift.sandbox import inside
from nightshift_engine.edit import Edit, EditContext, EditOperator, vocabulary
from nightshift_engine.tree import scopes

# The engine's code inside the sandbox imports its neighbours by the package name `nightshift_inside`.
sys.modules.setdefault("nightshift_inside", inside)

MARK = re.compile(r"«(.*?)→(.*?)»", re.DOTALL)
Seen = Mapping[str, frozenset[str]]


def context_of(text: str, kinds: Seen | None = None, scope: str | None = None) -> EditContext:
    """Make the context of a program's first scope, or of the scope with this name, with all its lines suspected."""
    tree = ast.parse(text)
    first_scope = next(option for option in scopes(tree) if scope is None or option.name == scope)
    return EditContext(
        path="a.py",
        tree=tree,
        scope=first_scope.position,
        lines=dict.fromkeys(first_scope.lines, 1.0),
        kinds=kinds or {},
        words=vocabulary(text),
    )


def edits_of(context: EditContext, operators: Sequence[EditOperator]) -> list[Edit]:
    """List all edits, the likeliest first."""
    edits = [edit for operator in operators for edit in operator(context)]
    return sorted(edits, key=lambda edit: -edit.weight)


def rank(marked: str, operators: Sequence[EditOperator], kinds: Seen | None = None) -> int | None:
    """Return the rank of the fix among all edits, or None if no edit is the fix.

    A fault and its fix are marked as «fault→fix» in the program.
    """
    slip, mend = MARK.sub(r"\1", marked), MARK.sub(r"\2", marked)
    scope = _scope_of(slip, marked)
    context = context_of(slip, kinds, scope)
    wanted = ast.parse(mend)
    bare = _bare(ast.unparse(wanted))
    for number, edit in enumerate(edits_of(context, operators), start=1):
        text = ast.unparse(edit.apply(context.tree))
        # Parsing is slow, and texts that differ in more than parentheses cannot be the same program.
        if _bare(text) == bare and ast.dump(ast.parse(text)) == ast.dump(wanted):
            return number
    return None


def _bare(text: str) -> str:
    return text.replace("(", "").replace(")", "")


def _scope_of(slip: str, marked: str) -> str:
    """Return the name of the scope that contains the first mark."""
    line = marked[: marked.index("«")].count("\n") + 1
    inside = [scope for scope in scopes(ast.parse(slip)) if scope.position and line in scope.lines]
    return inside[0].name if inside else ""


@pytest.fixture(scope="session")
def mend_rank() -> Callable[..., int | None]:
    """Return the function that finds the rank of a fix among the edits, ordered by weight."""
    return rank


@pytest.fixture(scope="session")
def context_for() -> Callable[..., EditContext]:
    """Return the function that makes the context of a program."""
    return context_of
