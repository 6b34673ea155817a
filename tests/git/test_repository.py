"""A repository is read again only where it changed, and its references at every question."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from nightshift.core.tasks.revisions import Author
from nightshift.git.registry import Repositories
from tests.git.conftest import Bench
from tests.support.git_repo import git, make_repo

BY = b"A <a@b> 1700000000 +0000"


@pytest.mark.parametrize(
    ("change", "looks", "id_format"),
    [
        ([], 0, "sha1"),
        (["git config user.name B"], 1, "sha1"),
        (["rm -rf .git && git init -q --object-format=sha256"], 1, "sha256"),
    ],
)
def test_git_is_asked_for_its_configuration_again_only_where_that_changed(
    tmp_path: Path, change: list[str], looks: int, id_format: str
) -> None:
    repo, starts = make_repo(tmp_path / "repo"), tmp_path / "starts"
    starts.touch()
    (tmp_path / "bin").mkdir()
    real = shutil.which("git")
    (tmp_path / "bin" / "git").write_text(f'#!/bin/sh\necho "$@" >> {starts}\nexec {real} "$@"\n')
    (tmp_path / "bin" / "git").chmod(0o755)
    environ = {"PATH": f"{tmp_path / 'bin'}:{os.defpath}", "HOME": str(tmp_path)}
    repositories = Repositories(tmp_path / "workspace", Author(name="A", email="a@b"), lambda _author: BY, environ)
    first = repositories.find(str(repo))
    starts.write_text("")
    repository = first
    for words in change or ["true"]:
        subprocess.run(words, shell=True, cwd=repo, check=True)
        for _ in range(3):
            repository = repositories.find(str(repo))
    assert len([line for line in starts.read_text().splitlines() if "config" in line]) == looks
    assert (repository.id_format, repository.git is first.git) == (id_format, id_format == "sha1")
    repositories.close()


def test_a_reference_that_somebody_else_moved_is_seen_at_once(bench: Bench, repo: Path) -> None:
    def commit() -> str:
        git(repo, "commit", "-q", "--allow-empty", "-m", "x")
        return git(repo, "rev-parse", "HEAD")

    resolve, first = bench.git._repositories.find(str(repo)).resolve, git(repo, "rev-parse", "HEAD")
    assert resolve("main", "refs/heads/main", first[:10], "nothing") == [first, first, first, None]
    second = commit()
    assert resolve("HEAD") == [second]
    git(repo, "branch", "other", first)
    git(repo, "pack-refs", "--all")
    third = commit()
    assert resolve("main", "other") == [third, first]
    git(repo, "branch", "-D", "other")
    assert resolve("other") == [None]
    assert resolve("ma\nin", "main", "", "x y", "@{-9}", "main") == [None, third, None, None, None, third]
