"""Stale lock files.

Git waits for a stale lock only once. The blocked operation reports the lock, and nothing else is lost.
"""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from nightshift.core.errors import ReferenceLocked
from nightshift.core.tasks.revisions import Workspace
from nightshift.git.manager import GitManager
from tests.git.conftest import Bench, make_commit
from tests.support.git_repo import git

DAY_S = 86_400


class HastyGit:
    """A git on PATH that waits only briefly for locks, and records how it was called."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.path, self._calls = f"{folder}:{os.environ['PATH']}", folder / "calls"
        real = next(path for path in (Path(each, "git") for each in os.environ["PATH"].split(":")) if path.exists())
        script = folder / "git"
        script.write_text(f'#!/bin/bash\necho "$*" >> {self._calls}\nexec {real} "${{@/Timeout=10000/Timeout=50}}"\n')
        script.chmod(0o755)

    def moves(self) -> int:
        """Return the number of git processes that moved references since the last call."""
        calls = self._calls.read_text().split("\n") if self._calls.exists() else []
        self._calls.unlink(missing_ok=True)
        return sum("update-ref" in call for call in calls)


@pytest.fixture
def hasty(tmp_path: Path) -> HastyGit:
    return HastyGit(tmp_path / "hasty")


@pytest.fixture
def manager(bench: Bench, hasty: HastyGit) -> GitManager:
    return bench.another(path=hasty.path)


@pytest.fixture
def dev(manager: GitManager, repo: Path) -> Workspace:
    git(repo, "branch", "dev")
    return manager.open(str(repo), "dev", 7, "x")


def lock(repo: Path, name: str) -> Path:
    """Create a stale lock file of a reference, dated one day ago."""
    path = repo / ".git" / f"{name}.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    os.utime(path, (time.time() - DAY_S,) * 2)
    return path


def test_a_locked_target_is_told_once_and_the_commit_keeps_its_branch(
    manager: GitManager, dev: Workspace, hasty: HastyGit
) -> None:
    commit = make_commit(manager, dev, {"a.py": "2\n"})
    left = lock(dev.repo, "refs/heads/dev")
    hasty.moves()
    with pytest.raises(ReferenceLocked) as raised:
        manager.advance(dev, commit, dev.base)
    assert "cannot lock ref 'refs/heads/dev'" in str(raised.value)
    assert f"(the lock {left} is 1 d old; if no git is at work there, remove it)" in str(raised.value)
    assert "\n" not in str(raised.value)
    assert hasty.moves() <= 1
    assert git(dev.repo, "rev-parse", "dev", commit.branch).split() == [dev.base, commit.id]
    left.unlink()
    assert manager.advance(dev, commit, dev.base)


def test_a_lock_that_goes_while_git_waits_is_no_lock(bench: Bench, repo: Path) -> None:
    git(repo, "branch", "dev")
    where = bench.git.open(str(repo), "dev", 7, "x")
    commit = make_commit(bench.git, where, {"a.py": "2\n"})
    with subprocess.Popen(["sh", "-c", f"sleep 0.5; rm {lock(repo, 'refs/heads/dev')}"]):
        assert bench.git.advance(where, commit, where.base)
