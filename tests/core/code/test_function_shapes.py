"""The fingerprint of a function depends on its structure and ignores details such as names."""

from __future__ import annotations

import pytest

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


def digest(text: str) -> str:
    (shape,) = shapes(text)
    return shape.digest


@pytest.mark.parametrize(
    ("old", "new"), [("total", "add_up"), ("result", "x"), ("Add them up.", "Sums."), ("rate)", "rate: float)")]
)
def test_names_docstrings_and_annotations_do_not_count(old: str, new: str) -> None:
    assert digest(TEXT.replace(old, new)) == digest(TEXT)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("> 0", ">= 0"), ("= 0\n", "= 0.0\n"), ("round", "floor"),
        ("price * rate", "rate * price"), ("+=", "-="),
    ],
)  # fmt: skip
def test_constants_operators_foreign_names_and_which_name_is_which_count(old: str, new: str) -> None:
    assert old in TEXT
    assert digest(TEXT.replace(old, new)) != digest(TEXT)


def test_a_function_is_named_with_its_line_wherever_it_stands() -> None:
    text = "class Till:\n" + "\n".join("    " + line if line else "" for line in TEXT.strip().split("\n"))
    (shape,) = shapes(text)
    assert (shape.name, shape.line, shape.digest) == ("total", 2, digest(TEXT))
