"""Commits are pushed only if the owner wants it, and never by force; a failed push is a result, not an error."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from nightshift.core.events import Kind
from nightshift.core.tasks.revisions import Commit, Workspace
from tests.git.conftest import Bench, make_commit, message
from tests.support.git_repo import fingerprint, git


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    (tmp_path / "remote.git").mkdir()
    git(tmp_path / "remote.git", "init", "-q", "--bare")
    return tmp_path / "remote.git"


@pytest.fixture
def committed(bench: Bench, repo: Path) -> tuple[Workspace, Commit]:
    where = bench.git.open(str(repo), None, 7, "x")
    commit = make_commit(bench.git, where, {"a.py": "2\n"})
    return where, commit


Committed = tuple[Workspace, Commit]


def test_a_branch_is_pushed_to_origin(bench: Bench, repo: Path, remote: Path, committed: Committed) -> None:
    git(repo, "remote", "add", "backup", "https://example.invalid/x.git")
    git(repo, "remote", "add", "origin", str(remote))
    before = fingerprint(repo)
    result = bench.git.push(committed[0], committed[1].branch)
    assert (result.pushed, result.detail) == (True, f"agent/7-x is on {remote}")
    assert git(remote, "rev-parse", "agent/7-x") == committed[1].id
    assert [(event.kind, event.task_id) for event in bench.events] == [(Kind.PUSHED, 7)]
    assert fingerprint(repo) == before


def test_without_a_remote_or_with_pushing_off_nothing_is_tried(
    bench: Bench, repo: Path, remote: Path, committed: Committed
) -> None:
    assert not bench.git.push(committed[0], committed[1].branch).tried
    git(repo, "remote", "add", "origin", str(remote))
    assert not bench.another(auto_push=False).push(committed[0], committed[1].branch).tried
    assert git(remote, "branch") == ""
    assert bench.events == []


def test_a_push_that_would_need_force_is_refused(bench: Bench, repo: Path, remote: Path, committed: Committed) -> None:
    git(repo, "remote", "add", "origin", str(remote))
    assert bench.git.push(committed[0], committed[1].branch).pushed
    again = bench.git.commit(committed[0], committed[0].base, {"a.py": "3\n"}, message())
    assert again
    result = bench.git.push(committed[0], again.branch)
    assert not result.pushed
    assert "rejected" in result.detail
    assert git(remote, "rev-parse", "agent/7-x") == committed[1].id
    assert bench.events[-1].kind is Kind.PUSH_FAILED


def test_the_evidence_goes_with_the_branch(bench: Bench, repo: Path, remote: Path, committed: Committed) -> None:
    git(repo, "remote", "add", "origin", str(remote))
    bench.git.note(committed[0], committed[1].id, "proof")
    result = bench.git.push(committed[0], committed[1].branch)
    assert (result.pushed, result.detail) == (True, f"agent/7-x is on {remote}")
    assert git(remote, "notes", "--ref=nightshift", "show", committed[1].id) == "proof"


def test_notes_that_somebody_else_pushed_are_left_and_the_branch_goes_alone(
    bench: Bench, repo: Path, remote: Path, committed: Committed
) -> None:
    git(repo, "remote", "add", "origin", str(remote))
    git(repo, "push", "-q", "origin", "HEAD:refs/heads/main")
    git(remote, "notes", "--ref=nightshift", "add", "-m", "theirs", "main")
    theirs = git(remote, "rev-parse", "refs/notes/nightshift")
    bench.git.note(committed[0], committed[1].id, "proof")
    result = bench.git.push(committed[0], committed[1].branch)
    assert result.pushed
    assert result.detail == f"agent/7-x is on {remote}; its evidence (git notes) was refused there"
    assert git(remote, "rev-parse", "refs/notes/nightshift") == theirs
    assert git(remote, "rev-parse", "agent/7-x") == committed[1].id
    assert bench.events[-1].kind is Kind.PUSHED


def test_a_remote_that_is_gone_is_a_result_without_the_password(bench: Bench, repo: Path, committed: Committed) -> None:
    git(repo, "remote", "add", "origin", "https://me:hunter2@localhost:1/x.git")
    result = bench.git.push(committed[0], committed[1].branch)
    assert (result.tried, result.pushed) == (True, False)
    assert "https://***@localhost:1/x.git" in result.detail
    assert "hunter2" not in result.detail + bench.events[0].message


@pytest.fixture
def silent_server() -> Iterator[int]:
    """Yield the port of a server that accepts a request and answers only when the test is over."""
    over = threading.Event()

    class Silent(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            over.wait(30)

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Silent) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        over.set()
        server.shutdown()
        thread.join()


def test_a_remote_that_does_not_answer_is_left_after_a_while(
    bench: Bench, repo: Path, committed: Committed, silent_server: int
) -> None:
    git(repo, "remote", "add", "origin", f"http://127.0.0.1:{silent_server}/x.git")
    result = bench.git.push(committed[0], committed[1].branch, timeout_s=0.5)
    assert "did not end within 0.5 s" in result.detail


def test_the_owners_own_settings_hold(bench: Bench, repo: Path, remote: Path, committed: Committed) -> None:
    (bench.root / "home").mkdir()
    (bench.root / "home" / ".gitconfig").write_text(f'[url "{remote.parent}/"]\n\tinsteadOf = https://example.org/\n')
    git(repo, "remote", "add", "origin", "https://example.org/remote.git")
    assert bench.git.push(committed[0], committed[1].branch).pushed
    assert git(remote, "rev-parse", "agent/7-x") == committed[1].id
