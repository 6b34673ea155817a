"""Outside errors, such as a full disk, are distinguished from the task's own failure, however they are wrapped."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from nightshift.attempt.trouble import Troubles, find_lack, find_trouble
from nightshift.core.errors import GitError, GitKilled, ReferenceLocked, SandboxError, SandboxUnready

NOW = datetime(2026, 3, 20, 12, tzinfo=UTC)


def cause(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (OSError(errno.ENOSPC, "x"), "disk of {repo} is full"),
        (OSError(errno.EROFS, "x", "/srv/elsewhere/a"), "disk of /srv/elsewhere/a is read-only"),
        (OSError(errno.EMFILE, "x"), "open files of this process (`ulimit -n`)"),
        (GitError("git write-tree failed: error: file write error: No space left on device"), "disk of {repo} is full"),
        (ReferenceLocked("x.lock is a day old"), "a lock in {repo}: x.lock is a day old"),
        (SandboxUnready("no namespace"), "the sandbox: no namespace"),
        (GitKilled("git mktree, which was ended by SIGKILL"), "git mktree, which was ended by SIGKILL"),
        (cause(SandboxError("not filled"), OSError(errno.ENOSPC, "x", "/tmp/job")), "disk of /tmp/job is full"),
        (ExceptionGroup("both", [ValueError(), OSError(errno.ENOSPC, "x")]), "disk of {repo} is full"),
        (GitError("base: there is no branch, tag or commit 'x'"), ""),
        (ValueError("No space left on device"), ""),
    ],
)
def test_only_what_is_around_a_task_is_waited_for(tmp_path: Path, error: Exception, why: str) -> None:
    assert find_trouble(error, tmp_path) == why.format(repo=tmp_path)


def test_a_place_that_is_away_is_waited_for_whatever_git_says_of_it(tmp_path: Path) -> None:
    gone = tmp_path / "disk" / "shop"
    assert find_trouble(GitError("repo: there is no folder"), gone) == f"{gone}, which is not there"
    assert find_trouble(ValueError(), gone) == "", "that is a fault of ours"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a real file system of 4 MB and 40 inodes."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m,nr_inodes=40", "tmpfs", str(folder)]
    mounted = subprocess.run(mount, capture_output=True, text=True, check=False)
    if mounted.returncode:
        assert os.geteuid(), f"root may mount: {mounted.stderr}"
        pytest.skip("only root may mount")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("lack", ["", "is full", "has no inodes left"])
def test_a_place_is_looked_at_before_anything_is_paid(small_disk: Path, lack: str) -> None:
    if lack == "is full":
        (small_disk / "fill").write_bytes(bytes(4 << 20))
    elif lack:
        for number in range(30):
            (small_disk / str(number)).touch()
    assert find_lack(small_disk) == (f"disk of {small_disk} {lack}" if lack else "")


def test_one_task_looks_more_and_more_seldom_and_the_others_wait_for_it() -> None:
    troubles, rests = Troubles(), list[float]()
    for _ in range(8):
        until, is_new = troubles.enter(1, "disk", NOW)
        rests.append((until - NOW).total_seconds())
        assert is_new == (len(rests) == 1)
    assert rests == [5, 10, 20, 40, 60, 60, 60, 60]
    assert troubles.enter(2, "disk", NOW) == (NOW + timedelta(minutes=5), False)
    assert troubles.leave(2) == ()
    assert troubles.leave(1) == ("disk",)
    assert troubles.enter(2, "disk", NOW) == (NOW + timedelta(seconds=5), True)


def test_a_task_that_meets_another_trouble_looks_for_that() -> None:
    troubles = Troubles()
    troubles.enter(1, "disk", NOW)
    troubles.enter(1, "lock", NOW)
    assert troubles.enter(2, "disk", NOW)[1], "nobody looked for it any more"
    assert troubles.leave(1) == ("lock",)
