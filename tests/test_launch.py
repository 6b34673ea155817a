"""The programs of a checkout with a broken environment report in one sentence what is wrong and how to fix it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = ("main.py", "cli.py")
BARE = getattr(sys, "_base_executable", sys.executable)
"""The base Python of virtual environments; with `-S` it has no packages."""


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a copy of the code without an environment."""
    path = tmp_path_factory.mktemp("launch") / "checkout"
    shutil.copytree(ROOT / "nightshift", path / "nightshift", ignore=shutil.ignore_patterns("__pycache__", "static"))
    for name in PROGRAMS:
        shutil.copy(ROOT / name, path / name)
    return path


@pytest.fixture
def python(checkout: Path) -> Path:
    """Return the path of the interpreter in the checkout's own, still empty environment."""
    path = checkout / ".venv" / "bin" / "python"
    shutil.rmtree(checkout / ".venv", ignore_errors=True)
    path.parent.mkdir(parents=True)
    (checkout / ".venv" / "pyvenv.cfg").touch()
    return path


def run(checkout: Path, program: str) -> subprocess.CompletedProcess[str]:
    argv = [BARE, "-S", str(checkout / program), "help"]
    env = {"PATH": "/usr/bin:/bin", "HOME": str(checkout)}
    return subprocess.run(argv, env=env, cwd=checkout.parent, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.usefixtures("python")
def test_a_missing_package_is_named(checkout: Path, program: str) -> None:
    done = run(checkout, program)
    assert (done.returncode, done.stdout) == (1, "")
    assert "is not installed in" in done.stderr
    assert done.stderr.endswith(f"type `make setup` in {checkout}.\n")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("program", PROGRAMS)
def test_an_environment_whose_python_is_gone_is_named(checkout: Path, python: Path, program: str) -> None:
    python.symlink_to(checkout / "removed" / "python3.11")
    done = run(checkout, program)
    assert done.returncode == 1
    assert done.stderr == (f"{python} does not start (No such file or directory): type `make setup` in {checkout}.\n")


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_folder_that_is_no_environment_is_named(checkout: Path, python: Path, program: str) -> None:
    python.symlink_to(BARE)
    (checkout / ".venv" / "pyvenv.cfg").unlink()
    done = run(checkout, program)
    assert done.returncode == 1
    assert done.stderr == (
        f"{checkout / '.venv'} is no environment of Python: remove it, and type `make setup` in {checkout}.\n"
    )


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_continues_in_the_environment_with_its_arguments(checkout: Path, python: Path, program: str) -> None:
    python.write_text('#!/bin/sh\nprintf "%s " "$@"\n')
    python.chmod(0o755)
    done = run(checkout, program)
    assert (done.returncode, done.stdout) == (0, f"{checkout / program} help ")
