"""Stopping the daemon ends every git process, whatever it waits for, and leaves no waiting thread."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from tests.git.conftest import Bench, make_commit, message
from tests.git.test_locks import lock
from tests.support.git_repo import git
from tests.support.processes import words

LONG_S = 600.0


class Asking:
    """A call to the git manager on its own thread, and the error that ends the call."""

    def __init__(self, call: Callable[[], object]) -> None:
        self.error: Exception | None = None
        self._call, self.thread = call, threading.Thread(target=self._run)
        self.thread.start()

    def _run(self) -> None:
        try:
            self._call()
        except Exception as error:  # noqa: BLE001  the test looks at it
            self.error = error


def wait_for_git(*parts: str) -> None:
    """Wait until a git process runs whose command line contains these words."""
    while not any(set(parts) <= set(words(each)) for each in psutil.Process().children(recursive=True)):
        pass


@pytest.fixture
def silent_remote(repo: Path) -> Iterator[socket.socket]:
    """A remote that accepts a connection and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        git(repo, "remote", "add", "origin", f"git://127.0.0.1:{server.getsockname()[1]}/x.git")
        yield server


def test_a_push_that_hangs_ends_with_the_manager(bench: Bench, repo: Path, silent_remote: socket.socket) -> None:
    where = bench.git.open(str(repo), None, 7, "x")
    commit = make_commit(bench.git, where, {"a.py": "2\n"})
    results = list[bool]()
    asking = Asking(lambda: results.append(bench.git.push(where, commit.branch, LONG_S).pushed))
    connection, _ = silent_remote.accept()
    bench.git.close()
    asking.thread.join()
    connection.close()
    assert (results, asking.error) == ([False], None)
    assert "Git was stopped" in bench.events[-1].message


def test_a_move_that_waits_for_a_lock_ends_with_the_manager(bench: Bench, repo: Path) -> None:
    git(repo, "branch", "dev")
    where = bench.git.open(str(repo), "dev", 7, "x")
    commit = make_commit(bench.git, where, {"a.py": "2\n"})
    left = lock(repo, "refs/heads/dev")
    asking = Asking(lambda: bench.git.advance(where, commit, where.base))
    wait_for_git("update-ref")
    bench.git.close()
    asking.thread.join()
    assert asking.error is not None
    assert left.exists(), "it is somebody else's"
    assert git(repo, "rev-parse", "dev") == where.base


def test_nothing_runs_after_a_stop(bench: Bench, repo: Path) -> None:
    where = bench.git.open(str(repo), None, 7, "x")
    assert bench.git.commit(where, where.base, {"a.py": "2\n"}, message())
    bench.git.close()
    left = [words(each) for each in psutil.Process().children(recursive=True)]
    assert not [each for each in left if "git" in each[:1]]
