"""Filters of the list of tasks that their owner keeps by name.

They stand in the database, so every browser and terminal has them; a filter is the query of its list, so its link is
the same for everybody.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from nightshift.core.errors import InvalidTask
from nightshift.server.context import settled
from nightshift.server.lists.task_list import TasksQuery
from nightshift.server.query import BadQuery, read_query
from nightshift.server.schemas import Answer
from nightshift.storage.db.database import Database
from nightshift.storage.db.state_store import StateStore

KEY = "saved_filters"
MOST = 50


class SavedFilter(Answer):
    """A filter by name; `query` is that of `/api/tasks`, as it stands in an address."""

    name: str
    query: str


class SavedFilters(Answer):
    """All that were kept, by name."""

    filters: list[SavedFilter]


class FilterKeptIn(BaseModel):
    """A filter to keep under a name, in place of what was there; an empty `query` forgets the name."""

    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=60)]
    query: Annotated[str, Field(max_length=5000)]


def saved_filters(database: Database) -> SavedFilters:
    """The filters that were kept."""
    kept: dict[str, Any] = StateStore(database).get(KEY) or {}
    names = sorted(kept, key=lambda name: (name.casefold(), name))
    return SavedFilters(filters=[SavedFilter(name=name, query=str(kept[name])) for name in names])


def keep_filter(database: Database, asked: FilterKeptIn) -> SavedFilters:
    """Keep a filter, or forget one; gives all that are kept then.

    Raises:
        InvalidTask: the query is none of the list's, or there are too many.
    """
    query = asked.query.strip().removeprefix("?")
    kept = {each.name: each.query for each in saved_filters(database).filters if each.name != asked.name}
    if query:
        _check(query)
        if len(kept) >= MOST:
            raise InvalidTask({"name": f"there are {MOST} filters already; forget one of them first"})
        kept[asked.name] = query
    settled(StateStore(database).set(KEY, kept))
    return saved_filters(database)


def _check(query: str) -> None:
    try:
        read_query(TasksQuery, query)
    except BadQuery as error:
        raise InvalidTask({"query": str(error)}) from None
