import ast
import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nightshift_engine.quick import quick_fixes
from nightshift_engine.quick.fix import fault_of
from nightshift_engine.quick.syntax import syntax_fixes
from tests.support import tiers

CASES = [
    # Cases of wrong brackets and quotes.
    ("print(len([1, 2])\n", "print(len([1, 2]))\n"),
    ("def f(a, b:\n    return a\n", "def f(a, b):\n    return a\n"),
    ("if len(values > 3:\n    pass\n", "if len(values) > 3:\n    pass\n"),
    ("x = [1, 2)\n", "x = [1, 2]\n"),
    ("values = [1]\nx = values0]\n", "values = [1]\nx = values[0]\n"),
    ("def add(one, two):\n    return maxone, two)\n", "def add(one, two):\n    return max(one, two)\n"),
    ("name = 'anna\nprint(name)\n", "name = 'anna'\nprint(name)\n"),
    ('def f():\n    """Say it.\n    return 1\n', 'def f():\n    """Say it."""\n    return 1\n'),
    # Cases of colons, commas and comparisons, and of words from old Python or other languages.
    ("def f(x)\n    return x\n", "def f(x):\n    return x\n"),
    ("if x = 3:\n    pass\n", "if x == 3:\n    pass\n"),
    ("print 'a', x\n", "print('a', x)\n"),
    ("values = [1, 2 3]\n", "values = [1, 2, 3]\n"),
    ("names = [\n    'a',\n    b\n    'c',\n]\n", "names = [\n    'a',\n    b,\n    'c',\n]\n"),
    ("if a:\n    pass\nelse if b:\n    pass\n", "if a:\n    pass\nelif b:\n    pass\n"),
    ("if !a:\n    pass\n", "if not a:\n    pass\n"),
    ("try:\n    f()\nexcept IOError, e:\n    g()\n", "try:\n    f()\nexcept IOError as e:\n    g()\n"),
    ("x = “hello”\n", 'x = "hello"\n'),
    # Cases of wrong indentation.
    ("def f():\nreturn 1\n", "def f():\n    return 1\n"),
    ("def f():\n    x = 1\n     return x\n", "def f():\n    x = 1\n    return x\n"),
    ("def f():\n    x = 1\nreturn x\n", "def f():\n    x = 1\n    return x\n"),
    ("def f():\n\tx = 1\n        return x\n", "def f():\n        x = 1\n        return x\n"),
    ("def f():\n", "def f():\n    pass\n"),
    (
        "def f(y):\n    t = 0\n    for x in y:\n        t += x\nreturn t\n",
        "def f(y):\n    t = 0\n    for x in y:\n        t += x\n    return t\n",
    ),
    # Cases of text around the code.
    ("```python\ndef f():\n    return 1\n```\n", "def f():\n    return 1\n"),
    ("This is the mended code.\ndef f():\n    return 1\n", "def f():\n    return 1\n"),
]  # fmt: skip

PROGRAM = '''"""Rows of a table."""

import math

WIDTHS = {"name": 12, "size": [3, 4]}


class Table:
    """Rows with a title."""

    def __init__(self, title, rows=None):
        self.title = title
        self.rows = list(rows or [])

    def add(self, row):
        if len(row) != len(WIDTHS):
            raise ValueError("a row needs " + str(len(WIDTHS)) + " cells")
        self.rows.append(tuple(row))
        return self

    def widest(self, column):
        best = 0
        for row in self.rows:
            best = max(best, len(str(row[column])))
        return best


def average(values):
    """The mean of some numbers."""
    total = 0
    for value in values:
        if value is None:
            continue
        elif math.isnan(value):
            return None
        total += value
    return total / len(values) if values else 0


def pairs(values):
    found = []
    index = 0
    while index + 1 < len(values):
        found.append((values[index], values[index + 1]))
        index += 2
    return {"pairs": found, "rest": values[index:]}
'''


@pytest.mark.parametrize(("broken", "mended"), CASES)
def test_a_small_fault_is_mended_first(broken: str, mended: str) -> None:
    first = next(syntax_fixes("a.py", broken))
    assert ast.dump(ast.parse(first.text)) == ast.dump(ast.parse(mended)), first
    assert first.kind == "syntax"
    assert first.note


def test_a_text_that_compiles_is_left_alone() -> None:
    assert not list(syntax_fixes("a.py", PROGRAM))
    assert not list(quick_fixes({"a.py": PROGRAM}, []))


def test_two_faults_in_one_text_are_mended_together() -> None:
    broken = PROGRAM.replace("def add(self, row):", "def add(self, row)").replace(
        "for value in values:", "for value in values"
    )
    first = next(syntax_fixes("a.py", broken))
    assert ast.dump(ast.parse(first.text)) == ast.dump(ast.parse(PROGRAM))


def break_at(kind: str, choice: int) -> str:
    """Return the program without one of its brackets, colons, quotes, commas or indents."""
    if kind == "indent":
        lines = PROGRAM.split("\n")
        deep = [index for index, line in enumerate(lines) if line.startswith("    ")]
        index = deep[choice % len(deep)]
        return "\n".join([*lines[:index], lines[index][4:], *lines[index + 1 :]])
    signs = {"bracket": "()[]{}", "colon": ":", "quote": '"', "comma": ","}[kind]
    indices = [index for index, sign in enumerate(PROGRAM) if sign in signs]
    index = indices[choice % len(indices)]
    return PROGRAM[:index] + PROGRAM[index + 1 :]


@given(kind=st.sampled_from(["bracket", "colon", "indent", "quote", "comma"]), choice=st.integers(0, 400))
@settings(max_examples=tiers.examples(40), deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_whatever_is_answered_compiles(kind: str, choice: int) -> None:
    for fix in syntax_fixes("a.py", break_at(kind, choice)):
        assert fault_of(fix.text) is None


@pytest.mark.parametrize(("kind", "share"), [("bracket", 0.9), ("indent", 0.8)])
def test_the_program_comes_back_as_it_was(kind: str, share: float) -> None:
    """Break a program by one deletion, and check how often the first answer restores the original program."""
    wanted = ast.dump(ast.parse(PROGRAM))
    every = {text for choice in range(200) if fault_of(text := break_at(kind, choice)) is not None}
    some = random.Random(7).sample(sorted(every), min(40, len(every)))
    first = [next(syntax_fixes("a.py", text), None) for text in some]
    good = sum(1 for fix in first if fix and ast.dump(ast.parse(fix.text)) == wanted)
    assert good >= share * len(some), f"{good} of {len(some)}"
