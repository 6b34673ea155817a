"""The search of the command palette: tasks, settings, lines of the log and model calls by words, a few of each."""

from __future__ import annotations

from pydantic import Field

from nightshift.core.clock import Moment
from nightshift.core.errors import ConfigError
from nightshift.core.events import Level
from nightshift.core.tasks.states import Phase, Status
from nightshift.server.context import AppContext
from nightshift.server.endpoint import Routes
from nightshift.server.formatting import short
from nightshift.server.lists.task_list import TasksQuery, list_of_tasks
from nightshift.server.query import Query
from nightshift.server.schemas import Answer
from nightshift.storage.db import text_search

routes = Routes()

TASKS, OTHERS = 8, 5
"""So many of each are found."""
MAX_WORDS = 8
LEAST_CHARS = 2
"""Shorter words say nothing about a long text."""


class SearchQuery(Query):
    """Words to look for."""

    q: str = Field("", max_length=200, description="words that must all be there; none gives the newest tasks")


class TaskHit(Answer):
    """A task; `title` is the first line of its description."""

    task_id: int
    title: str
    status: Status


class SettingHit(Answer):
    """A setting, and what it is for."""

    name: str
    text: str
    group: str


class LineHit(Answer):
    """A line of the log."""

    id: int
    at: Moment
    level: Level
    task_id: int | None
    message: str


class CallHit(Answer):
    """A model call whose prompt or reply holds the words."""

    task_id: int
    attempt: int
    iteration: int
    step_no: int
    phase: Phase
    at: Moment
    excerpt: str


class Hits(Answer):
    """Hits, the newest first. Lines and calls are those among the newest `of_lines` and `of_calls`."""

    tasks: list[TaskHit]
    settings: list[SettingHit]
    lines: list[LineHit]
    calls: list[CallHit]
    of_lines: int
    of_calls: int


@routes.endpoint("GET", "/api/search")
def search(context: AppContext, query: SearchQuery) -> Hits:
    """Find a few tasks, settings, lines of the log and model calls that hold all the words."""
    words, conn = query.q.split()[:MAX_WORDS], context.database.reader()
    wanted = TasksQuery.model_validate({"q": " ".join(words), "limit": TASKS})
    tasks = list_of_tasks(context.queue, wanted, context.mask).tasks
    is_enough = any(len(word) >= LEAST_CHARS for word in words)
    lines = text_search.find_lines(conn, words, OTHERS) if is_enough else []
    calls = text_search.find_calls(conn, words, OTHERS) if is_enough else []
    return Hits(
        tasks=[
            TaskHit(
                task_id=task.task_id, title=short(task.description.partition("\n")[0], context.mask), status=task.status
            )
            for task in tasks
        ],
        settings=_settings(context, words) if is_enough else [],
        lines=[LineHit.from_values(line, message=short(line.message, context.mask)) for line in lines],
        calls=[CallHit.from_values(call, excerpt=short(call.excerpt, context.mask)) for call in calls],
        of_lines=text_search.LINES,
        of_calls=text_search.CALLS,
    )


def _settings(context: AppContext, words: list[str]) -> list[SettingHit]:
    """Settings by name, group and description, those whose name holds the words first; none where none are known."""
    try:
        rows = context.settings.show().settings
    except ConfigError:
        return []
    lower = [word.casefold() for word in words]
    named = [row for row in rows if _holds(f"{row.name} {row.name.replace('_', ' ')}", lower)]
    told = [row for row in rows if row not in named and _holds(f"{row.name} {row.group} {row.text}", lower)]
    return [SettingHit(name=row.name, text=row.text, group=row.group) for row in (*named, *told)][:OTHERS]


def _holds(text: str, words: list[str]) -> bool:
    return all(word in text.casefold() for word in words)
