from __future__ import annotations

from typing import Any

from core.dependencies import ImportCache
from core.verdicts import SuiteJob
from sandbox import plan
from sandbox.plan import Plan
from sandbox.twins import Role
from tests.support.trees import TextTree

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
    return plan.make(job, ImportCache())


def test_tests_are_mounted_under_other_names_and_their_old_texts_are_hidden() -> None:
    found = make({"app.py": "x = 1\n"})
    (file,) = found.files
    assert set(found.mounted) == {file.staged, file.twin}
    assert found.order == (file.staged, file.twin)
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
    assert found.twins == (file.twin,)
    assert set(found.mounted) == {file.twin}
    beside = make(regression=("tests/test_old.py",))
    assert [bool(one.twin) for one in beside.files] == [True, False]


def test_a_command_of_many_files_runs_them_as_they_are() -> None:
    base = {f"test_{n}.py": "def test_a():\n    assert 1 == 1\n" for n in range(plan.TWINNED_FILES + 1)}
    few = make(given={}, base=dict(list(base.items())[:3]), command=("pytest",))
    many = make(given={}, base=base, command=("pytest",))
    assert all(file.staged != file.path for file in few.files)
    assert all(file.staged == file.path for file in many.files)
    assert len(many.twins) == 1


def test_another_command_runs_only_where_there_are_no_tests() -> None:
    assert make(given={}, command=("make", "test")).command == ("make", "test")
    assert make(command=("make", "test")).command == ()


def test_copies_alone_run_without_their_originals() -> None:
    found = make()
    alone = plan.copies_alone(found)
    assert alone.order == found.twins
    assert set(alone.mounted) == set(found.twins)
    assert alone.twins == ()
