"""Lists tasks for the API and the command line: parses filter, order and cursor, and returns a page."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from nightshift.core.tasks.states import Status, cause_first
from nightshift.core.tasks.task import Kind
from nightshift.queue.listing import OWN, Order, Place, Sort, TaskFilter
from nightshift.queue.manager import QueueManager
from nightshift.server.query import BadQuery, Bound, Id, Query, moment
from nightshift.server.schemas import Tasks, TaskSummary
from nightshift.storage.db.codec import storable
from nightshift.storage.db.state_store import read_draft

MAX_TEXT = 200
MAX_REPO = 4096
MAX_LISTED_CHARS = 4000


def _by_comma(value: Any) -> Any:
    return [each.strip() for each in value.split(",") if each.strip()] if isinstance(value, str) else value


_ONE = f"({'|'.join(Status)})"
_MANY = {"type": "string", "pattern": f"^({_ONE}(,{_ONE})*)?$", "examples": ["failed,waiting"]}
Statuses = Annotated[frozenset[Status], BeforeValidator(_by_comma), WithJsonSchema(_MANY)]


class TaskSelection(Query):
    """Selection of tasks by their fields, in a query or in the body of a request for many tasks."""

    status: Statuses = Field(
        frozenset(), description="only tasks of these statuses, comma-separated", json_schema_extra={"default": ""}
    )
    q: str = Field("", max_length=MAX_TEXT, description="only tasks with this text, branch, commit or id")
    kind: Kind | None = Field(None, description="only tasks of this kind")
    repo: str | None = Field(
        None, max_length=MAX_REPO, description=f"only tasks in this repository; `{OWN}` is the daemon's own"
    )
    since: Bound | None = Field(None, description="only tasks that ended at this time or later; `today` means midnight")
    until: Bound | None = Field(None, description="only tasks that ended before this time")

    def filter(self) -> TaskFilter:
        """Return the filter that the fields describe."""
        return TaskFilter(
            statuses=self.status, text=self.q.strip(), kind=self.kind, repo=self.repo, since=moment(self.since),
            until=moment(self.until),
        )  # fmt: skip


class TasksQuery(TaskSelection):
    """Selection of tasks to list."""

    sort: Sort = Field(Sort.ID, description="the sort field; ties are sorted by id")
    order: Literal["asc", "desc"] = Field("desc", description="ascending or descending")
    limit: int = Field(50, ge=1, le=500, description="maximum number of results")
    after: Id | None = Field(
        None, description="the last task_id of the previous page; only when sorted by id, descending"
    )
    cursor: str | None = Field(None, max_length=20_000, description="the `next` of the previous page, in any order")

    def sorting(self) -> Order:
        """Return the sort order that the query's fields describe."""
        return Order(by=self.sort, descending=self.order == "desc")

    def begin(self) -> Place | None:
        """Return the position after which the page begins, None for the first page.

        Raises:
            BadQuery: `after` or `cursor` belongs to another order, or is invalid.
        """
        order = self.sorting()
        if self.after is not None:
            if self.cursor is not None or order != Order():
                raise BadQuery(
                    {"after": "works only when sorted by id, descending; otherwise send `cursor`, and never both"}
                )
            return Place(value=self.after, task_id=self.after)
        return None if self.cursor is None else _parse_cursor(self.cursor, order)


def list_of_tasks(queue: QueueManager, query: TasksQuery, mask: Callable[[str], str] = str) -> Tasks:
    """Return a page of the task list; `mask` removes secrets from descriptions.

    Raises:
        BadQuery: `after` or `cursor` belongs to another order, or is invalid.
    """
    wanted, order = query.filter(), query.sorting()
    page = queue.list_tasks(wanted, order, query.limit + 1, query.begin())
    shown = page.places[: query.limit]
    last = shown[-1] if len(page.places) > len(shown) else None
    return Tasks(
        # Load the tasks one at a time: a task is loaded with its files, which may be megabytes.
        tasks=[_summary(queue, position.task_id, mask) for position in shown],
        next_after=last.task_id if last and order == Order() else None,
        next=_cursor(last, order) if last else None,
        total=page.total(wanted.statuses),
        counts=dict(page.counts),
    )


def _summary(queue: QueueManager, task_id: int, mask: Callable[[str], str]) -> TaskSummary:
    task = queue.get(task_id)
    may_have_draft = task.status is Status.FAILED and task.branch and not task.commit
    text = task.spec.description
    return TaskSummary.from_values(
        task,
        task.spec,
        task_id=task.id,
        iteration_count=task.iterations,
        description=mask(text if len(text) <= MAX_LISTED_CHARS else text[:MAX_LISTED_CHARS] + "…"),
        cause=cause_first(task.reason),
        waits_for=queue.waits_for(task_id) if task.status is Status.BLOCKED else (),
        has_draft=bool(may_have_draft and queue.read(lambda conn: read_draft(conn, task_id))),
    )


def _cursor(position: Place, order: Order) -> str:
    text = json.dumps([order.by, order.descending, position.value, position.task_id], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode("utf-8", "surrogatepass")).rstrip(b"=").decode()


def _parse_cursor(cursor: str, order: Order) -> Place:
    try:
        padded = cursor.encode() + b"=" * (-len(cursor) % 4)
        by, descending, value, task_id = json.loads(base64.b64decode(padded, b"-_", validate=True))
        sound = isinstance(value, str | float) or _is_id(value, -(2**63))
    except (ValueError, TypeError, RecursionError):
        sound, by, descending, value, task_id = False, "", False, 0, 0
    if not sound or not _is_id(task_id):
        raise BadQuery({"cursor": "is not the `next` of a list; leave it out to start at the first page"})
    if (by, descending) != (order.by, order.descending):
        raise BadQuery({"cursor": "belongs to another sort order; leave it out to start at the first page"})
    return Place(value=storable(value) if isinstance(value, str) else value, task_id=task_id)


def _is_id(value: object, least: int = 1) -> bool:
    return type(value) is int and least <= value < 2**63
