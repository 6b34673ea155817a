"""Serves repositories: listing them, and showing and changing the settings for the tasks of each."""

from __future__ import annotations

import shlex
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from nightshift.core.errors import InvalidTask
from nightshift.core.program import format_command
from nightshift.core.tasks.repository_settings import BY_HAND, RepositoryOptions
from nightshift.server.context import AppContext
from nightshift.server.endpoint import Routes
from nightshift.server.query import Query
from nightshift.server.schemas import Answer

routes = Routes()

MAX_PATH = 4096


class RepositoryQuery(Query):
    """Repository to show."""

    repo: str = Field(min_length=1, max_length=MAX_PATH, description="the path of its checkout")


class RepositoryChangeIn(BaseModel):
    """Changes of a repository's settings for its tasks; null resets a value."""

    model_config = ConfigDict(extra="forbid")

    repo: str = Field(min_length=1, max_length=MAX_PATH)
    changes: dict[str, Any] = Field(min_length=1, max_length=100)


class KnownRepositories(Answer):
    """The folders of repositories that tasks used or that have settings; the daemon's own comes first."""

    repositories: list[str]


@routes.endpoint("GET", "/api/repositories")
def list_repositories(context: AppContext) -> KnownRepositories:
    """List the known repositories."""
    return KnownRepositories(repositories=context.repository_settings.list_repositories())


@routes.endpoint("GET", "/api/repositories/settings")
def show_repository(context: AppContext, query: RepositoryQuery) -> RepositoryOptions:
    """Show the settings for a repository's tasks, the source of each, and the commands that its files define."""
    return context.repository_settings.show(query.repo)


@routes.endpoint("PATCH", "/api/repositories/settings")
def change_repository(context: AppContext, body: RepositoryChangeIn) -> RepositoryOptions:
    """Change the settings for the tasks of a repository: all given ones, or on an error (400) none."""
    if BY_HAND in body.changes:
        by_hand = format_command(f"repo-settings {shlex.quote(body.repo)} {BY_HAND}=RULE,RULE")
        why = f"decides which code is accepted: type {by_hand}"
        raise InvalidTask({BY_HAND: why})
    return context.repository_settings.change(body.repo, body.changes)
