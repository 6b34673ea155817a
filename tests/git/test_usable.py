"""What is said of a repository that a task names before the task is taken."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nightshift.core.errors import GitError
from nightshift.git.usable import refuse_unusable_place
from tests.support.git_repo import OWNER, fingerprint, git, make_repo


def said(repo: Path, base: str | None = None) -> str:
    with pytest.raises(GitError) as caught:
        refuse_unusable_place(str(repo), base, OWNER)
    return str(caught.value)


def test_a_repository_that_can_be_used_is_let_through_and_not_touched(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "shop", {"src/a.py": "x = 1\n"})
    git(repo, "tag", "v1")
    commit = git(repo, "rev-parse", "HEAD")
    before = fingerprint(repo)
    for base in (None, "main", "refs/heads/main", "v1", commit, commit[:8], "HEAD"):
        refuse_unusable_place(str(repo), base, OWNER)
    refuse_unusable_place(str(repo / "src"), None, OWNER)
    assert fingerprint(repo) == before


def test_a_folder_that_is_not_there_is_told_with_the_nearest(tmp_path: Path) -> None:
    make_repo(tmp_path / "shop")
    assert said(tmp_path / "shpo") == f"repo: there is no folder {tmp_path}/shpo; did you mean {tmp_path}/shop?"
    assert said(Path("/nope")) == "repo: there is no folder /nope"
    assert said(Path("/" + "n" * 3000)) == f"repo: /{'n' * 199} cannot be a folder (File name too long)"
    assert said(Path("shop")) == "repo: shop must be an absolute path"


def test_a_folder_without_a_repository_and_one_without_a_commit_are_told(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    assert "is not in a git repository; run `git init` there" in said(tmp_path / "plain")
    git(tmp_path / "plain", "init", "-q", "-b", "main")
    assert said(tmp_path / "plain").endswith("has no commit yet; make a first one, or name a base")


def test_a_base_that_is_no_ref_is_told_with_the_nearest(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "shop")
    git(repo, "branch", "develop")
    assert said(repo, "devlop") == (
        f"base: there is no branch, tag or commit 'devlop' in {repo}; did you mean develop?"
    )
    assert said(repo, "--all").startswith("base: there is no branch, tag or commit '--all'")
    assert said(repo, "a\nb") == "base: must be one line"


def test_a_branch_that_leaves_no_room_for_those_of_tasks_is_told(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "shop")
    git(repo, "branch", "agent")
    for base in (None, "main"):
        assert said(repo, base) == (
            f"repo: {repo} has a branch named agent, beside which git cannot make the branch agent/… of a task; "
            "rename it with `git branch -m agent NAME`"
        )
    git(repo, "branch", "-m", "agent", "agent/mine")
    git(repo, "tag", "agent")
    refuse_unusable_place(str(repo), None, OWNER)


def test_a_bare_repository_is_told(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--bare", "bare.git")
    assert "is a bare repository" in said(tmp_path / "bare.git")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_a_repository_that_may_not_be_written_is_told(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "shop")
    (repo / ".git" / "refs").chmod(0o500)
    assert "may not be written by the user" in said(repo)
    (repo / ".git" / "refs").chmod(0o700)
