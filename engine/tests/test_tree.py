"""Trees share nodes and are never changed."""

from __future__ import annotations

import ast

from hypothesis import given
from hypothesis import strategies as st

from nightshift_engine.tree import at, places, replace, splice

TEXT = """
def f(a, b=2):
    if a > b:
        return [a for a in range(b) if a]
    elif a:
        b += 1
    try:
        del b
    except ValueError as error:
        raise KeyError from error
    return {**a, 'k': b[1:2]}
"""
TREE = ast.parse(TEXT)
EXPRESSIONS = [
    position
    for position, node in places(TREE)
    if isinstance(node, ast.expr) and isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
]
STATEMENTS = [position for position, node in places(TREE) if isinstance(node, ast.stmt) and position]


def test_every_node_has_one_place_that_leads_to_it() -> None:
    pairs = list(places(TREE))
    assert len({position for position, _ in pairs}) == len(pairs)
    assert all(at(TREE, position) is node for position, node in pairs)


@given(st.sampled_from(EXPRESSIONS))
def test_a_replacement_changes_one_place_and_leaves_the_old_tree_alone(
    position: tuple[tuple[str, int | None], ...],
) -> None:
    before = ast.dump(TREE)
    new = replace(TREE, position, ast.Name(id="zz", ctx=ast.Load()))
    assert ast.dump(TREE) == before
    assert isinstance(at(new, position), ast.Name)
    assert ast.unparse(new).count("zz") == 1
    shared = {id(node) for _, node in places(TREE)} & {id(node) for _, node in places(new)}
    assert len(shared) > 10, "what lies apart from the way is shared"


@given(st.sampled_from(STATEMENTS), st.integers(0, 1))
def test_statements_are_put_in_and_taken_out(position: tuple[tuple[str, int | None], ...], count: int) -> None:
    before = ast.dump(TREE)
    new = splice(TREE, position, count, [ast.parse("zz = 1").body[0]])
    assert ast.dump(TREE) == before
    ast.parse(ast.unparse(new))
    gone = splice(new, position, 1, [])
    ast.parse(ast.unparse(gone))
    if not count:
        assert ast.dump(gone) == before


def test_a_body_that_loses_its_last_statement_passes() -> None:
    tree = ast.parse("if a:\n    b()\n")
    assert ast.unparse(splice(tree, (("body", 0), ("body", 0)), 1, [])) == "if a:\n    pass"
