"""Leftovers of a dead daemon are removed at the next start.

Files of other programs or of live processes are kept.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from nightshift.core.events import Kind, Level
from nightshift.core.tasks.commit_message import CommitMessage
from nightshift.core.tasks.revisions import Author
from nightshift.git.manager import GitManager
from nightshift.maintenance import orphans
from nightshift.maintenance.orphans import Places
from nightshift.sandbox import job_folders


@pytest.fixture
def home(tmp_path: Path) -> Places:
    """Provide a home whose lock was just taken; files that the tests add are one hour older by default."""
    folder = tmp_path / "home"
    state = folder / "state"
    state.mkdir(parents=True)
    (state / "lock").touch()
    return Places(
        lock=state / "lock",
        port=state / "port",
        scratch=state,
        drafts=(state, state / "staging", folder / "reports"),
        shared=(folder / "state.json",),
        workspace=folder / "workspace",
        packages=state / "packages",
    )


@pytest.fixture
def dead() -> int:
    """Return the id of a process that no longer exists."""
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


def old(path: Path, text: str = "x") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    an_hour_ago = time.time() - 3600
    os.utime(path, (an_hour_ago, an_hour_ago))
    return path


def make_manager(home: Places) -> GitManager:
    return GitManager(
        workspace=home.workspace,
        author=Author(name="n", email="e@e"),
        auto_push=False,
        emit=lambda _: None,
        environ={"PATH": os.environ["PATH"]},
    )


def test_drafts_of_dead_processes_go_and_all_else_stays(home: Places, dead: int) -> None:
    state, folder = home.scratch, home.scratch.parent
    packages = job_folders.public(home.packages)
    gone = [
        old(state / f".port.{dead}"),
        old(state / f".seal-{dead}"),
        old(state / f".token.{os.getpid()}-140"),  # left by an earlier process that had our process id
        old(state / "staging" / f"{'a' * 40}.{dead}"),
        old(folder / "reports" / f".2026-W47.md.{dead}-7"),
        old(folder / f".state.json.{dead}"),
        old(packages / f".abc-{dead}" / "module.py").parent,
    ]
    os.utime(gone[-1], (time.time() - 3600,) * 2)
    young = state / f".new.{os.getpid()}"
    young.write_text("x")
    os.utime(young, (time.time() + 60,) * 2)
    remaining = [
        old(state / "token"),
        old(state / f".port.{os.getppid()}"),  # of a live process, such as a `verify` of this home
        old(folder / f".notes.{dead}"),  # in the owner's folder, and not one of our names
        old(state / "staging" / f"{'a' * 40}.tree"),
        old(packages / "abc" / "module.py"),
        young,
    ]
    event = orphans.sweep(home).event
    assert not any(path.exists() for path in gone)
    assert all(path.exists() for path in remaining)
    assert event is not None
    assert (event.kind, event.level) == (Kind.ORPHANS_SWEPT, Level.INFO)
    assert event.message == "cleaned up after a daemon that died: 7 drafts"
    assert sorted(event.data["drafts"]) == sorted(map(str, gone))


LOCKS = ("index.lock", "packed-refs.lock", "refs/heads/main.lock", "objects/info/commit-graph.lock")


@pytest.fixture
def workspace(home: Places) -> Path:
    """Provide the workspace's `.git` folder, with lock files left by a killed git process."""
    manager = make_manager(home)
    manager.open(None, None, 1, "x")
    manager.close()
    git_dir = home.workspace / ".git"
    for name in LOCKS:
        old(git_dir / name, "")
    old(git_dir / "nightshift" / "views" / "x" / "fast_import_crash_123")
    return git_dir


def test_locks_of_a_killed_git_go_and_work_goes_on(home: Places, workspace: Path) -> None:
    young = workspace / "shallow.lock"
    young.touch()
    os.utime(young, (time.time() + 60,) * 2)
    event = orphans.sweep(home).event
    assert event is not None
    assert event.message.endswith("5 git files")
    assert [path.name for path in workspace.rglob("*.lock")] == ["shallow.lock"]
    manager = make_manager(home)
    where = manager.open(None, None, 2, "x")
    commit = manager.commit(where, where.base, {"a.py": "1\n"}, CommitMessage(subject="x", trailers={"Task": "2"}))
    assert commit
    assert manager.advance(where, commit, where.base)
    manager.close()


