from __future__ import annotations

import pytest

from nightshift.verdict.languages.python import commands
from nightshift.verdict.languages.python.pytest_settings import PytestSettings

TESTS = ["tests/test_a.py", "tests/test_b.py", "tests/sub/test_c.py", "other/test_d.py"]
PATHS = ["app.py", *TESTS, "tests/helper.py"]


@pytest.mark.parametrize(
    ("argv", "files"),
    [
        (["pytest"], TESTS),
        (["/usr/bin/python3.12", "-B", "-m", "pytest", "tests/sub/"], ["tests/sub/test_c.py"]),
        (["pytest", "-n", "4", "--cov", "app", "tests/test_a.py"], ["tests/test_a.py"]),
        (["pytest", "tests/test_a.py::test_one"], ["tests/test_a.py"]),
        (["pytest", "-k", "one", "other"], ["other/test_d.py"]),
    ],
)  # fmt: skip
def test_pytest_commands_name_their_files(argv: list[str], files: list[str]) -> None:
    command = commands.parse(argv)
    assert command is not None
    assert command.files(PATHS, PytestSettings()) == files


def test_all_words_are_kept() -> None:
    command = commands.parse(["pytest", "-k", "a and b", "-m", "not slow", "--ignore=x", "-q", "tests"])
    assert command is not None
    assert command.words == ("-k", "a and b", "-m", "not slow", "--ignore=x", "-q", "tests")
    assert command.targets == ("tests",)


@pytest.mark.parametrize(
    "argv", [["make", "test"], ["python", "run.py"], ["python", "-m", "unittest"], ["sh", "-c", "pytest"], []]
)
def test_other_commands_are_not_pytest(argv: list[str]) -> None:
    assert commands.parse(argv) is None
