"""Serves the search of the command palette, which finds a few tasks and settings by words."""

from __future__ import annotations

from pydantic import Field

from nightshift.core.errors import ConfigError
from nightshift.core.tasks.states import Status
from nightshift.server.context import AppContext, Busy
from nightshift.server.endpoint import Routes
from nightshift.server.formatting import short
from nightshift.server.query import Query
from nightshift.server.routes.tasks import TasksQuery, list_tasks
from nightshift.server.schemas import Answer

routes = Routes()

TASKS, SETTINGS = 8, 5
"""Maximum number of tasks and maximum number of settings in an answer."""
MAX_WORDS = 8
LEAST_CHARS = 2
"""Minimum number of characters of a word. If all words are shorter, settings are not searched."""


class SearchQuery(Query):
    """Words to search for."""

    q: str = Field("", max_length=200, description="words that must all occur; without any, the newest tasks")


class TaskHit(Answer):
    """A task; `title` is the first line of its description."""

    task_id: int
    title: str
    status: Status


class SettingHit(Answer):
    """A setting that was found. `text` says what the setting is for."""

    name: str
    text: str
    group: str


class Hits(Answer):
    """Results of a search. Tasks are sorted newest first."""

    tasks: list[TaskHit]
    settings: list[SettingHit]


@routes.endpoint("GET", "/api/search")
def search(context: AppContext, query: SearchQuery) -> Hits:
    """Find a few tasks and settings that contain all the words."""
    words = query.q.split()[:MAX_WORDS]
    wanted = TasksQuery.model_validate({"q": " ".join(words), "limit": TASKS})
    return Hits(
        tasks=[
            TaskHit.from_values(task, title=short(task.description.partition("\n")[0], context.mask))
            for task in list_tasks(context, wanted).tasks
        ],
        settings=_settings(context, words) if any(len(word) >= LEAST_CHARS for word in words) else [],
    )


def _settings(context: AppContext, words: list[str]) -> list[SettingHit]:
    """Find settings by name, group and description. Settings whose name matches come first.

    The list is empty if the settings cannot be read.
    """
    try:
        rows = context.settings.show().settings
    except (Busy, ConfigError):
        return []
    lower = [word.casefold() for word in words]
    named = [row for row in rows if _holds(f"{row.name} {row.name.replace('_', ' ')}", lower)]
    described_rows = [row for row in rows if row not in named and _holds(f"{row.name} {row.group} {row.text}", lower)]
    return [SettingHit(name=row.name, text=row.text, group=row.group) for row in (*named, *described_rows)][:SETTINGS]


def _holds(text: str, words: list[str]) -> bool:
    return all(word in text.casefold() for word in words)
