"""Provides real repositories with a history of a few commits, and fixtures that validate their commits."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from nightshift.core.tasks.revisions import Author
from nightshift.git.manager import GitManager
from tests.support.git_repo import git, make_repo, write


class Shop:
    """A small repository to which a test adds commits, each dated a minute after the previous one.

    git stores times in seconds, and candidates are validated newest first.
    """

    def __init__(self, folder: Path) -> None:
        self._newest = datetime.now(UTC)
        self.path = make_repo(
            folder,
            {
                "price.py": "def net(total):\n    return total\n",
                "test_price.py": "from price import net\n\n\ndef test_zero():\n    assert net(0) == 0\n",
            },
        )

    def commit(self, message: str, files: dict[str, str | bytes]) -> str:
        """Commit files and return the commit's id."""
        write(self.path, files)
        git(self.path, "add", "-A")
        self._newest += timedelta(minutes=1)
        date = self._newest.isoformat(timespec="seconds")
        dates = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
        git(self.path, "commit", "-q", "-F", "-", stdin=message, env=dates)
        return git(self.path, "rev-parse", "HEAD")


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path / "shop")


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[GitManager]:
    git_manager = GitManager(
        workspace=tmp_path / "views", author=Author(), auto_push=False, emit=lambda _event: None,
        environ={"PATH": "/usr/bin:/bin:/usr/local/bin"},
    )  # fmt: skip
    yield git_manager
    git_manager.close()
