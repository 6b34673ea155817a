"""Reading a stub: whether a function is a stub, its remaining text, and the examples of its docstring."""

from __future__ import annotations

import ast

import pytest

from nightshift_engine import stubs
from nightshift_engine.stubs import Stub
from nightshift_engine.synthesis import write


def read(text: str, scope: str = "f") -> Stub:
    stub = stubs.read(text, scope)
    assert isinstance(stub, Stub), stub
    return stub


def test_bodies_that_say_nothing_are_stubs() -> None:
    bodies = ("pass", "...", "return None", "return", "raise NotImplementedError", "raise NotImplementedError('later')")
    for body in (*bodies, '"""What it does."""', '"""What it does."""\n    pass'):
        assert read(f"def f(x):\n    {body}\n").parameters == ("x",)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("def f(x):\n    return x\n", "has a body"),
        ("async def f(x):\n    pass\n", "a coroutine"),
        ("class A:\n    def f(self):\n        pass\n", "not a top-level function of the module"),
        ("def f(:\n", "not valid Python"),
    ],
)
def test_anything_else_is_told_apart(text: str, why: str) -> None:
    refusal = stubs.read(text, "f")
    assert isinstance(refusal, str)
    assert why in refusal


def test_signature_decorators_and_docstring_stay_as_they_are() -> None:
    head = '@cache\ndef f(x: int,  # odd\n      *, y: str = "a") -> int:\n    """Say\n    it."""'
    stub = read(f"import functools\ncache = functools.cache\n\n{head}\n    pass\n\n\ndef g():\n    return 1\n")
    text = write(stub, "if x:\n    return 1\nreturn len(y)")
    assert text == f"{head}\n    if x:\n        return 1\n    return len(y)\n"
    assert stub.parameters == ("x", "y")


def test_a_body_on_the_line_of_its_signature_moves_to_the_next() -> None:
    assert write(read("def f(x): ...\n"), "return x") == "def f(x):\n    return x\n"
    ast.parse(write(read("def f(x):\n\tpass\n"), "if x:\n    return 1\nreturn 2"))


def test_examples_come_from_doctests_and_from_prose() -> None:
    doc = (
        "Add.\n\n    >>> f(1, 2)\n    3\n    >>> f(2)\n    4\n    >>> f(open('x'), 1)\n    9\n\n"
        "    So f(5, y=5) == 10, `f(3, 3) -> 6`, and f([1], [2]) gives [1, 2].\n    f(x, y) is nothing.\n"
    )
    stub = read(f'def f(x, y=2):\n    """{doc}    """\n    pass\n')
    assert set(map(repr, stub.examples)) == {
        "((1, 2), 3)", "((2, 2), 4)", "((5, 5), 10)", "((3, 3), 6)", "(([1], [2]), [1, 2])",
    }  # fmt: skip


def test_nothing_of_a_docstring_is_run() -> None:
    doc = ">>> f(__import__('os').getpid())\n    1\n    f((lambda: 1)()) == 2, f(10 ** 10 ** 10) == 3"
    assert read(f'def f(x):\n    """Do.\n\n    {doc}\n    """\n').examples == ()


def test_constants_are_quoted_texts_code_and_numbers_of_the_docstring() -> None:
    stub = read('def f(x, sep):\n    """From the 4th on put \'-\' for `sep` or `ab`, `2.5` at most."""\n')
    assert set(stub.constants) == {"4", "'-'", "'ab'", "2.5"}
