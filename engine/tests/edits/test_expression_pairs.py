"""Small faults and their fixes, in `expression_pairs.txt`: each fix is among the edits, and early enough."""

import ast
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from nightshift_engine.edit import EditContext, vocabulary
from nightshift_engine.edits import EXPRESSION_EDITS
from nightshift_engine.edits.names import names
from nightshift_engine.tree import scopes

MARK = re.compile(r"«(.*?)→(.*?)»", re.DOTALL)
"""A fault and its mend in a program."""
CASES = [
    pytest.param(program, int(bound), id=f"{family}-{number}")
    for number, case in enumerate((Path(__file__).parent / "expression_pairs.txt").read_text().split("\n== ")[1:])
    for head, _, program in [case.partition("\n")]
    for family, _, bound in [head.partition(": ")]
]


def context_of(text: str, kinds: Mapping[str, frozenset[str]] | None = None, name: str | None = None) -> EditContext:
    """Make the context of a program's first scope, or of the scope with this name, with all its lines suspected."""
    tree = ast.parse(text)
    scope = next(each for each in scopes(tree) if name is None or each.name == name)
    lines = dict.fromkeys(scope.lines, 1.0)
    return EditContext(
        path="a.py", tree=tree, scope=scope.position, lines=lines, kinds=kinds or {}, words=vocabulary(text)
    )


def rank(marked: str) -> int:
    """Return the number of the fix among all edits, the likeliest first."""
    broken, mended = MARK.sub(r"\1", marked), ast.parse(MARK.sub(r"\2", marked))
    line = marked[: marked.index("«")].count("\n") + 1
    around = [scope.name for scope in scopes(ast.parse(broken)) if scope.position and line in scope.lines]
    context = context_of(broken, name=around[0] if around else "")
    edits = sorted((edit for make in EXPRESSION_EDITS for edit in make(context)), key=lambda edit: -edit.weight)
    bare = _bare(ast.unparse(mended))
    for number, edit in enumerate(edits, start=1):
        text = ast.unparse(edit.apply(context.tree))
        # Parsing is slow, and texts that differ in more than parentheses cannot be the same program.
        if _bare(text) == bare and ast.dump(ast.parse(text)) == ast.dump(mended):
            return number
    raise AssertionError(f"none of {len(edits)} edits makes\n{ast.unparse(mended)}")


def _bare(text: str) -> str:
    return text.replace("(", "").replace(")", "")


@pytest.mark.parametrize(("program", "most"), CASES)
def test_the_mend_comes_early_among_all_edits(program: str, most: int) -> None:
    assert rank(program) <= most


def test_other_kinds_than_were_seen_come_late_unless_a_kind_was_wrong() -> None:
    kinds = {"n": frozenset({"int"}), "word": frozenset({"str"}), "m": frozenset({"int"})}
    context = context_of("def f(n, word, m):\n    return n + 1\n", kinds)
    weights = {edit.note: edit.weight for edit in names(context)}
    assert weights["`n` becomes `m`"] > 10 * weights["`n` becomes `word`"]
    broken = replace(context, errors=(("TypeError", "unsupported operand type(s) for +: 'int' and 'str'"),))
    weights = {edit.note: edit.weight for edit in names(broken)}
    assert weights["`n` becomes `m`"] < 5 * weights["`n` becomes `word`"]


def test_a_name_that_has_no_value_yet_may_become_any_variable() -> None:
    text = "def f(word):\n    for part in letters.split():\n        letters = [part]\n    return letters\n"
    context = context_of(text, {"letters": frozenset({"list"}), "word": frozenset({"str"})})
    message = "cannot access local variable 'letters' where it is not associated with a value"
    broken = replace(context, errors=(("UnboundLocalError", message),))
    best = max(names(broken), key=lambda edit: edit.weight)
    assert best.note == "`letters` becomes `word`"
    assert best.line == 2
