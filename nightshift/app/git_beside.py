"""Git for processes that may run at the same time as a daemon. They read any repository, or the daemon's own one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nightshift.app.suites import drop_event
from nightshift.config.load import Settings, load_settings
from nightshift.core.tasks.revisions import Author, RepositoryStatus
from nightshift.git.manager import GitManager


@contextmanager
def git_beside(settings: Settings, folder: Path) -> Iterator[GitManager]:
    """Yield a git manager whose workspace is a temporary folder, so that the daemon's own workspace is not touched.

    Args:
        settings: contain the environment variables for git.
        folder: a folder that nothing else uses.
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


class OwnRepository:
    """Reads the daemon's own repository; the settings are read again for each call."""

    def get_repository_stats(self) -> RepositoryStatus:
        """Read the status of the repository.

        Raises:
            ConfigError: the settings have faults.
            GitError: the repository cannot be used, or git failed.
        """
        settings = load_settings()
        manager = GitManager(
            workspace=settings.workspace,
            author=Author(name=settings.git_author_name, email=settings.git_author_email),
            auto_push=False,
            emit=drop_event,
            environ=settings.process_environment,
        )
        try:
            return manager.statuses.read(None)
        finally:
            manager.close()
