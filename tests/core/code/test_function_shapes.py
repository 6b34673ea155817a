"""The fingerprint of a function depends on its structure and ignores details such as names."""

from __future__ import annotations

import ast
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nightshift.core.code.function_shapes import shapes

TEXT = '''
def total(prices, rate):
    """Add them up."""
    result = 0
    for price in prices:
        if price > 0:
            result += round(price * rate, 2)
    return result
'''
ROOT = Path(__file__).parents[3]


def digest(text: str) -> str:
    (shape,) = shapes(text)
    return shape.digest


@pytest.mark.parametrize(
    ("old", "new"),
    [("total", "add_up"), ("prices", "items"), ("result", "x"), ("Add them up.", "Sums."), ("rate)", "rate: float)")],
)
def test_names_docstrings_and_annotations_do_not_count(old: str, new: str) -> None:
    assert digest(TEXT.replace(old, new)) == digest(TEXT)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("> 0", ">= 0"), ("> 0", "> 1"), ("= 0\n", "= 0.0\n"), ("= 0\n", "= False\n"), ("round", "floor"),
        ("price * rate", "rate * price"), ("+=", "-="), ("return result", "return prices"),
    ],
)  # fmt: skip
def test_constants_operators_foreign_names_and_which_name_is_which_count(old: str, new: str) -> None:
    assert old in TEXT
    assert digest(TEXT.replace(old, new)) != digest(TEXT)


def test_small_functions_and_foreign_texts_have_none() -> None:
    assert shapes("def sub(a, b):\n    return a - b\n") == []
    assert shapes("def (") == []
    assert shapes("x = 1\n" * 100) == []


def test_a_function_is_named_with_its_line_wherever_it_stands() -> None:
    text = "class Till:\n" + "\n".join("    " + line if line else "" for line in TEXT.strip().split("\n"))
    (shape,) = shapes(text)
    assert (shape.name, shape.line, shape.digest) == ("total", 2, digest(TEXT))


@settings(deadline=None)  # No deadline: real functions may be long and the machine busy
@given(st.integers(0, 10**6))
def test_renaming_every_local_name_of_real_functions_changes_nothing(seed: int) -> None:
    texts = sorted((ROOT / "nightshift" / "core").rglob("*.py"))
    text = random.Random(seed).choice(texts).read_text()
    tree = ast.parse(text)
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        args = {arg.arg: f"{arg.arg}_{seed}" for arg in function.args.args}
        inner = [node for node in ast.walk(function) if isinstance(node, ast.FunctionDef | ast.Lambda)]
        if len(inner) == 1:  # This simple renaming does not handle names that an inner function hides
            for node in ast.walk(function):
                if isinstance(node, ast.Name):
                    node.id = args.get(node.id, node.id)
            for arg in function.args.args:
                arg.arg = args[arg.arg]
    assert [shape.digest for shape in shapes(ast.unparse(tree))] == [shape.digest for shape in shapes(text)]
