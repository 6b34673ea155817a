from __future__ import annotations

import ast
import random
import re
import sys
from types import ModuleType
from typing import Any

import pytest

from sandbox.inside import twin
from sandbox.source import Source
from verdict.copies import HELPER, must_fail_copy
from verdict.outline import Function


def run_copy(text: str, name: str = "test_it", **values: Any) -> None:
    """Run one test of a module's copy, with the helper where the sandbox has it."""
    source = Source(text)
    tests = [node for node in source.tree.body if isinstance(node, Function) and node.name.startswith("test")]
    copy = must_fail_copy(source, tests, random.Random(3))
    module = ModuleType("copy")
    vars(module).update(values)
    sys.modules[HELPER.partition(".")[0]] = sys.modules[HELPER] = twin
    try:
        exec(compile(copy, "copy", "exec"), vars(module))
        vars(module)[name]()
    finally:
        del sys.modules[HELPER], sys.modules[HELPER.partition(".")[0]]


class Anything:
    """Equal to everything."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = object.__hash__


PASSING = [
    "def test_it():\n    assert f(1) == 2\n",
    "def test_it():\n    for n in (1, 2):\n        assert f(n) == n + 1\n",
    "def test_it():\n    for n in ():\n        assert f(n) == n + 1\n",
    "def test_it():\n    f(1)\n",
    "def test_it():\n    if f(1) == 2:\n        return\n    assert False\n",
    "def check(g):\n    assert g(1) == 2\ndef test_it():\n    check(f)\n",
    '"""Doc."""\nfrom __future__ import annotations\ndef test_it():\n    two = 2\n    assert f(1) == two\n',
    "def test_it():\n    x = [f(n) for n in (1, 2)]\n    assert x\n    assert len(x) == len([1, 2])\n",
]


@pytest.mark.parametrize("text", PASSING)
def test_the_copy_of_a_passing_test_fails_by_an_assertion(text: str) -> None:
    values: dict[str, Any] = {"f": lambda n: n + 1}
    exec(text, values)
    values["test_it"]()
    with pytest.raises(AssertionError):
        run_copy(text, f=lambda n: n + 1)


@pytest.mark.parametrize("text", [PASSING[0], PASSING[1], PASSING[5], PASSING[6]])
def test_the_copy_passes_for_an_object_that_is_equal_to_everything(text: str) -> None:
    run_copy(text, f=lambda n: Anything())


def test_coroutines_and_methods_keep_their_form() -> None:
    text = "class TestX:\n    async def test_a(self, tmp_path):\n        await f()\n"
    source = Source(text)
    node = source.tree.body[0]
    assert isinstance(node, ast.ClassDef)
    method = node.body[0]
    assert isinstance(method, ast.AsyncFunctionDef)
    copy = must_fail_copy(source, [method], random.Random(1))
    assert "    @_" in copy
    assert "    async def test_a(self, tmp_path):\n        await f()\n" in copy


def test_nothing_but_one_expected_value_tells_a_copy_from_its_original() -> None:
    text = '"""Doc."""\nfrom app import f\n\n\ndef test_it():\n    f(0)\n    assert f(1) == 2\n'
    source = Source(text)
    node = source.tree.body[2]
    assert isinstance(node, ast.FunctionDef)
    copies = {must_fail_copy(source, [node], random.Random(seed)) for seed in range(40)}
    assert len(copies) > 2
    for copy in copies:
        found = re.fullmatch(re.escape(text).replace("==\\ 2", r"==\ (-?\d)"), copy)
        assert found, copy
        assert 0 < abs(int(found[1]) - 2) < 4


def test_a_value_that_cannot_be_changed_has_its_comparison_turned_round() -> None:
    class Point:
        def __init__(self, x: int) -> None:
            self.x = x

        def __eq__(self, other: object) -> bool:
            return bool(self.x == other.x)  # type: ignore[attr-defined]  # as such code is written

        __hash__ = None  # type: ignore[assignment]  # follows from __eq__

    helper = twin.Twin()
    assert helper.differ(Point(1), Point(1)) is False
    assert helper.differ([Point(1)], [Point(1)]) is False
    assert helper.differ(float("inf"), float("inf")) is False
    assert helper.differ(2, 2) is False
    assert helper.differ(Anything(), 2) is True