@contextmanager
def working_git(where: Path, **environment: str) -> Iterator[int]:
    """Run a git that waits for its input, like a git at work.

    Wait for a first answer from it, because a process gets its name and environment only a moment after `Popen` has
    returned.
    """
    process = subprocess.Popen(
        ["git", "cat-file", "--batch"], cwd=where, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        env={"PATH": os.environ["PATH"], **environment},
    )  # fmt: skip
    assert process.stdin
    assert process.stdout
    process.stdin.write(b"nothing\n")
    process.stdin.flush()
    assert process.stdout.readline() == b"nothing missing\n"
    try:
        yield process.pid
    finally:
        process.communicate()


@pytest.mark.parametrize("how", ["folder", "variable"])
def test_no_lock_is_touched_while_a_git_works_there(home: Places, workspace: Path, how: str, tmp_path: Path) -> None:
    where = (home.workspace, {}) if how == "folder" else (tmp_path, {"GIT_DIR": str(workspace)})
    with working_git(where[0], **where[1]) as pid:
        event = orphans.sweep(home).event
    assert event is not None
    assert event.level is Level.WARNING
    assert f"git process {pid} is at work there" in event.message
    assert all((workspace / name).exists() for name in LOCKS)
    assert orphans.sweep(home).event is not None
    assert not any((workspace / name).exists() for name in LOCKS)


JOB = """
import asyncio, sys
from pathlib import Path
from nightshift.core.isolation import SandboxJob
from nightshift.sandbox import job_folders
from nightshift.sandbox.orphans import JOBS
from nightshift.sandbox.process import ProcessSandbox

box = ProcessSandbox(job_folders.private(Path(sys.argv[1]) / JOBS))
script = f"(setsid env -i sleep {sys.argv[2]} &); setsid sleep {sys.argv[2]} & sleep {sys.argv[2]}"
asyncio.run(box.run(SandboxJob(argv=("/bin/sh", "-c", script))))
"""


def list_marked_processes(mark: str) -> list[int]:
    """List the ids of the processes that run `sleep` with exactly this argument."""
    pids = []
    for path in Path("/proc").iterdir():
        if path.name.isdigit():
            try:
                if (path / "cmdline").read_bytes().split(b"\0")[:2] == [b"sleep", mark.encode()]:
                    pids.append(int(path.name))
            except OSError:
                continue
    return pids


def until(mark: str, wanted: int) -> None:
    end = time.monotonic() + 30
    while len(list_marked_processes(mark)) != wanted:
        assert time.monotonic() < end, list_marked_processes(mark)
        time.sleep(0.05)


def test_jobs_without_isolation_are_ended_and_those_of_another_home_are_not(home: Places, tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    other = tmp_path / "other"
    other.mkdir()
    marks = [f"70{os.getpid()}.{number}" for number in (1, 2)]
    daemons = [
        subprocess.Popen([sys.executable, "-c", JOB, str(where), mark], cwd=Path(__file__).parents[2])
        for where, mark in zip((home.scratch, other), marks, strict=True)
    ]
    try:
        for mark in marks:
            until(mark, 3)
        daemons[0].kill()
        daemons[0].wait()
        assert len(list_marked_processes(marks[0])) == 3, "nobody was there to end them"
        event = orphans.sweep(home).event
        assert list_marked_processes(marks[0]) == []
        assert len(list_marked_processes(marks[1])) == 3
    finally:
        for daemon in daemons:
            daemon.kill()
            daemon.wait()
        for pid in [pid for mark in marks for pid in list_marked_processes(mark)]:
            os.kill(pid, 9)
    assert event is not None
    assert len(event.data["processes"]) >= 3
    assert len(event.data["job_folders"]) == 1
    assert not Path(event.data["job_folders"][0]).exists()
