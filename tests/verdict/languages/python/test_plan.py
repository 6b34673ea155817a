from __future__ import annotations

from dataclasses import replace
from typing import Any

from nightshift.core.code.dependencies import ImportCache
from nightshift.core.tasks.verdicts import SuiteJob
from nightshift.sandbox.runtime import Runtime
from nightshift.verdict.languages import plan
from nightshift.verdict.languages.plan import Plan, Role
from nightshift.verdict.languages.planning import COPIED_FILES
from nightshift.verdict.languages.python import plan as python
from tests.support.trees import TextTree

RUNTIME = Runtime(python=("python",), version="3.11", mounts=(), libraries=())
BASE = {
    "app.py": "import helper\n",
    "helper.py": "",
    "other.py": "",
    "conftest.py": "",
    "pytest.ini": "[pytest]\naddopts = -p plug --cov\npythonpath = lib\n",
    "tests/test_old.py": "import app\n\n\ndef test_old():\n    assert app\n",
    "tests/test_given.py": "def test_outdated(): pass\n",
}
GIVEN = {"tests/test_given.py": "import app\n\n\ndef test_new():\n    assert app.x == 1\n", "tests/data.json": "{}"}


def make(change: dict[str, str | None] | None = None, base: dict[str, str] | None = None, **more: Any) -> Plan:
    told = {"given": GIVEN, **more}
    job = SuiteJob(base=TextTree(BASE if base is None else base), change=change or {}, **told)
    return python.make(job, ImportCache(), RUNTIME)


def test_tests_are_mounted_under_other_names_and_their_old_texts_are_hidden() -> None:
    found = make({"app.py": "x = 1\n"})
    (file,) = found.files
    assert set(found.mounted) == {file.staged, file.must_fail_path}
    assert found.order == (file.staged, file.must_fail_path)
    assert found.texts == {"app.py": b"x = 1\n", "tests/data.json": b"{}"}
    assert found.removed == ("tests/test_given.py",)
    assert found.closure is None


def test_the_bases_settings_are_used_without_its_options() -> None:
    found = make()
    assert found.options[:2] == ("-c", "pytest.ini")
    assert "addopts=" in found.options
    assert found.options[found.options.index("-p") + 1] == "plug"
    assert "--noconftest" not in found.options
    assert found.paths == (".", "lib")


def test_without_settings_of_the_bases_there_are_none() -> None:
    found = make({"conftest.py": "", "pytest.ini": "[pytest]\n"}, base={})
    assert found.options[:2] == ("-c", "/dev/null")
    assert "--noconftest" in found.options
    assert set(found.dropped) == {"conftest.py", "pytest.ini"}


def test_only_the_closure_is_staged_where_it_is_known() -> None:
    found = make({"app.py": "import helper\nx = 1\n"}, whole_tree=False)
    assert set(found.closure or ()) == {"helper.py", "app.py", "conftest.py", "pytest.ini", "tests/test_given.py"}
    assert make({"app.py": "import glob\n"}, whole_tree=False).closure is None


def test_files_of_the_start_lie_below_the_change() -> None:
    found = make({"a.py": "2", "c.py": None}, start={"a.py": "1", "b.py": "1", "c.py": "1", "conftest.py": "s"})
    assert found.texts["a.py"] == b"2"
    assert found.texts["b.py"] == b"1"
    assert found.texts["conftest.py"] == b"s"
    assert "c.py" not in found.texts


def test_own_tests_may_not_steer_and_given_ones_come_before_them() -> None:
    own = {"tests/test_own.py": "def test_o():\n    assert 1 == 1\n", "conftest.py": "evil", "tests/test_given.py": "x"}
    found = make(own=own)
    assert {file.path: file.role for file in found.files} == {
        "tests/test_given.py": Role.GIVEN,
        "tests/test_own.py": Role.OWN,
    }
    assert found.dropped == {"conftest.py": "steers how tests are run"}
    assert found.files[0].original == GIVEN["tests/test_given.py"]


