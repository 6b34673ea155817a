"""A linked worktree is removed during its task; the commit lands in the repository of that worktree."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from nightshift.core.tasks.revisions import Workspace
from tests.git.conftest import Bench, make_commit
from tests.support.git_repo import git


@pytest.fixture
def side(bench: Bench, repo: Path) -> Path:
    git(repo, "worktree", "add", "-q", "-b", "feature", str(bench.root / "side"))
    return bench.root / "side"


def remove(repo: Path, side: Path, how: str) -> None:
    if how == "by git":
        git(repo, "worktree", "remove", "--force", str(side))
    else:
        shutil.rmtree(side)


@pytest.mark.parametrize("how", ["by git", "by hand"])
def test_a_task_commits_although_its_worktree_is_gone(bench: Bench, repo: Path, side: Path, how: str) -> None:
    where: Workspace = bench.git.open(str(side), None, 7, "x")
    assert bench.git.tip(where) == where.base
    remove(repo, side, how)
    bench.git._repositories.find(where).close()
    commit = make_commit(bench.git, where, {"a.py": "a = 2\n"})
    assert git(repo, "rev-parse", commit.branch) == commit.id
    assert git(repo, "show", f"{commit.id}:a.py") == "a = 2"
    bench.git.note(where, commit.id, "evidence")
    assert bench.git.read_note(where, commit.id) == "evidence"
    if how == "by hand":  # Git still regards the branch as checked out in the removed worktree
        assert "checked out" in str(bench.git.find_obstacle(where))
        return
    assert bench.git.find_obstacle(where) is None
    assert bench.git.advance(where, commit, where.base)
    assert git(repo, "rev-parse", "feature") == commit.id
    assert bench.git.remove_branch(where, commit.branch, commit.id)
