from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from nightshift.core.code.dependencies import ImportCache
from nightshift.core.tasks.verdicts import SuiteJob
from nightshift.sandbox.runtime import Runtime
from nightshift.verdict.findings.assets import subject_of
from nightshift.verdict.languages.plan import Plan, Role
from nightshift.verdict.languages.python import commands
from nightshift.verdict.languages.python import plan as python
from nightshift.verdict.languages.python.plan import plan_copies
from nightshift.verdict.languages.python.pytest_settings import PytestSettings
from nightshift.verdict.languages.python.suite import copy_tests, suite_paths
from tests.support.trees import TextTree

RUNTIME = Runtime(python=("python",), version="3.11", mounts=(), libraries=())
BASE = {
    "app.py": "import helper\n",
    "helper.py": "",
    "other.py": "",
    "conftest.py": "",
    "pytest.ini": "[pytest]\naddopts = -p plug --cov\npythonpath = lib\n",
    "tests/test_old.py": "import app\nimport time\n\n\ndef test_old():\n    assert app\n",
    "tests/test_given.py": "def test_outdated(): pass\n",
}
GIVEN = {"tests/test_given.py": "import app\n\n\ndef test_new():\n    assert app.x == 1\n", "tests/data.json": "{}"}


def make(change: dict[str, str | None] | None = None, base: dict[str, str] | None = None, **more: Any) -> Plan:
    job_fields = {"given": GIVEN, **more}
    job = SuiteJob(base=TextTree(BASE if base is None else base), change=change or {}, **job_fields)
    return python.make(job, ImportCache(), RUNTIME)


def test_tests_lie_where_their_owner_puts_them() -> None:
    suite_plan = make({"app.py": "x = 1\n"})
    (file,) = suite_plan.files
    assert file.path == "tests/test_given.py"
    assert suite_plan.texts == {"app.py": b"x = 1\n", **{path: text.encode() for path, text in GIVEN.items()}}
    assert suite_plan.removed == ()
    assert suite_plan.closure is None


def test_the_owner_s_settings_and_options_hold() -> None:
    suite_plan = make()
    assert suite_plan.words == ("--rootdir=.", "-c", "pytest.ini", "tests/test_given.py")
    assert suite_plan.paths == (".", "lib")
    assert suite_plan.has_conftest


def test_a_change_brings_no_settings() -> None:
    suite_plan = make({"conftest.py": "", "pytest.ini": "[pytest]\n"}, base={})
    assert suite_plan.words == ("--rootdir=.", "tests/test_given.py")
    assert not suite_plan.has_conftest
    assert set(suite_plan.dropped) == {"conftest.py", "pytest.ini"}
    granted = frozenset({subject_of("conftest.py", "")})
    suite_plan = make(
        {"conftest.py": "", "pytest.ini": "[pytest]\n"}, base={}, asked="Add a pytest.ini.", granted=granted
    )
    assert (suite_plan.words or ())[:3] == ("--rootdir=.", "-c", "pytest.ini")
    assert suite_plan.has_conftest


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("pytest", "-q"), ("-q",)),
        (("python", "-m", "pytest", "-k", "old", "tests/test_old.py"), ("-k", "old", "tests/test_old.py")),
        (("sh", "-c", "pytest"), None),
    ],
)
def test_the_owner_s_command_runs_as_he_types_it(command: tuple[str, ...], words: tuple[str, ...] | None) -> None:
    suite_plan = make(given={}, command=command)
    assert suite_plan.words == words
    assert suite_plan.command == (() if words is not None else command)
    assert suite_plan.is_module is (command[0] != "pytest")


def test_files_that_a_change_can_reach_are_added_to_those_that_a_command_names() -> None:
    suite_plan = make(given={}, command=("pytest", "tests/test_given.py"), regression=("tests/test_old.py",))
    assert suite_plan.words == ("tests/test_given.py", "tests/test_old.py")
    assert {file.path: file.role for file in suite_plan.files} == {
        "tests/test_given.py": Role.COMMAND, "tests/test_old.py": Role.REGRESSION,
    }  # fmt: skip