def test_regression_tests_run_as_they_are_with_a_canary_where_there_are_no_copies() -> None:
    found = make(given={}, regression=("tests/test_old.py", "tests/gone.py"))
    (file,) = found.files
    assert (file.role, file.staged, file.path) == (Role.REGRESSION, "tests/test_old.py", "tests/test_old.py")
    assert (file.copied, found.order) == (False, (file.staged, file.must_fail_path))
    assert set(found.mounted) == {file.must_fail_path}
    assert plan.copies(found) is None
    beside = make(regression=("tests/test_old.py",))
    assert [bool(one.must_fail_path) for one in beside.files] == [True, False]


def test_a_command_of_many_files_runs_them_as_they_are() -> None:
    base = {f"test_{n}.py": "def test_a():\n    assert 1 == 1\n" for n in range(COPIED_FILES + 1)}
    few = make(given={}, base=dict(list(base.items())[:3]), command=("pytest",))
    many = make(given={}, base=base, command=("pytest",))
    assert all(file.staged != file.path for file in few.files)
    assert all(file.staged == file.path for file in many.files)
    assert sum(bool(file.must_fail_path) for file in many.files) == 1
    assert not any(file.copied for file in many.files)


def test_another_command_runs_only_where_there_are_no_tests() -> None:
    assert make(given={}, command=("make", "test")).command == ("make", "test")
    assert make(command=("make", "test")).command == ()


def test_tests_and_their_copies_run_in_sandboxes_that_do_not_have_the_others() -> None:
    found = make()
    (file,) = found.files
    tests, copies = plan.originals(found), plan.copies(found)
    assert copies
    assert (tests.order, set(tests.mounted)) == ((file.staged,), {file.staged})
    assert (copies.order, set(copies.mounted)) == ((file.must_fail_path,), {file.must_fail_path})
    assert not any(one.must_fail_path for one in (*tests.files, *copies.files))
    assert copies.mounted[file.must_fail_path] == file.must_fail_text.encode()
    assert (tests.must_fail, copies.must_fail) == (False, True)
    assert tests.split is copies.split is found.split
    assert tests.texts == copies.texts == found.texts
    assert tests.removed == copies.removed == found.removed


def test_a_run_of_some_copies_names_no_others() -> None:
    copies = plan.copies(make())
    assert copies
    (name, *_) = copies.files[0].names
    chosen = replace(copies, only=(f"{copies.files[0].staged}::{name}",))
    assert chosen.order == chosen.only


def test_a_canary_stays_beside_the_tests_that_it_stands_for() -> None:
    found = make(given={"tests/test_given.py": "def test_x():\n    assert __file__\n"})
    (file,) = found.files
    tests = plan.originals(found)
    assert (file.copied, tests.order) == (False, (file.staged, file.must_fail_path))
    assert set(tests.mounted) == {file.must_fail_path}


def test_the_tests_alone_may_end_at_the_first_that_fails() -> None:
    found = make()
    alone = plan.first_failure(found)
    assert plan.tests_alone(found).options == found.options
    assert alone.order == (found.files[0].staged,)
    assert set(alone.mounted) == {found.files[0].staged}
    assert alone.options == (*found.options, "-x")
    assert alone.split is None


def test_the_split_run_has_the_given_tests_their_copies_and_settings_from_the_base() -> None:
    base = {**BASE, "conftest.py": "import pytest\n", "pytest.ini": "[pytest]\npythonpath = lib\n"}
    found = make({"app.py": "x = 1\n"}, base)
    (file,) = found.files
    assert found.split
    assert found.split.suites == (file.staged, file.must_fail_path)
    assert found.split.texts == {
        "conftest.py": "import pytest\n",
        file.staged: file.text,
        file.must_fail_path: file.must_fail_text,
    }
    assert found.split.settings == {"pytest.ini": base["pytest.ini"]}
    assert found.split.roots == ("tests/", "", "lib/")
    assert found.split.conftests == found.split.hidden == ("conftest.py",)
    assert not found.split.simple
    assert found.split.judged == {f"{file.staged}::{name}" for name in file.names}
    assert found.split.whole


def test_a_base_whose_settings_load_plugins_has_no_split_run() -> None:
    assert make().split is None


def test_calls_have_no_split_run() -> None:
    found = make({"app.py": "x = 1\n"}, {})
    assert found.split
    assert plan.calls_alone(found, {}, [("app", "f", [], {})]).split is None
