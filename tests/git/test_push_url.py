"""The remote of a push is the one that git would choose."""

from __future__ import annotations

from pathlib import Path

import pytest

from nightshift.git.discovery import discover
from tests.support.git_repo import OWNER, git, make_repo


@pytest.mark.parametrize(
    ("remotes", "settings", "chosen"),
    [
        ("up mine", {"branch.dev.pushRemote": "mine", "branch.dev.remote": "up"}, "mine"),
        ("origin fork", {"branch.dev.remote": "fork"}, "fork"),
        ("origin", {"remote.pushDefault": "of-another-repository"}, "origin"),
    ],
)
def test_the_remote_is_the_one_that_git_would_choose(
    tmp_path: Path, remotes: str, settings: dict[str, str], chosen: str
) -> None:
    repo = make_repo(tmp_path / "shop")
    for name in remotes.split():
        git(repo, "remote", "add", name, f"/srv/{name}.git")
    for key, value in settings.items():
        git(repo, "config", key, value)
    assert discover(repo, OWNER).configuration.push_url("dev") == f"/srv/{chosen}.git"
