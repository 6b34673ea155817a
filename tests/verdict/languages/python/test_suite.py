from __future__ import annotations

import ast
import re
import sys

import pytest

from nightshift.verdict.languages.plan import Role, SuiteFile
from nightshift.verdict.languages.python import suite
from nightshift.verdict.languages.python.pytest_settings import PytestSettings
from nightshift.verdict.languages.python.suite import Surroundings


def prepare(
    tests: dict[str, str], paths: tuple[str, ...] = (), settings: PytestSettings | None = None
) -> list[SuiteFile]:
    around = Surroundings(settings=settings or PytestSettings(), texts="\n".join(tests.values()), paths=paths)
    return list(suite.prepare(Role.GIVEN, tests, around))


def only(text: str, path: str = "tests/test_a.py", paths: tuple[str, ...] = ()) -> SuiteFile:
    (found,) = prepare({path: text}, paths)
    return found


SIMPLE = """from app import f

def test_one():
    assert f(1) == 1

class TestX:
    def test_two(self):
        assert f(2) == 2
"""


def test_names_are_other_ones_in_each_run_and_lines_stay_where_they_are() -> None:
    one, two = only(SIMPLE), only(SIMPLE)
    assert one.staged != two.staged != one.path
    assert one.staged.startswith("tests/test_")
    assert set(one.names.values()) == {"test_one", "TestX::test_two"}
    assert not one.names.keys() & two.names.keys()
    assert not {"test_one", "TestX::test_two"} & one.names.keys()
    assert [line.partition("(")[2] for line in one.text.split("\n")] == [
        line.partition("(")[2] for line in SIMPLE.split("\n")
    ]
    assert one.original == SIMPLE


def test_each_test_has_a_copy_under_the_same_random_name_in_another_file() -> None:
    found = only(SIMPLE)
    assert found.must_fail_path not in {found.staged, found.path}
    assert found.must_fail_names == found.names.keys()
    assert found.copied
    ast.parse(found.must_fail_text)
    expected = [re.findall(r"== (-?\d+)", text) for text in (found.text, found.must_fail_text)]
    assert all(one != other for one, other in zip(*expected, strict=True))


@pytest.mark.parametrize(
    "text",
    [
        "def test_one(request):\n    assert request.node.name == 'test_one'\n",
        "def test_one():\n    test_one.calls = 1\n    assert test_one.calls == 1\n",
        "import inspect\ndef test_one():\n    assert inspect.stack()[0][3] == 'test_one'\n",
        "def test_one():\n    'Says test_one.'\n    assert 1 == 1\n",
        "from hypothesis import given\n@given(x)\ndef test_one(x):\n    assert x == x\n",
    ],
)
def test_a_test_whose_name_may_matter_keeps_it(text: str) -> None:
    assert set(only(text).names) == {"test_one"}


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("from pathlib import Path\nD = Path(__file__).with_suffix('.json')\ndef test_x(): assert 1 == 1\n", ()),
        ("def test_x(): assert __file__\n", ()),
        ("def test_x(datadir): assert datadir\n", ()),
        ("def test_x(): assert 1 == 1\n", ("tests/data/test_a/in.json",)),
        ("def test_x(): assert 1 == 1\n", ("tests/__snapshots__/test_a.ambr",)),
    ],
)
def test_a_file_whose_name_may_matter_keeps_it_and_has_a_canary(text: str, paths: tuple[str, ...]) -> None:
    found = only(text, paths=paths)
    assert found.staged == found.path
    assert not found.copied
    assert not found.must_fail_names & found.names.keys()
    assert found.must_fail_text.count("def ") == 1


@pytest.mark.parametrize(
    "text",
    [
        "from pathlib import Path\nD = Path(__file__).parent / 'data'\ndef test_x(): assert 1 == 1\n",
        "from pathlib import Path\nD = Path(__file__).resolve().parent\ndef test_x(): assert 1 == 1\n",
        "import os\nD = os.path.dirname(os.path.abspath(__file__))\ndef test_x(): assert 1 == 1\n",
        "def test_a(): assert 1 == 1\n",
    ],
)
def test_asking_for_the_folder_is_no_reason_to_keep_a_name(text: str) -> None:
    assert only(text, paths=("tests/test_a.py", "tests/test_ab.py")).staged != "tests/test_a.py"


def test_a_file_that_another_imports_keeps_its_name() -> None:
    shared, other = prepare({
        "tests/test_shared.py": "def test_s(): assert 1 == 1\n",
        "tests/test_other.py": "from tests.test_shared import test_s\ndef test_o(): assert 1 == 1\n",
    })  # fmt: skip
    assert shared.staged == "tests/test_shared.py"
    assert other.staged != "tests/test_other.py"


@pytest.mark.parametrize("text", [SIMPLE, "def test_x(): assert __file__\n"])
def test_a_file_alone_has_neither_a_copy_nor_a_canary(text: str) -> None:
    found = only(text)
    alone = found.alone()
    assert (alone.must_fail_path, alone.must_fail_text, alone.must_fail_names, alone.copied) == (
        "",
        "",
        frozenset(),
        False,
    )
    assert (alone.staged, alone.text, alone.names) == (found.staged, found.text, found.names)


def test_only_test_files_are_prepared_and_all_python_files_where_no_name_says_so() -> None:
    tests = {"tests/test_a.py": SIMPLE, "tests/helpers.py": "def test_no(): pass\n", "tests/data.json": "{}"}
    assert [file.path for file in prepare(tests)] == ["tests/test_a.py"]
    assert [file.path for file in prepare({"checks.py": SIMPLE, "conftest.py": ""})] == ["checks.py"]


def test_a_repositorys_own_patterns_hold_for_random_names() -> None:
    settings = PytestSettings(files=("check_*.py",), functions=("check_*",), classes=("*Checks",))
    (found,) = prepare({"check_a.py": "def check_one():\n    assert f() == 1\n"}, settings=settings)
    assert settings.is_suite(found.staged)
    assert all(settings.is_function(name) for name in found.names)


def test_what_is_no_python_is_staged_as_it_is() -> None:
    found = only("def test_a(:\n")
    assert (found.staged, found.outline, found.must_fail_path) == (found.path, None, "")


def test_libraries_that_the_seal_must_see_are_loaded_first() -> None:
    assert only("import unittest.mock\nfrom hypothesis import given\nimport json\n").preload == {
        "unittest",
        "hypothesis",
    }


def test_the_tests_are_searched_once_for_all_their_names() -> None:
    text = "".join(f"def test_{n}():\n    assert {n} == {n}\n\n\n" for n in range(100))
    searches = list[str]()
    sys.setprofile(lambda _frame, event, called: searches.append(getattr(called, "__name__", "") * (event == "c_call")))
    try:
        found = only(text)
    finally:
        sys.setprofile(None)
    assert len(found.names) == 100
    assert not found.names.keys() & set(found.names.values())
    assert searches.count("findall") < 10
