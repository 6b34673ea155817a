"""Small faults and their fixes, in `statement_pairs.txt`: each fix is among the edits, and early enough."""

import ast
from pathlib import Path

import pytest

from nightshift_engine.edit import EditContext
from nightshift_engine.edits import STATEMENT_EDITS
from nightshift_engine.edits.guards import guards
from nightshift_engine.tree import Function, places


def both(difference: str) -> tuple[str, str]:
    lines = difference.strip("\n").splitlines()
    broken, mended = ("\n".join(line[2:] for line in lines if line[:1] != sign) for sign in "+-")
    return broken, mended


def context_of(source: str, **more: object) -> EditContext:
    """Make the context of the last function that contains no other function."""
    tree = ast.parse(source)
    functions = [(position, node) for position, node in places(tree) if isinstance(node, Function)]
    inner = {id(part) for _, node in functions for part in ast.walk(node) if part is not node}
    position, node = [each for each in functions if id(each[1]) not in inner][-1]
    lines = dict.fromkeys(range(node.lineno, (node.end_lineno or 0) + 1), 1.0)
    return EditContext(path="a.py", tree=tree, scope=position, lines=lines, **more)  # type: ignore[arg-type]


def rank(difference: str, **more: object) -> int:
    """Return the number of edits that are tried before the fix, all operators together."""
    broken, mended = both(difference)
    wanted = ast.unparse(ast.parse(mended))
    context = context_of(broken, **more)
    edits = sorted((edit for make in STATEMENT_EDITS for edit in make(context)), key=lambda edit: -edit.weight)
    for index, edit in enumerate(edits):
        if ast.unparse(edit.apply(context.tree)) == wanted:
            return index
    raise AssertionError(f"none of {len(edits)} edits makes\n{wanted}")


CASES = [
    pytest.param(case.partition("\n")[2], int(bound), id=f"{family}-{number}")
    for number, case in enumerate((Path(__file__).parent / "statement_pairs.txt").read_text().split("\n== ")[1:])
    for family, _, bound in [case.partition("\n")[0].partition(": ")]
]


@pytest.mark.parametrize(("difference", "bound"), CASES)
def test_the_mend_is_among_the_first_edits(difference: str, bound: int) -> None:
    assert rank(difference) < bound


def test_kinds_that_were_seen_bring_bounds_together() -> None:
    difference = """
  def search(values, wanted, low, high):
+     if low > high:
+         return None
      middle = (low + high) // 2
      if values[middle] == wanted:
          return middle
      if values[middle] < wanted:
          return search(values, wanted, middle + 1, high)
      return search(values, wanted, low, middle - 1)
"""
    kinds = {"low": frozenset({"int"}), "high": frozenset({"int"}), "values": frozenset({"list"})}
    assert rank(difference, kinds=kinds) < 900
    endless = (("RecursionError", "maximum recursion depth exceeded"),)
    assert rank(difference, kinds=kinds, errors=endless) < 250


def test_a_guard_speaks_of_no_variable_that_has_no_value_yet() -> None:
    context = context_of("def middle(low, high):\n    half = (low + high) // 2\n    return half\n")
    first = [edit for edit in guards(context) if edit.position[-1] == ("body", 0)]
    assert first
    assert not any("half" in edit.note for edit in first)


def test_an_exception_that_a_test_waits_for_in_vain_is_raised() -> None:
    difference = """
  def share(total, people):
+     if people <= 0:
+         raise ValueError('invalid argument')
      return total / people
"""
    missed = (("Failed", "DID NOT RAISE <class 'ValueError'>"),)
    assert rank(difference, kinds={"people": frozenset({"int"})}, errors=missed) < 60
