"""The daemon's own repository, to ask about from a shell."""

from __future__ import annotations

from nightshift.config.load import load_settings
from nightshift.core.repositories import RepositoryStatus
from nightshift.core.tasks.revisions import Author
from nightshift.git.manager import GitManager


class OwnRepository:
    """The daemon's own repository; the settings are read with each question."""

    def get_repository_stats(self) -> RepositoryStatus:
        """Read how the repository stands.

        Raises:
            ConfigError: the settings have faults.
            GitError: the repository cannot be used, or git failed.
        """
        settings = load_settings()
        manager = GitManager(
            workspace=settings.workspace,
            author=Author(name=settings.git_author_name, email=settings.git_author_email),
            auto_push=False,
            emit=lambda _event: None,
            environ=settings.process_environment,
        )
        try:
            return manager.statuses.read(None)
        finally:
            manager.close()
