"""Names of branches and commits are resolved anew for each question, although one git process answers all questions."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from nightshift.git.commands import Git
from nightshift.git.names import Names


def git(repo: Path, *args: str) -> str:
    done = subprocess.run(["git", "-C", str(repo), *args], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def commit(repo: Path) -> str:
    git(repo, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x")
    return git(repo, "rev-parse", "HEAD")


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q", "-b", "main")
    return tmp_path


@pytest.fixture
def names(repo: Path) -> Iterator[Names]:
    ref_names = Names(Git(repo / ".git", {"PATH": os.defpath}))
    yield ref_names
    ref_names.close()


def test_a_reference_that_somebody_else_moved_is_seen_at_once(repo: Path, names: Names) -> None:
    assert names.resolve("main", "HEAD") == [None, None]
    first = commit(repo)
    assert names.resolve("main", "refs/heads/main", first[:10], "nothing") == [first, first, first, None]
    second = commit(repo)
    assert names.resolve("HEAD") == [second]
    git(repo, "branch", "other", first)
    git(repo, "pack-refs", "--all")
    third = commit(repo)
    assert names.resolve("main", "other") == [third, first]
    git(repo, "branch", "-D", "other")
    assert names.resolve("other") == [None]


def test_a_name_with_a_line_break_is_no_name_and_spoils_no_other(repo: Path, names: Names) -> None:
    first = commit(repo)
    assert names.resolve("ma\nin", "main", "", "x y", "@{-1}", "main") == [None, first, None, None, None, first]
