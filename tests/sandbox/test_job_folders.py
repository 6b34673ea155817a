from __future__ import annotations

import os
from pathlib import Path

import pytest

from nightshift.core.errors import SandboxError
from nightshift.sandbox import job_folders, launcher


def test_a_folder_that_jobs_can_enter_is_used_itself(folder: Path) -> None:
    assert job_folders.public(folder / "a") == folder / "a"
    private = job_folders.private(folder / "b" / "c")
    assert private == folder / "b" / "c"
    assert private.stat().st_mode & 0o007 == 0, "other users have no business there"
    if os.geteuid() == 0:
        assert private.stat().st_gid == launcher.JOB_UID


def test_a_closed_folder_gets_a_stand_in_that_stays_the_same(folder: Path, tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    wanted = tmp_path / "staging"
    stand_in = job_folders.private(wanted, folder)
    if os.geteuid() != 0:
        assert stand_in == wanted, "a plain user's jobs run as that user"
        return
    assert stand_in.is_relative_to(folder)
    assert job_folders.enterable(stand_in.parent)
    assert job_folders.private(wanted, folder) == stand_in
    wanted.rmdir()
    job_folders.private(tmp_path / "other", folder)
    assert not stand_in.exists(), "what stood in for a folder that is gone is gone too"


def test_a_folder_that_is_a_link_is_refused(folder: Path, tmp_path: Path) -> None:
    (folder / "elsewhere").mkdir()
    (folder / f"nightshift-{os.geteuid()}").symlink_to(folder / "elsewhere")
    (folder / "link").symlink_to(folder / "elsewhere")
    with pytest.raises(SandboxError, match="belongs to another user"):
        job_folders.public(folder / "link")
    if os.geteuid() == 0:
        with pytest.raises(SandboxError, match="belongs to another user"):
            job_folders.public(tmp_path / "runner", folder)
