"""Notes, differences, the log, and the git process that reads objects."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.git.conftest import Bench
from tests.support.git_repo import git, write


def test_a_note_is_read_back_and_replaced(bench: Bench, repo: Path) -> None:
    head = git(repo, "rev-parse", "HEAD")
    assert bench.git.read_note(str(repo), head) is None
    bench.git.note(str(repo), head, "first ü\n")
    bench.git.note(str(repo), head, "second ü\n")
    assert bench.git.read_note(str(repo), head) == "second ü\n"
    assert git(repo, "notes", "--ref=nightshift", "show", head) == "second ü"
    assert git(repo, "notes", "--ref=nightshift", "list").count("\n") == 0


def test_a_note_that_git_moved_elsewhere_is_found_and_replaced(bench: Bench, repo: Path) -> None:
    head = git(repo, "rev-parse", "HEAD")
    git(repo, "notes", "--ref=nightshift", "add", "-m", "git's own", head)
    assert bench.git.read_note(str(repo), head) == "git's own\n"
    bench.git.note(str(repo), head, "ours\n")
    assert git(repo, "notes", "--ref=nightshift", "show", head) == "ours"
    assert git(repo, "ls-tree", "-r", "--name-only", "refs/notes/nightshift") == f"{head[:2]}/{head[2:]}"


def test_notes_written_at_once_are_all_kept(bench: Bench, repo: Path) -> None:
    stream = "".join(f"commit refs/heads/many\ncommitter A <a> {n} +0000\ndata 1\nx\n" for n in range(24))
    git(repo, "fast-import", "--quiet", stdin=stream)
    commits = git(repo, "rev-list", "many").split()
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda commit: bench.git.note(str(repo), commit, f"on {commit}"), commits))
    assert [bench.git.read_note(str(repo), commit) for commit in commits] == [f"on {commit}" for commit in commits]
    assert git(repo, "log", "-1", "--format=%N", "--notes=nightshift", commits[5]).strip() == f"on {commits[5]}"


def test_many_threads_read_at_once(bench: Bench, repo: Path) -> None:
    write(repo, {f"f{n}.txt": f"{n}\n" * n for n in range(60)})
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "Second")
    tree = bench.git.open(str(repo), None, 7, "x").tree
    with ThreadPoolExecutor(8) as pool:
        read = list(pool.map(lambda n: tree.read(f"f{n % 60}.txt"), range(600)))
    assert read == [(f"{n % 60}\n" * (n % 60)).encode() for n in range(600)]


def test_objects_that_the_owner_repacks_stay_readable(bench: Bench, repo: Path) -> None:
    tree = bench.git.open(str(repo), None, 7, "x").tree
    assert tree.read("a.py") == b"a = 1\n"
    git(repo, "gc", "-q", "--prune=now")
    assert tree.read("pkg/b.py") == b"b = 1\n"
