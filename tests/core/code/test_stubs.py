"""Stubs: functions whose body counts as empty."""

from __future__ import annotations

import ast

import pytest

from nightshift.core.code.parsing import is_stub


def function(body: str) -> ast.FunctionDef:
    lines = "".join(f"    {line}\n" for line in body.split("\n"))
    node = ast.parse(f"def f(x):\n{lines}").body[0]
    assert isinstance(node, ast.FunctionDef)
    return node


@pytest.mark.parametrize("body", ["pass", "...", '"""Say it."""\nreturn None', 'raise NotImplementedError("later")'])
def test_a_function_that_does_nothing_is_a_stub(body: str) -> None:
    assert is_stub(function(body))


@pytest.mark.parametrize("body", ["return 0", '"""Say it."""\nreturn x', "raise ValueError", "x\nreturn", "yield"])
def test_a_function_that_does_something_is_none(body: str) -> None:
    assert not is_stub(function(body))
