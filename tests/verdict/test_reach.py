from __future__ import annotations

import ast

import pytest

from verdict.outline import Function
from verdict.reach import helpers_of, reached


def sort(text: str) -> tuple[list[str], list[str]]:
    """The statements that are reached for certain and perhaps, of the last function of a module."""
    tree = ast.parse(text)
    test = tree.body[-1]
    assert isinstance(test, Function)
    found = reached(test, helpers_of(tree))
    return [ast.unparse(s) for s in found.certain], [ast.unparse(s) for s in found.possible]


@pytest.mark.parametrize(
    ("body", "certain", "possible"),
    [
        ("a()\n    b()", ["a()", "b()"], []),
        ("if x:\n        a()\n    b()", ["b()"], ["a()"]),
        ("if x:\n        return\n    b()", [], ["b()"]),
        ("for x in y:\n        a()\n    b()", ["b()"], ["a()"]),
        ("a()\n    return\n    b()", ["a()"], []),
        ("with open('x') as f:\n        a()\n    b()", ["a()", "b()"], []),
        ("with pytest.raises(ValueError):\n        a()\n    b()", ["b()"], []),
        ("with self.subTest():\n        a()\n    b()", ["b()"], []),
        ("try:\n        a()\n    except OSError:\n        pass\n    b()", ["b()"], []),
        ("try:\n        a()\n    except OSError:\n        return\n    b()", [], ["b()"]),
        ("def inner():\n        a()\n    inner()\n    b()", ["inner()", "a()", "b()"], []),
        ("while x:\n        if y:\n            break\n        a()", [], ["a()"]),
        ("match x:\n        case 1:\n            a()\n        case _:\n            b()", [], ["a()", "b()"]),
    ],
)
def test_statements_are_sorted_by_whether_they_are_reached(body: str, certain: list[str], possible: list[str]) -> None:
    assert sort(f"def test():\n    {body}\n") == (certain, possible)


def test_helpers_are_followed_when_they_are_called_for_certain() -> None:
    helpers = "def low():\n    c()\ndef check(x):\n    low()\n    a(x)\n    check(x)\n"
    assert sort(f"{helpers}def test():\n    check(1)\n")[0] == ["check(1)", "low()", "c()", "a(x)", "check(x)"]
    assert sort(f"{helpers}def test():\n    x = check(1)\n")[0][1:3] == ["low()", "c()"]
    assert sort(f"{helpers}def test():\n    if y:\n        check(1)\n") == (
        [],
        ["check(1)", "low()", "c()", "a(x)", "check(x)"],
    )


def test_coroutine_helpers_are_followed_when_awaited() -> None:
    text = "async def check():\n    a()\nasync def test():\n    await check()\n"
    assert sort(text)[0] == ["await check()", "a()"]


@pytest.mark.parametrize(
    "elsewhere",
    [
        "VALUE = check(1)\n",
        "@check\ndef other(): pass\n",
        "@pytest.fixture\ndef thing():\n    check(1)\n",
    ],
)
def test_helpers_that_others_use_as_well_are_left_alone(elsewhere: str) -> None:
    text = f"def check(x):\n    a(x)\n{elsewhere}def test():\n    check(1)\n"
    assert sort(text)[0] == ["check(1)"]
