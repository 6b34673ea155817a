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


def test_what_fails_alone_too_fails_the_run_known_or_not(project: Project) -> None:
    project.write("test_flaky.py", FLAKY)
    project.write("test_bad.py", "def test_bad(): assert False\n")
    project.write("test_fixture.py", FIXTURE)
    project.write("flaky.txt", f"{FLAKY_ID}\ntests/test_bad.py::test_bad\n")
    code, last = project.run()
    assert code == 1
    assert last.startswith("Tests FAILED; 2 failed")
    assert FLAKY_ID in last
