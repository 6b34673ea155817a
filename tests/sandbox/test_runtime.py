from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from nightshift.core.errors import SandboxError
from nightshift.core.isolation import SandboxJob
from nightshift.sandbox import interpreter, job_folders
from nightshift.sandbox.go_program import UNPACKED
from nightshift.sandbox.runtime import SUITES, Program, open_runtime, prepare
from tests.support.sandboxes import RUNNER, bubblewrap, runtime

ROOT = Path(__file__).resolve().parents[2]


def test_a_second_set_up_finds_nothing_to_do() -> None:
    runtime()
    done = subprocess.run(
        [sys.executable, "-m", "nightshift.sandbox.runtime", "--prepare", str(RUNNER)],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    assert done.stderr == b""
    assert prepare(RUNNER) is False


def test_without_set_up_the_way_to_it_is_told(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="make setup"):
        open_runtime(tmp_path)


def test_what_jobs_cannot_run_is_not_taken(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir()
    (closed / "python3").symlink_to(runtime().python[-1])
    closed.chmod(0o000)
    assert interpreter.check((str(closed / "python3"),)) is None
    assert interpreter.check(("/bin/true",)) is None


async def test_the_libraries_can_be_imported_inside_and_not_be_changed() -> None:
    code = (
        "import sys; sys.path += sys.argv[1:]; import hypothesis, pytest; print(pytest.__version__ > '', end=' ')\n"
        "try:\n    open(pytest.__file__, 'a')\nexcept OSError as error:\n    print(error.strerror)"
    )
    argv = (*runtime().python, "-I", "-S", "-B", "-c", code, *runtime().libraries)
    result = await bubblewrap().run(SandboxJob(argv=argv, mounts=runtime().mounts))
    assert result.stdout in {b"True Read-only file system\n", b"True Permission denied\n"}, result.stderr


@pytest.mark.full
async def test_a_copied_interpreter_runs_inside(folder: Path) -> None:
    copy = interpreter.check(interpreter.copy(job_folders.public(folder / "copies")))
    assert copy is not None
    assert copy.version == ".".join(map(str, sys.version_info[:3]))
    assert copy.mounted is not None
    assert not list(copy.mounted.rglob("idlelib"))
    assert interpreter.copy(folder / "copies") == copy.argv, "a finished copy is taken again"


async def test_an_environment_of_the_owners_is_shown_after_the_test_libraries(folder: Path) -> None:
    packages = folder / "packages"
    packages.mkdir()
    (packages / "owned.py").write_text("ONE = 1\n")
    opened_runtime = open_runtime(RUNNER, [packages])
    assert opened_runtime.has_environment
    code = "import sys; sys.path += sys.argv[1:]; import owned, pytest; print(owned.ONE)"
    argv = (*opened_runtime.python, "-I", "-S", "-B", "-c", code, *opened_runtime.libraries)
    result = await bubblewrap().run(SandboxJob(argv=argv, mounts=opened_runtime.mounts))
    assert result.stdout == b"1\n", result.stderr


def test_the_prepared_folders_can_be_changed_by_their_owner_alone() -> None:
    for mount in runtime().mounts:
        if mount.host.is_relative_to(RUNNER):
            status = mount.host.stat()
            assert status.st_uid == os.geteuid()
            assert status.st_mode & 0o022 == 0


ENTRY = """import sys

from nightshift_inside import files


def main():
    print(sys.stdin.read(), files.__name__, sys.argv[3:])
"""


@pytest.fixture
def runner(folder: Path) -> Path:
    """A copy of the runtime's folder that a test may change. It lacks the Go toolchain."""
    runtime()
    runner = folder / "runner"
    unpacked = (UNPACKED, "go-*") if (RUNNER / UNPACKED).exists() else ()
    shutil.copytree(RUNNER, runner, symlinks=True, ignore=shutil.ignore_patterns(*unpacked))
    stamp = json.loads((runner / "stamp.json").read_text())
    (runner / "stamp.json").write_text(json.dumps({**stamp, "home": str(runner)}))
    return runner


@pytest.fixture
def program(folder: Path) -> Program:
    """A program of a package that is not ours."""
    code = folder / "code"
    code.mkdir()
    (code / "__init__.py").write_text("")
    (code / "entry.py").write_text(ENTRY)
    return Program(name="nightshift_other", folder=code, module="entry")


async def test_a_program_of_another_package_runs_beside_our_code(runner: Path, program: Program) -> None:
    with pytest.raises(SandboxError, match="make setup"):
        open_runtime(runner, programs=[program])
    assert prepare(runner, [program])
    opened_runtime = open_runtime(runner, programs=[program])
    argv, mounts = opened_runtime.argv(program.entry), opened_runtime.mounts_for(program.entry)
    result = await bubblewrap().run(SandboxJob(argv=argv, mounts=mounts, stdin=b"told"))
    assert result.stdout.decode() == f"told nightshift_inside.files {list(opened_runtime.libraries)}\n", result.stderr
    assert (opened_runtime.choose_parent(argv, mounts) or (None, ""))[1] == program.entry


def test_a_run_is_shown_no_program_but_its_own(runner: Path, program: Program) -> None:
    prepare(runner, [program])
    alone, beside = open_runtime(runner), open_runtime(runner, programs=[program])
    assert (beside.argv(), beside.mounts_for(SUITES)) == (alone.argv(), alone.mounts)
    assert len(beside.mounts_for(program.entry)) == len(alone.mounts) + 1
    with pytest.raises(SandboxError, match=r"nightshift_other\.entry"):
        alone.argv(program.entry)


def test_a_program_is_prepared_again_when_its_code_has_changed_and_kept_when_it_is_not_asked_for(
    runner: Path, program: Program
) -> None:
    assert prepare(runner, [program])
    assert not prepare(runner, [program])
    assert not prepare(runner)
    assert open_runtime(runner, programs=[program])
    (program.folder / "entry.py").write_text(ENTRY + "\n")
    with pytest.raises(SandboxError, match="make setup"):
        open_runtime(runner, programs=[program])
    assert open_runtime(runner)
    assert prepare(runner, [program])
