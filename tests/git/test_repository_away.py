"""A repository that was there when the task was accepted, and is away later, is waited for."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from nightshift.attempt.trouble import find_trouble
from nightshift.core.errors import GitError
from nightshift.git.usable import refuse_unusable_place
from tests.support.git_repo import OWNER, git, make_repo


def mountpoint(disk: Path, repo: Path) -> None:
    """The repository is a mountpoint itself: an empty folder stays."""
    shutil.move(make_repo(repo) / ".git", disk)


def worktree(disk: Path, repo: Path) -> None:
    git(make_repo(disk / "shop"), "worktree", "add", "-q", "-b", "feature", str(repo))


def borrowed(disk: Path, repo: Path) -> None:
    git(disk.parent, "clone", "-q", "--shared", str(make_repo(disk / "shop")), str(repo))


@pytest.mark.parametrize("make", [mountpoint, worktree, borrowed])
def test_it_is_waited_for(tmp_path: Path, make: Callable[[Path, Path], None]) -> None:
    disk, repo = tmp_path / "disk", tmp_path / "shop"
    make(disk, repo)
    disk.rename(tmp_path / "away")
    with pytest.raises(GitError) as caught:
        refuse_unusable_place(str(repo), None, OWNER)
    assert str(repo) in find_trouble(caught.value, repo)
