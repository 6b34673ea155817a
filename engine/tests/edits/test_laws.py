"""Laws of every edit: it compiles, it changes something, and it leaves the original tree and other places alone."""

import ast
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from nightshift_engine.edit import Edit, EditContext, EditOperator, vocabulary
from nightshift_engine.edits import EXPRESSION_EDITS, STATEMENT_EDITS
from nightshift_engine.tree import at, scopes
from tests.support import tiers

PARTS = (Path(__file__).parent / "programs.txt").read_text().removeprefix("=== ").split("\n=== ")
PROGRAMS = {name: text for name, _, text in (part.partition("\n") for part in PARTS)}
EVERY = 3 if tiers.ALL else 9
"""The distance between the edits that are tried."""
FAMILIES = pytest.mark.parametrize(
    "operators", [EXPRESSION_EDITS, STATEMENT_EDITS], ids=["expressions", "statements"]
)  # fmt: skip


def contexts(text: str) -> Iterator[EditContext]:
    """Make a context of each scope of a program, with all lines of statements suspected."""
    tree = ast.parse(text)
    lines = dict.fromkeys((node.lineno for node in ast.walk(tree) if isinstance(node, ast.stmt)), 1.0)
    for scope in scopes(tree):
        yield EditContext(path="a.py", tree=tree, scope=scope.position, lines=lines, words=vocabulary(text))


def list_edits(context: EditContext, operators: Sequence[EditOperator]) -> list[Edit]:
    return [edit for operator in operators for edit in operator(context)]


@pytest.mark.parametrize("name", PROGRAMS)
@FAMILIES
def test_every_edited_tree_compiles_and_differs_and_the_original_stays(
    name: str, operators: Sequence[EditOperator]
) -> None:
    for context in contexts(PROGRAMS[name]):
        before, original = ast.dump(context.tree), ast.unparse(context.tree)
        for edit in list_edits(context, operators)[::EVERY]:
            text = ast.unparse(edit.apply(context.tree))
            assert text != original, edit.note
            assert edit.note
            assert 0 < edit.weight <= 1.2, edit
            assert edit.line in context.lines
            with warnings.catch_warnings():
                warnings.simplefilter("error" if operators is EXPRESSION_EDITS else "ignore")
                compile(text, "<edited>", "exec", dont_inherit=True)
        assert ast.dump(context.tree) == before


@pytest.mark.parametrize("name", PROGRAMS)
@FAMILIES
def test_edits_begin_only_in_lines_that_are_suspected(name: str, operators: Sequence[EditOperator]) -> None:
    for context in contexts(PROGRAMS[name]):
        lines = dict(list(context.lines.items())[::3])
        few = EditContext(path="a.py", tree=context.tree, scope=context.scope, lines=lines, words=context.words)
        assert {edit.line for edit in list_edits(few, operators)} <= lines.keys()


@pytest.mark.parametrize("name", PROGRAMS)
def test_edits_of_expressions_begin_inside_their_scope_and_never_in_heads_formats_or_annotations(name: str) -> None:
    for context in contexts(PROGRAMS[name]):
        for edit in list_edits(context, EXPRESSION_EDITS):
            assert edit.position[: len(context.scope)] == context.scope
            way = [at(context.tree, edit.position[:end]) for end in range(len(context.scope), len(edit.position))]
            fields = [field for field, _ in edit.position[len(context.scope) :]]
            assert not any(isinstance(node, ast.pattern) for node in way)
            assert not {"annotation", "returns", "decorator_list", "bases", "format_spec", "conversion"} & set(fields)
            if context.scope:
                assert fields[0] == "body"
            elif any(isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) for node in way):
                assert {"defaults", "kw_defaults"} & set(fields)


def test_a_tree_whose_new_nodes_have_no_locations_can_be_edited_again() -> None:
    context = next(contexts(PROGRAMS["market"]))
    for edit in list_edits(context, EXPRESSION_EDITS)[::199]:
        again = EditContext(path="a.py", tree=edit.apply(context.tree), scope=context.scope, lines=context.lines)
        for second in list_edits(again, EXPRESSION_EDITS)[::41]:
            assert ast.unparse(second.apply(again.tree))


def test_no_literal_is_held_by_identity_taken_an_item_from_or_a_condition() -> None:
    tree = ast.parse("def f(a: list, b):\n    c = a is b\n    d = a[0]\n    if b:\n        return [1], (2, 3), 4 * 5\n")
    context = EditContext(path="a.py", tree=tree, scope=(("body", 0),), lines=dict.fromkeys((2, 3, 4, 5), 1.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for edit in list_edits(context, EXPRESSION_EDITS):
            compile(ast.unparse(edit.apply(tree)), "a.py", "exec")
            condition = edit.position[-1] == ("test", None)
            assert not (condition and isinstance(edit.new[0], ast.List | ast.Tuple))


def test_edits_of_the_module_leave_functions_alone_but_for_shared_defaults() -> None:
    (context,) = (each for each in contexts(PROGRAMS["box"]) if not each.scope)
    module_edits = list_edits(context, STATEMENT_EDITS)
    assert "shared_default" in {edit.kind for edit in module_edits}
    line = PROGRAMS["box"].split("\n").index("    def open(self, parts={}):") + 1
    assert max(edit.line for edit in module_edits) == line, "a statement may be inserted before the function"
