from __future__ import annotations

import ast
import random
import re
import sys
from types import ModuleType
from typing import Any

import pytest

from nightshift.sandbox.inside import must_fail
from nightshift.sandbox.source import Source
from nightshift.verdict.languages.python.copies import HELPER, helpers_of, must_fail_copy, sort_reached
from nightshift.verdict.languages.python.outline import Function


def run_copy(text: str, name: str = "test_it", **values: Any) -> None:
    """Run one test of a module's must-fail copy, with the helper module imported under its sandbox name."""
    source = Source(text)
    tests = [node for node in source.tree.body if isinstance(node, Function) and node.name.startswith("test")]
    copy = must_fail_copy(source, tests, random.Random(3))
    module = ModuleType("copy")
    vars(module).update(values)
    sys.modules[HELPER.partition(".")[0]] = sys.modules[HELPER] = must_fail
    try:
        exec(compile(copy, "copy", "exec"), vars(module))
        vars(module)[name]()
    finally:
        del sys.modules[HELPER], sys.modules[HELPER.partition(".")[0]]


class Anything:
    """An object that equals everything."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = object.__hash__


PASSING = [
    "def test_it():\n    for n in (1, 2):\n        assert f(n) == n + 1\n",
    "def test_it():\n    for n in ():\n        assert f(n) == n + 1\n",
    "def test_it():\n    if f(1) == 2:\n        return\n    assert False\n",
    "def check(g):\n    assert g(1) == 2\ndef test_it():\n    check(f)\n",
    '"""Doc."""\nfrom __future__ import annotations\ndef test_it():\n    two = 2\n    assert f(1) == two\n',
]


@pytest.mark.parametrize("text", PASSING)
def test_the_copy_of_a_passing_test_fails_by_an_assertion(text: str) -> None:
    values: dict[str, Any] = {"f": lambda n: n + 1}
    exec(text, values)
    values["test_it"]()
    with pytest.raises(AssertionError):
        run_copy(text, f=lambda n: n + 1)


@pytest.mark.parametrize("text", [PASSING[0], PASSING[3], PASSING[4]])
def test_the_copy_passes_for_an_object_that_is_equal_to_everything(text: str) -> None:
    run_copy(text, f=lambda n: Anything())


def test_nothing_but_one_expected_value_tells_a_copy_from_its_original() -> None:
    text = '"""Doc."""\nfrom app import f\n\n\ndef test_it():\n    f(0)\n    assert f(1) == 2\n'
    source = Source(text)
    node = source.tree.body[2]
    assert isinstance(node, ast.FunctionDef)
    copies = {must_fail_copy(source, [node], random.Random(seed)) for seed in range(40)}
    assert len(copies) > 2
    for copy in copies:
        match = re.fullmatch(re.escape(text).replace("==\\ 2", r"==\ (-?\d)"), copy)
        assert match, copy
        assert 0 < abs(int(match[1]) - 2) < 4


def test_a_value_that_cannot_be_changed_has_its_comparison_turned_round() -> None:
    class Point:
        def __init__(self, x: int) -> None:
            self.x = x

        def __eq__(self, other: object) -> bool:
            return bool(self.x == other.x)  # type: ignore[attr-defined]  # as such code is written

        __hash__ = None  # type: ignore[assignment]  # follows from __eq__

    helper = must_fail.MustFail()
    assert helper.differ(Point(1), Point(1)) is False
    assert helper.differ([Point(1)], [Point(1)]) is False
    assert helper.differ(float("inf"), float("inf")) is False
    assert helper.differ(2, 2) is False
    assert helper.differ(Anything(), 2) is True


def sort(text: str) -> tuple[list[str], list[str]]:
    """Return the statements that a module's last function certainly reaches, and those that it possibly reaches."""
    tree = ast.parse(text)
    test = tree.body[-1]
    assert isinstance(test, Function)
    reached = sort_reached(test, helpers_of(tree))
    return [ast.unparse(s) for s in reached.certain], [ast.unparse(s) for s in reached.possible]


@pytest.mark.parametrize(
    ("body", "certain", "possible"),
    [
        ("if x:\n        a()\n    b()", ["b()"], ["a()"]),
        ("if x:\n        return\n    b()", [], ["b()"]),
        ("a()\n    return\n    b()", ["a()"], []),
        ("with pytest.raises(ValueError):\n        a()\n    b()", ["b()"], []),
        ("try:\n        a()\n    except OSError:\n        return\n    b()", [], ["b()"]),
        ("def inner():\n        a()\n    inner()\n    b()", ["inner()", "a()", "b()"], []),
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


@pytest.mark.parametrize("seed", range(12))
def test_an_empty_text_is_changed_only_where_there_is_no_other_check(seed: int) -> None:
    """Avoids invalid values, because some objects parse the value that they are compared with.

    A set of versions, for example, may raise for an invalid text.
    """
    both = "def test_it():\n    assert f(1).name == 'a'\n    assert f(1).versions == ''\n    assert '' == f(1).extra\n"
    alone = "def test_it():\n    assert f(1).versions == ''\n"

    def changed(text: str) -> str:
        source = Source(text)
        (test,) = [node for node in source.tree.body if isinstance(node, Function)]
        return must_fail_copy(source, [test], random.Random(seed))

    assert "versions == ''" in changed(both)
    assert "'' == f(1).extra" in changed(both)
    assert "versions == ''" not in changed(alone)
