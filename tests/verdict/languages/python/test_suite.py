from __future__ import annotations

import ast
import random

from nightshift.verdict.languages.python.pytest_settings import PytestSettings
from nightshift.verdict.languages.python.suite import copy_tests, suite_paths

SIMPLE = """from app import f

def test_one():
    assert f(1) == 1

class TestX:
    def test_two(self):
        assert f(2) == 2
"""


def test_the_tests_among_some_files_are_found_by_their_names() -> None:
    tests = {"tests/test_a.py": "", "tests/helper.py": "", "tests/data.json": ""}
    assert suite_paths(tests, PytestSettings()) == ["tests/test_a.py"]
    assert suite_paths({"check.py": "", "conftest.py": ""}, PytestSettings()) == ["check.py"]


def test_the_copy_has_the_same_names_and_other_expectations() -> None:
    copied_tests = copy_tests(SIMPLE, PytestSettings(), random.Random(1))
    assert copied_tests is not None
    copy, names = copied_tests
    assert names == {"test_one", "TestX::test_two"}
    ast.parse(copy)
    assert "assert f(1) == 1\n" not in copy
    assert "assert f(2) == 2\n" not in copy


def test_what_is_no_python_has_no_copy() -> None:
    assert copy_tests("def test_a(:\n", PytestSettings(), random.Random(1)) is None
