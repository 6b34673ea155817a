"""Statements made from constants of a file and its tests: conditions on texts and records, expected exceptions."""

import ast

from nightshift_engine.edit import EditContext, vocabulary
from nightshift_engine.edits import STATEMENT_EDITS
from nightshift_engine.edits.exits import flow
from nightshift_engine.tree import Function, places


def context_of(source: str, tests: str = "", errors: tuple[tuple[str, str], ...] = (), **kinds: str) -> EditContext:
    tree = ast.parse(source)
    position, node = [(position, node) for position, node in places(tree) if isinstance(node, Function)][-1]
    lines = dict.fromkeys(range(node.lineno, (node.end_lineno or 0) + 1), 1.0)
    seen = {variable: frozenset({kind}) for variable, kind in kinds.items()}
    return EditContext(
        path="a.py",
        tree=tree,
        scope=position,
        lines=lines,
        kinds=seen,
        words=vocabulary(source, [tests]),
        errors=errors,
    )


def rank(context: EditContext, wanted: str) -> int:
    """Return how many edits, from all operators combined, are tried before the one that produces the wanted text."""
    text = ast.unparse(ast.parse(wanted))
    edits = sorted((edit for make in STATEMENT_EDITS for edit in make(context)), key=lambda edit: -edit.weight)
    numbers = [index for index, edit in enumerate(edits) if ast.unparse(edit.apply(context.tree)) == text]
    assert numbers, f"none of {len(edits)} edits makes\n{text}"
    return numbers[0]


PORTIONS = """
def portions(amount, guests):
    return amount / guests
"""


def test_an_exception_that_tests_name_is_raised_with_the_words_that_they_look_for() -> None:
    tests = 'def test_none():\n    with pytest.raises(ValueError, match="nobody came"):\n        portions(3, 0)\n'
    ended = (("ZeroDivisionError", "division by zero"),)
    context = context_of(PORTIONS, tests, ended, amount="int", guests="int")
    wanted = PORTIONS.replace("    return", "    if guests < 1:\n        raise ValueError('nobody came')\n    return")
    assert rank(context, wanted) < 120


def test_a_continue_gets_the_condition_that_a_record_gives() -> None:
    source = """
def open_orders(orders):
    found = []
    for order in orders:
        continue
        found.append(order["name"])
    return found
"""
    tests = 'assert open_orders([{"name": "tea", "void": True}, {"name": "jam", "void": False}]) == ["jam"]'
    wanted = source.replace("        continue", "        if order.get('void'):\n            continue")
    assert rank(context_of(source, tests), wanted) < 60


def test_lines_that_begin_with_a_word_of_the_tests_are_passed_over() -> None:
    source = """
def spoken(lines):
    found = []
    for line in lines:
        found.append(line.strip())
    return found
"""
    tests = 'assert spoken(["# quiet", "loud"]) == ["loud"]\nassert spoken(["#", "a"]) == ["a"]\nMARK = "#"\n'
    wanted = source.replace("        found", "        if line.startswith('#'):\n            continue\n        found")
    assert rank(context_of(source, tests, line="str"), wanted) < 400


def test_handlers_take_what_ended_a_test_alone_and_anything_as_well() -> None:
    source = """
def number(text):
    try:
        return int(text)
    except TypeError:
        return None
"""
    context = context_of(source, errors=(("ValueError", "invalid literal"),))
    weights = {ast.unparse(edit.apply(context.tree)).splitlines()[3].strip(): edit.weight for edit in flow(context)}
    assert weights["except (TypeError, ValueError):"] > weights["except ValueError:"] > weights["except Exception:"]
