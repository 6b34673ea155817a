from __future__ import annotations

import ast

from nightshift.verdict.languages.python.outline import Outline, outline
from nightshift.verdict.languages.python.pytest_settings import PytestSettings

UNITTEST = """import unittest
class Base(unittest.TestCase):
    def test_a(self): pass
    def check(self): pass
class More(Base):
    def test_b(self): pass
    def test_a(self): pass
"""


def of(text: str, settings: PytestSettings | None = None) -> Outline:
    return outline(ast.parse(text), settings or PytestSettings())


def test_functions_classes_and_nested_classes_are_listed() -> None:
    outline = of(
        "def test_a(): pass\nasync def test_b(): pass\ndef helper(): pass\n"
        "class TestX:\n    def test_c(self): pass\n    def helper(self): pass\n"
        "    class TestY:\n        def test_d(self): pass\n"
        "class Other:\n    def test_e(self): pass\n"
    )
    assert outline.required == {"test_a", "test_b", "TestX::test_c", "TestX::TestY::test_d"}


def test_unittest_classes_are_listed_with_what_they_inherit() -> None:
    assert of(UNITTEST).required == {"Base::test_a", "More::test_b", "More::test_a"}
    assert of(UNITTEST + "del Base\n").required == {"More::test_b", "More::test_a"}


def test_classes_that_pytest_passes_over_are_left_out() -> None:
    outline = of(
        "class TestMade:\n    def __init__(self): pass\n    def test_a(self): pass\n"
        "class TestHidden:\n    __test__ = False\n    def test_b(self): pass\n"
    )
    assert outline.required == frozenset()


def test_what_stands_under_a_condition_may_run_but_need_not() -> None:
    outline = of("if x():\n    def test_a(): pass\ntry:\n    pass\nexcept OSError:\n    def test_b(): pass\n")
    assert outline.required == frozenset()


def test_a_repositorys_own_patterns_count() -> None:
    settings = PytestSettings(functions=("check_*",), classes=("*Checks",))
    outline = of("def check_a(): pass\ndef test_b(): pass\nclass AddChecks:\n    def check_c(self): pass\n", settings)
    assert outline.required == {"check_a", "AddChecks::check_c"}
