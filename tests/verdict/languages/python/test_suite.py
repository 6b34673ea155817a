from __future__ import annotations

import random

from nightshift.verdict.languages.python.pytest_settings import PytestSettings
from nightshift.verdict.languages.python.suite import copy_tests, suite_paths


def test_the_tests_among_some_files_are_found_by_their_names() -> None:
    tests = {"tests/test_a.py": "", "tests/helper.py": "", "tests/data.json": ""}
    assert suite_paths(tests, PytestSettings()) == ["tests/test_a.py"]
    assert suite_paths({"check.py": "", "conftest.py": ""}, PytestSettings()) == ["check.py"]


def test_what_is_no_python_has_no_copy() -> None:
    assert copy_tests("def test_a(:\n", PytestSettings(), random.Random(1)) is None
