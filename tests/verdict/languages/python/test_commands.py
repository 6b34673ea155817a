from __future__ import annotations

import pytest

from nightshift.verdict.languages.python import commands
from nightshift.verdict.languages.python.pytest_settings import PytestSettings

TESTS = ["tests/test_a.py", "tests/test_b.py", "tests/sub/test_c.py", "other/test_d.py"]
PATHS = ["app.py", *TESTS, "tests/helper.py"]


@pytest.mark.parametrize(
    ("argv", "files", "takes_all"),
    [
        (["pytest"], TESTS, True),
        (["python", "-m", "pytest", "-q", "."], TESTS, True),
        (["/usr/bin/python3.12", "-B", "-m", "pytest", "tests/sub/"], ["tests/sub/test_c.py"], True),
        (["py.test", "./tests/test_a.py", "-x", "--tb=short"], ["tests/test_a.py"], True),
        (["pytest", "-n", "4", "--cov", "app", "tests/test_a.py"], ["tests/test_a.py"], True),
        (["pytest", "tests/test_a.py::test_one"], ["tests/test_a.py"], False),
        (["pytest", "-k", "one", "other"], ["other/test_d.py"], False),
        (["pytest", "--deselect=tests/test_a.py::test_x", "tests/test_a.py"], ["tests/test_a.py"], False),
    ],
)  # fmt: skip
def test_pytest_commands_name_their_files(argv: list[str], files: list[str], takes_all: bool) -> None:
    found = commands.parse(argv)
    assert found is not None
    assert found.files(PATHS, PytestSettings()) == files
    assert found.takes_all is takes_all


def test_options_that_select_are_kept() -> None:
    found = commands.parse(["pytest", "-k", "a and b", "-m", "not slow", "--ignore=x", "-q"])
    assert found is not None
    assert found.selecting == ("-k", "a and b", "-m", "not slow", "--ignore=x")


@pytest.mark.parametrize(
    "argv", [["make", "test"], ["python", "run.py"], ["python", "-m", "unittest"], ["sh", "-c", "pytest"], []]
)
def test_other_commands_are_not_pytest(argv: list[str]) -> None:
    assert commands.parse(argv) is None
