"""Git processes: a result is complete when git itself ends, each has a timeout, and all can be ended at once."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from nightshift.core.errors import GitError, GitKilled, GitStopped
from nightshift.git import protocol
from nightshift.git.commands import Git
from nightshift.git.processes import Output, Processes, communicate
from tests.support.git_repo import git, make_repo

PATH = {"PATH": "/usr/bin:/bin"}
LONG_S = 600.0


@pytest.fixture
def processes() -> Iterator[Processes]:
    git_processes = Processes()
    yield git_processes
    git_processes.stop()


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return make_repo(tmp_path / "repo")


def start(processes: Processes, *command: str, stderr: int = subprocess.PIPE) -> subprocess.Popen[bytes]:
    return processes.start(command, cwd=Path("/"), env=PATH, stderr=stderr)


def alias(repo: Path, command: str, processes: Processes | None = None) -> Git:
    """Return a git whose command `run` is a shell command."""
    return Git(repo / ".git", protocol.private_environment(PATH), ("-c", f"alias.run=!{command}"), processes=processes)


def is_over(pid: int) -> bool:
    """Return True if a process has ended, even if it was not reaped yet."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def wait_until_over(pid: int) -> None:
    while not is_over(pid):
        time.sleep(0.01)


def test_a_command_is_over_when_it_ends_though_what_it_started_keeps_its_pipes(repo: Path, tmp_path: Path) -> None:
    left = tmp_path / "left"
    answer = alias(repo, f"setsid sleep 300 & echo $! > {left}; echo out; echo error >&2").ask("run")
    try:
        assert (answer.code, answer.text, answer.error) == (0, "out", "error")
        assert not is_over(int(left.read_text())), "it is somebody's, and goes on"
    finally:
        os.kill(int(left.read_text()), 9)


def test_a_command_that_takes_too_long_is_ended_with_what_it_started(repo: Path, tmp_path: Path) -> None:
    child = tmp_path / "child"
    with pytest.raises(GitError, match=r"git run did not end within 1 s"):
        alias(repo, f"trap '' TERM; sleep 600 & echo $! > {child}; wait; sleep 600").ask("run", timeout_s=1)
    wait_until_over(int(child.read_text()))


def test_a_git_that_is_ended_removes_its_locks(repo: Path, processes: Processes) -> None:
    head, lock = git(repo, "rev-parse", "HEAD"), repo / ".git/refs/heads/new.lock"
    locking = Git(repo / ".git", protocol.private_environment(PATH), processes=processes)
    process = locking.start("update-ref", "--stdin")
    assert process.stdin
    assert process.stdout
    process.stdin.write(f"start\ncreate refs/heads/new {head}\nprepare\n".encode())
    output = Output(process.stdout)
    output.deadline = time.monotonic() + LONG_S
    assert [output.readline(), output.readline()] == [b"start: ok\n", b"prepare: ok\n"]
    assert lock.exists()
    processes.end(process)
    assert not lock.exists()
    assert process.returncode is not None


def test_a_stop_ends_what_runs_and_nothing_starts_after_it(repo: Path, tmp_path: Path) -> None:
    processes, began, faults = Processes(), tmp_path / "began", list[Exception]()
    slow = alias(repo, f"trap '' TERM; echo $$ > {began}; sleep 600", processes)

    def ask() -> None:
        try:
            slow.ask("run", timeout_s=LONG_S)
        except GitError as error:
            faults.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    while not (began.exists() and began.read_text()):
        time.sleep(0.01)
    processes.stop()
    asking.join()
    assert [type(error) for error in faults] == [GitStopped]
    wait_until_over(int(began.read_text()))
    with pytest.raises(GitStopped):
        slow.ask("version")


def test_a_command_that_another_one_ended_is_no_answer(tmp_path: Path) -> None:
    """Check that a git process killed by a signal gives no result, so that the task waits instead of failing."""
    (tmp_path / "git").write_text("#!/bin/sh\nkill -KILL $$\n")
    (tmp_path / "git").chmod(0o755)
    killed = Git(tmp_path, {"PATH": f"{tmp_path}:/usr/bin:/bin"})
    with pytest.raises(GitKilled, match="git write-tree, which was ended by SIGKILL"):
        killed("write-tree")
    with pytest.raises(GitKilled):
        killed.ask("cat-file")


class _Late(subprocess.Popen[bytes]):
    """A process that ends after its pipes are checked but before its exit status is checked."""

    def poll(self) -> int | None:
        self.wait()
        return super().poll()


def test_what_a_process_prints_at_its_end_is_read_however_late_it_ends() -> None:
    command, pipe = ("sh", "-c", "sleep 0.3; echo done; echo wrong >&2"), subprocess.PIPE
    with _Late(command, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        assert communicate(process, b"", LONG_S) == (b"done\n", b"wrong\n")