def test_a_tree_that_has_a_package_of_pytest_s_own_runs_in_a_process_that_has_imported_none() -> None:
    suite_plan = make(base={**BASE, "packaging/__init__.py": ""})
    assert suite_plan.words is None
    assert suite_plan.command[:3] == ("python", "-m", "pytest")


def test_copies_take_the_place_of_the_files_under_the_same_names() -> None:
    suite_plan = make(regression=("tests/test_old.py",))
    copies = plan_copies(suite_plan, (), (), lambda _: None)
    assert copies is not None
    assert copies.tests == {"tests/test_given.py::test_new"}
    assert copies.plan.words == ("--rootdir=.", "-c", "pytest.ini", "tests/test_given.py")
    text = copies.plan.texts["tests/test_given.py"].decode()
    assert "def test_new()" in text
    assert "assert app.x == 1" not in text
    assert plan_copies(replace(suite_plan, files=suite_plan.files[1:]), (), (), lambda _: None) is None


def test_the_tests_among_some_files_are_found_by_their_names() -> None:
    tests = {"tests/test_a.py": "", "tests/helper.py": "", "tests/data.json": ""}
    assert suite_paths(tests, PytestSettings()) == ["tests/test_a.py"]
    assert suite_paths({"check.py": "", "conftest.py": ""}, PytestSettings()) == ["check.py"]


def test_files_that_pytest_imports_under_the_same_name_run_apart() -> None:
    texts = dict.fromkeys(("a/tests/test_x.py", "b/tests/test_x.py", "b/tests/test_y.py", "c/tests/test_z.py"), "")
    packages = {f"{each}/tests/__init__.py": "" for each in "ac"}
    options = {"pytest.ini": "[pytest]\naddopts = --import-mode=importlib\n"}
    for more, groups in (({}, "0100"), (packages, "0001"), ({"b/__init__.py": "", **packages}, "0001"), (options, "")):
        planned = make({"app.py": ""}, {**texts, **more}, given={}, regression=tuple(texts))
        parts = {path: str(at) for at, group in enumerate(planned.groups) for path in group}
        assert "".join(parts.get(path, "") for path in texts) == groups, more


@pytest.mark.parametrize(
    ("text", "modules"),
    [
        ("from unittest import TestCase, mock\n", {"unittest", "unittest.mock"}),
        ("from xml import (\n    sax,\n    dom,\n)\n", {"xml", "xml.sax", "xml.dom"}),
        ("import requests\n\n\ndef test_a(mocker): ...\n", {"unittest.mock"}),
    ],
)
def test_the_parts_of_the_standard_library_that_tests_import_are_sealed(text: str, modules: set[str]) -> None:
    preloads = {*make(given={"tests/test_given.py": text}).preloads}
    assert modules <= preloads <= modules | {"unittest.TestCase"}


def test_what_is_no_python_has_no_copy() -> None:
    assert copy_tests("def test_a(:\n", PytestSettings(), random.Random(1)) is None


TESTS = ["tests/test_a.py", "tests/test_b.py", "tests/sub/test_c.py", "other/test_d.py"]
PATHS = ["app.py", *TESTS, "tests/helper.py"]


@pytest.mark.parametrize(
    ("argv", "files"),
    [
        (["pytest"], TESTS),
        (["/usr/bin/python3.12", "-B", "-m", "pytest", "tests/sub/"], ["tests/sub/test_c.py"]),
        (["pytest", "-n", "4", "--cov", "app", "tests/test_a.py"], ["tests/test_a.py"]),
        (["pytest", "tests/test_a.py::test_one"], ["tests/test_a.py"]),
        (["uv", "run", "--with", "x", "pytest", "-k", "one", "other"], ["other/test_d.py"]),
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
    "argv", [["make", "test"], ["pdm", "run", "test"], ["python", "-m", "unittest"], ["sh", "-c", "pytest"], []]
)
def test_other_commands_are_not_pytest(argv: list[str]) -> None:
    assert commands.parse(argv) is None
