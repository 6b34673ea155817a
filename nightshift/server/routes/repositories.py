"""Serves repositories: lists them, and shows and changes the settings that apply to the tasks in each."""

from __future__ import annotations

import shlex
from typing import Any

from pydantic import Field

from nightshift.core.errors import InvalidTask
from nightshift.core.program import format_command
from nightshift.core.tasks.repository_settings import BY_HAND, RepositoryOptions
from nightshift.server.context import AppContext
from nightshift.server.endpoint import Routes
from nightshift.server.query import Query
from nightshift.server.schemas import Answer, Sent

routes = Routes()

MAX_PATH = 4096


class RepositoryQuery(Query):
    """Repository whose settings are shown."""

    repo: str = Field(min_length=1, max_length=MAX_PATH, description="the path of its checkout")


class RepositoryChangeIn(Sent):
    """Changes of the settings that apply to tasks in a repository. The value null resets a setting."""

    repo: str = Field(min_length=1, max_length=MAX_PATH)
    changes: dict[str, Any] = Field(min_length=1, max_length=100)


class KnownRepositories(Answer):
    """The folders of repositories that tasks used or that have settings. The daemon's own repository comes first."""

    repositories: list[str]


@routes.endpoint("GET", "/api/repositories")
def list_repositories(context: AppContext) -> KnownRepositories:
    """List the folders of the known repositories."""
    return KnownRepositories(repositories=context.repository_settings.list_repositories())


@routes.endpoint("GET", "/api/repositories/settings")
def show_repository(context: AppContext, query: RepositoryQuery) -> RepositoryOptions:
    """Show the settings for tasks in a repository.

    The answer gives the source of each value, and the commands that the repository's files define.
    """
    return context.repository_settings.show(query.repo)


@routes.endpoint("PATCH", "/api/repositories/settings")
def change_repository(context: AppContext, body: RepositoryChangeIn) -> RepositoryOptions:
    """Change settings for tasks in a repository. If a value is wrong (400), no setting is changed."""
    if BY_HAND in body.changes:
        by_hand = format_command(f"repo-settings {shlex.quote(body.repo)} {BY_HAND}=RULE,RULE")
        why = f"decides which code is accepted: type {by_hand}"
        raise InvalidTask({BY_HAND: why})
    return context.repository_settings.change(body.repo, body.changes)
