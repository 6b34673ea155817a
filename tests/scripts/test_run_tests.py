"""The test runner names in its last line each test that passes only when it runs alone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from scripts import run_tests
from tests.support import failed_tests

FLAKY = """
from pathlib import Path

import pytest


@pytest.mark.parametrize("name", ["a b"])
def test_flaky(name):
    before = Path(__file__).with_suffix(".ran")
    ran = before.exists()
    before.touch()
    assert ran
"""
FLAKY_ID = "tests/test_flaky.py::test_flaky[a b]"
FIXTURE = """
import pytest


@pytest.fixture
def broken():
    raise OSError


def test_broken(broken):
    pass
"""


@dataclass(frozen=True)
class Project:
    """A folder that contains the test runner and some tests of its own."""

    folder: Path

    def write(self, name: str, text: str) -> None:
        (self.folder / "tests" / name).write_text(text)

    def run(self) -> tuple[int, str]:
        """Run the folder's tests; return the exit code and the last line."""
        environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": "-p xdist.plugin"}
        argv = [sys.executable, "scripts/run_tests.py"]
        done = subprocess.run(argv, cwd=self.folder, env=environment, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout.splitlines()[-1]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    for module in (run_tests, failed_tests):
        there = tmp_path / Path(str(module.__file__)).relative_to(run_tests.ROOT)
        there.parent.mkdir(parents=True)
        shutil.copy(str(module.__file__), there)
    new_project = Project(tmp_path)
    new_project.write("test_good.py", "def test_good(): pass\n")
    return new_project


def test_a_flaky_test_that_is_new_is_named_as_such(project: Project) -> None:
    project.write("test_flaky.py", FLAKY)
    code, last = project.run()
    assert code == 0
    assert last.startswith("Tests passed; NEW flaky")
    assert FLAKY_ID in last
    assert project.run() == (0, "Tests passed; none was flaky.")


def test_what_was_recorded_and_is_out_of_date_is_named(project: Project) -> None:
    project.write("test_old.py", "import pytest\n\n\ndef test_old(): pytest.skip('RECORD AGAIN: a prompt changed')\n")
    project.write("test_skipped.py", "import pytest\n\n\ndef test_skipped(): pytest.skip('no browser')\n")
    code, last = project.run()
    assert code == 0
    assert "to be recorded again: tests/test_old.py::test_old" in last
    assert "test_skipped" not in last


def test_what_fails_alone_too_fails_the_run_known_or_not(project: Project) -> None:
    project.write("test_flaky.py", FLAKY)
    project.write("test_bad.py", "def test_bad(): assert False\n")
    project.write("test_fixture.py", FIXTURE)
    project.write("flaky.txt", f"{FLAKY_ID}\ntests/test_bad.py::test_bad\n")
    code, last = project.run()
    assert code == 1
    assert last.startswith("Tests FAILED; 2 failed")
    assert FLAKY_ID in last


@pytest.mark.full
def test_what_cannot_be_collected_is_no_flaky_test(project: Project) -> None:
    project.write("test_bad.py", "import no_such_module\n")
    code, last = project.run()
    assert code not in {0, 5}
    assert not last.startswith("Tests passed")


@pytest.mark.full
def test_many_failures_are_not_run_again(project: Project) -> None:
    body = "with open('ran', 'a') as ran: ran.write('x')\n    assert False\n"
    many = f"import pytest\n\n\n@pytest.mark.parametrize('n', range(30))\ndef test_bad(n):\n    {body}"
    project.write("test_bad.py", many)
    assert project.run() == (1, "Tests FAILED; 30 failed.")
    assert len((project.folder / "ran").read_text()) == 30


@pytest.mark.parametrize(
    ("still", "flaky", "passed"),
    [([], [], True), ([], ["known"], True), ([], ["known", "new"], True), (["bad"], [], False)],
)
def test_every_flaky_test_is_named_and_fails_no_run(still: list[str], flaky: list[str], passed: bool) -> None:
    is_good, line = run_tests.summarise(still, flaky, {"known"})
    assert is_good is passed
    assert line.startswith("Tests passed" if passed else "Tests FAILED")
    assert all(test in line for test in flaky)


def test_the_list_of_known_ones_has_an_id_a_line_and_comments(tmp_path: Path) -> None:
    (tmp_path / "flaky.txt").write_text(f"# Why.\n\n{FLAKY_ID}\n")
    assert run_tests.read_known(tmp_path / "flaky.txt") == {FLAKY_ID}
    assert run_tests.read_known(tmp_path / "none.txt") == set()
