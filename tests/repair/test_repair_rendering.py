"""What differs is written anew; what stays keeps its text, to the byte."""

from __future__ import annotations

import ast

import pytest

from repair.sources import render

TEXT = '''"""Prices."""

import math  # rounding


def total(items, rate):
    """Sum with tax."""
    result = 0   # in cents
    for name, price in items:  # each of them
        if price  >  0 and name != "gift":
            result += ( price
                        * 1 )  # once

    return math.floor(result * (1 + rate))


class Till:
    @property
    def full(self):
        return self.count == 100
'''


def edited(old: str, new: str, text: str = TEXT) -> ast.Module:
    assert text.count(old) == 1
    return ast.parse(text.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("price  >  0", "price  >=  0"),
        ('name != "gift"', 'name == "gift"'),
        ('name != "gift"', 'name not in "gift"'),
        ("result += (", "result -= ("),
        ("result = 0 ", "result = 1 "),
        ("1 + rate", "1 - rate"),
        ("math.floor", "math.ceil"),
        ("(result * ", "((result + 1) * "),
        ('"gift"', '"free"'),
        ("self.count == 100", "self.count >= 100"),
        ("name, price in items", "name, price in sorted(items)"),
        ("result += ( price", "result += ( rate"),
    ],
)
def test_an_expression_or_a_sign_is_replaced_and_nothing_else(old: str, new: str) -> None:
    assert render(TEXT, edited(old, new)) == TEXT.replace(old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    result = 0   # in cents\n", ""),
        ("    result = 0   # in cents\n", "    result = 0   # in cents\n    rate = rate or 0\n"),
        ('"""Sum with tax."""\n', '"""Sum with tax."""\n    if not items:\n        return 0\n'),
        (")  # once\n", ")  # once\n    result = abs(result)\n"),
        ("import math  # rounding\n", "import math  # rounding\nimport os\n"),
    ],
)
def test_statements_are_put_in_and_taken_out_by_lines(old: str, new: str) -> None:
    assert render(TEXT, edited(old, new)) == TEXT.replace(old, new)


def test_a_moved_statement_keeps_its_text() -> None:
    text = "def f(a):\n    b = [ a,1 ]\n    print( 'x' )\n    return b\n"
    moved = "def f(a):\n    print( 'x' )\n    b = [ a,1 ]\n    return b\n"
    assert render(text, ast.parse(moved)) == moved


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("x = a * b\n", "x = (a + c) * b\n"),
        (
            "if a:\n    x = 1\nelif b:\n    x = 2\nelse:\n    x = 3\n",
            "if a:\n    x = 1\nelif not b:\n    x = 2\nelse:\n    x = 3\n",
        ),
        ("if a:\n    x = 1\nelif b:\n    x = 2\n", "if a:\n    x = 1\nwhile b:\n    x = 2\n"),
        ("if a:\n    x = 1\n", "if a:\n    x = 1\nelse:\n    x = 2\n"),
        ("a = 1; b = 2\n", "a = 1; b = 3\n"),
        ("a = 1; b = 2\n", "b = 2\n"),
        ("def f(): return 1\n", "def f():\n    x = 1\n    return x\n"),
        ("x = f'{a!r} {b:>{w}}'\n", "x = f'{a!r} {c:>{w}}'\n"),
        ("s = 'ä' + t[1:]\n", "s = 'ä' + t[2:]\n"),
        ("return_ = x if y else z\n", "return_ = x if not y else z\n"),
        ("def f(x, y=[]):\n    pass\n", "def f(x, y=None):\n    pass\n"),
        ("x = (yield)\n", "x = (yield from y)\n"),
    ],
)
def test_whatever_is_wanted_is_what_the_text_reads_as(text: str, wanted: str) -> None:
    if text.startswith("x = (yield"):
        text, wanted = f"def f():\n    {text}", f"def f():\n    {wanted}"
    made = render(text, ast.parse(wanted))
    assert ast.dump(ast.parse(made)) == ast.dump(ast.parse(wanted))


def test_new_text_takes_the_quotation_marks_of_the_file() -> None:
    text = 'def f(a):\n    return a.strip(" ")\n'
    assert render(text, ast.parse("def f(a):\n    return a.split('-')\n")) == 'def f(a):\n    return a.split("-")\n'
