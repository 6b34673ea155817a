from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from core.errors import SandboxError
from sandbox import staging


def test_files_are_written_readable_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        digests = staging.write(tmp_path, [("a/b/c.py", b"x"), ("run.sh", b"#!/bin/sh\n")])
    finally:
        os.umask(before)
    assert (tmp_path / "a/b/c.py").read_bytes() == b"x"
    assert (tmp_path / "a/b/c.py").stat().st_mode & 0o777 == 0o644
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "run.sh").stat().st_mode & 0o777 == 0o755
    assert digests["a/b/c.py"] == hashlib.sha256(b"x").hexdigest()


@pytest.mark.parametrize("path", ["/etc/x", "../x", "a/../../x", "a//b", "", ".git/config", "a\nb", "a\x00b"])
def test_paths_that_leave_the_folder_are_refused(path: str, tmp_path: Path) -> None:
    for from_tree in (False, True):
        if from_tree and path == "a\nb":
            continue  # git can hold such a name
        with pytest.raises(SandboxError):
            staging.write(tmp_path, [(path, b"")], from_tree=from_tree)


def test_names_that_only_a_repository_may_have_are_staged_from_a_tree(tmp_path: Path) -> None:
    with pytest.raises(SandboxError):
        staging.write(tmp_path, [(".github/workflows/ci.yml", b"")])
    assert staging.write(tmp_path, [(".github/workflows/ci.yml", b"")], from_tree=True)


def test_nothing_is_followed_or_overwritten(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("whole")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "link").symlink_to(outside)
    (tmp_path / "in" / "there").write_text("whole")
    for name in ("link", "there"):
        with pytest.raises(SandboxError, match="File exists"):
            staging.write(tmp_path / "in", [(name, b"changed")])
    assert outside.read_text() == (tmp_path / "in" / "there").read_text() == "whole"


def test_a_huge_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="larger than"):
        staging.write(tmp_path, [("big", bytes(staging.MAX_FILE_BYTES + 1))])


def test_the_digest_depends_on_every_path_and_byte() -> None:
    one = staging.digest_of({"a": "1", "b": "2"})
    assert one == staging.digest_of({"b": "2", "a": "1"})
    assert len({one, staging.digest_of({"a": "2", "b": "1"}), staging.digest_of({"a": "1"})}) == 3


def test_a_jobs_folder_is_gone_afterwards_and_those_of_dead_daemons_are_swept(tmp_path: Path) -> None:
    (tmp_path / "999999999-abc").mkdir()
    with staging.job_folder(tmp_path) as folder:
        (folder / "x").write_text("x")
        staging.sweep(tmp_path)
        assert [path.name for path in tmp_path.iterdir()] == [folder.name]
    assert not list(tmp_path.iterdir())
