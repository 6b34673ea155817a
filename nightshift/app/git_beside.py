"""Git for a process of its own that looks at repositories, beside a daemon or without one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nightshift.app.suites import drop_event
from nightshift.config.load import Settings
from nightshift.core.tasks.revisions import Author
from nightshift.git.manager import GitManager


@contextmanager
def git_beside(settings: Settings, folder: Path) -> Iterator[GitManager]:
    """A git manager whose workspace is a folder for its views: the daemon's own is not needed for that, nor touched.

    Args:
        settings: the variables that git is run with.
        folder: one that nobody else uses.
    """
    git = GitManager(
        workspace=folder / "views",
        author=Author(name="Nightshift", email="nightshift@localhost"),
        auto_push=False,
        emit=drop_event,
        environ=settings.process_environment,
    )
    try:
        yield git
    finally:
        git.close()
