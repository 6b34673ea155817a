"""Opening a repository: every kind of checkout is found, and unusable ones are rejected with helpful messages."""

from __future__ import annotations

from pathlib import Path

import pytest

from nightshift.core.errors import GitError
from tests.git.conftest import Bench, make_commit
from tests.support.git_repo import git, make_repo, write


def test_the_checked_out_branch_is_base_and_target(bench: Bench, repo: Path) -> None:
    workspace = bench.git.open(str(repo), None, 7, "Add a door")
    assert workspace.base == git(repo, "rev-parse", "HEAD")
    assert (workspace.target, workspace.branch, workspace.repo, workspace.is_own) == (
        "refs/heads/main",
        "agent/7-add-a-door",
        repo,
        False,
    )


def test_a_tag_or_a_commit_is_a_base_without_a_target(bench: Bench, repo: Path) -> None:
    git(repo, "tag", "-a", "v1", "-m", "one")
    head = git(repo, "rev-parse", "HEAD")
    for name in ("v1", head, head[:10], "HEAD~0"):
        workspace = bench.git.open(str(repo), name, 7, "x")
        assert (workspace.base, workspace.target) == (head, None)
    assert bench.git.find_obstacle(workspace) == "the base is not a branch that could be moved"


def test_a_branch_wins_over_a_tag_of_its_name(bench: Bench, repo: Path) -> None:
    git(repo, "tag", "twin")
    git(repo, "commit", "-q", "--allow-empty", "-m", "Second")
    git(repo, "branch", "twin")
    assert bench.git.open(str(repo), "twin", 7, "x").base == git(repo, "rev-parse", "refs/heads/twin")


def test_a_folder_inside_and_a_linked_worktree_work_too(bench: Bench, repo: Path, tmp_path: Path) -> None:
    git(repo, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    inside = bench.git.open(str(repo / "pkg"), None, 7, "x")
    linked = bench.git.open(str(tmp_path / "side" / "pkg"), None, 7, "x")
    assert (inside.repo, inside.target) == (repo, "refs/heads/main")
    assert (linked.repo, linked.target) == (tmp_path / "side", "refs/heads/side")


def test_a_tree_shows_regular_files_and_their_bytes(bench: Bench, repo: Path) -> None:
    write(repo, {"ü/ß.txt": "ß\n", "bin": b"\x00\xff", "run.sh": "echo\n"})
    (repo / "link").symlink_to("a.py")
    (repo / "run.sh").chmod(0o755)
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "Second")
    tree = bench.git.open(str(repo), None, 7, "x").tree
    assert list(tree.entries()) == ["a.py", "bin", "pkg/b.py", "run.sh", "ü/ß.txt"]
    assert (tree.read("bin"), tree.read("ü/ß.txt")) == (b"\x00\xff", "ß\n".encode())
    assert tree.entries()["a.py"] == git(repo, "rev-parse", "HEAD:a.py")
    with pytest.raises(KeyError):
        tree.read("link")
    assert "link" in tree.unwritable()
    with pytest.raises(KeyError):
        tree.read("no.py")


def test_a_hand_made_tree_cannot_lead_out_of_its_folder(bench: Bench, repo: Path) -> None:
    blob = git(repo, "rev-parse", "HEAD:a.py")
    entry = bytes.fromhex(blob)
    raw = b"".join(b"100644 " + name + b"\0" + entry for name in (b"..", b".GIT", b"../x", b"fine"))
    tree = git(repo, "hash-object", "-t", "tree", "-w", "--literally", "--stdin", stdin=raw)
    commit = git(repo, "commit-tree", tree, "-m", "Trap")
    assert list(bench.git.open(str(repo), commit, 7, "x").tree.entries()) == ["fine"]


def test_a_submodule_that_is_not_checked_out_is_not_taken_for_its_parent(
    bench: Bench, repo: Path, tmp_path: Path
) -> None:
    make_repo(tmp_path / "lib")
    git(repo, "submodule", "--quiet", "add", str(tmp_path / "lib"), "lib")
    git(repo, "commit", "-q", "-m", "Add lib")
    assert bench.git.open(str(repo / "lib"), None, 7, "x").repo == repo / "lib"
    git(repo, "submodule", "--quiet", "deinit", "--all", "-f")
    with pytest.raises(GitError, match=r"^repo: .*submodule that is not checked out"):
        bench.git.open(str(repo / "lib"), None, 7, "x")
    assert "lib" not in bench.git.open(str(repo), None, 7, "x").tree.entries()


def test_a_sha256_repository_works(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    git(tmp_path / "new", "init", "-q", "-b", "main", "--object-format=sha256")
    write(tmp_path / "new", {"a.py": "a\n"})
    git(tmp_path / "new", "add", "-A")
    git(tmp_path / "new", "commit", "-q", "-m", "First")
    workspace = bench.git.open(str(tmp_path / "new"), None, 7, "x")
    assert len(workspace.base) == 64
    assert workspace.tree.read("a.py") == b"a\n"


def test_the_workspace_is_made_on_first_use_and_found_again(bench: Bench) -> None:
    first = bench.git.open(None, None, 7, "x")
    again = bench.another().open(None, None, 8, "y")
    by_path = bench.git.open(str(bench.workspace), None, 9, "z")
    assert first.is_own
    assert by_path.is_own
    assert first.base == again.base == by_path.base == git(bench.workspace, "rev-parse", "main")
    assert git(bench.workspace, "status", "--porcelain", "--branch") == "## main"
    assert list(first.tree.entries()) == []


def test_a_git_that_is_too_old_is_named(bench: Bench, tmp_path: Path) -> None:
    old = tmp_path / "bin" / "git"
    old.parent.mkdir()
    old.write_text("#!/bin/sh\necho git version 2.30.2\n")
    old.chmod(0o755)
    manager = bench.another()
    manager._repositories._env["PATH"] = str(old.parent)
    with pytest.raises(GitError, match=r"2\.30\.2 is too old: version 2\.38"):
        manager.doctor()


def test_a_worktree_of_a_bare_repository_works(bench: Bench, repo: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(repo), "bare.git")
    git(tmp_path / "bare.git", "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    where = bench.git.open(str(tmp_path / "side"), None, 7, "x")
    commit = make_commit(bench.git, where, {"a.py": "2\n"})
    assert where.target == "refs/heads/side"
    assert git(tmp_path / "bare.git", "rev-parse", commit.branch) == commit.id
    assert "checked out" in str(bench.git.find_obstacle(where))


def test_a_shallow_clone_works(bench: Bench, repo: Path, tmp_path: Path) -> None:
    for number in range(3):
        git(repo, "commit", "-q", "--allow-empty", "-m", f"More {number}")
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{repo}", "shallow")
    git(tmp_path / "shallow", "branch", "dev")
    where = bench.git.open(str(tmp_path / "shallow"), "dev", 7, "x")
    commit = make_commit(bench.git, where, {"a.py": "2\n"})
    assert bench.git.advance(where, commit, where.base)
    assert bench.git.contains(where, commit)
    assert [line.task_id for line in bench.git.recent_commits(where, 9, "dev")] == [7, None]
