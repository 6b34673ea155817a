"""Serves tasks: submits, shows, lists, cancels and retries them."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from shlex import quote
from typing import Annotated, Any, Literal

from flask import request
from pydantic import BeforeValidator, Field, StrictBool, WithJsonSchema

from nightshift.core.tasks.states import Status, cause_first
from nightshift.core.tasks.submission import TaskIn
from nightshift.core.tasks.task import Kind, Task
from nightshift.core.text.plain_data import shallow
from nightshift.queue.listing import OWN, Order, Place, Sort, TaskFilter
from nightshift.server.bodies import read_task_body
from nightshift.server.context import AppContext, wait_for
from nightshift.server.endpoint import Reply, Routes
from nightshift.server.formatting import Mask, short
from nightshift.server.query import BadQuery, Bound, Query, moment
from nightshift.server.schemas import Child, Draft, Iteration, Moved, Sent, Submitted, TaskDetail, Tasks, TaskSummary
from nightshift.storage.db.codec import storable
from nightshift.storage.db.commit_signs import Signs
from nightshift.storage.db.state_store import Commit, describe_draft, read_draft
from nightshift.storage.db.step_store import IterationRow

MAX_TEXT = 200
MAX_REPO = 4096
MAX_LISTED_CHARS = 4000
MAX_TITLE_CHARS = 200
routes = Routes()


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
    cursor: str | None = Field(None, max_length=20_000, description="the `next` of the previous page")

    def sorting(self) -> Order:
        """Return the sort order that the query's fields describe."""
        return Order(by=self.sort, descending=self.order == "desc")

    def begin(self) -> Place | None:
        """Return the position after which the page begins, None for the first page.

        Raises:
            BadQuery: `cursor` belongs to another order, or is invalid.
        """
        return None if self.cursor is None else _parse_cursor(self.cursor, self.sorting())


class RetryIn(Sent):
    """Options for retrying a task. With `from_draft` the new attempt starts from the change in the task's draft."""

    from_draft: StrictBool = False


@routes.endpoint(
    "POST",
    "/api/task",
    answers={201: Submitted, 200: Submitted},
    body=TaskIn,
    body_required=True,
    text_body="the whole body is the description",
)
def submit_task(context: AppContext) -> Reply:
    """Add a task to the queue.

    A second request with the same `key` adds nothing and answers 200 with the first task's id. `differs` then names the
    fields in which the first task differs from the request.
    """
    spec = context.read_task(read_task_body(request))
    sent = wait_for(context.queue.submit(spec))
    return Reply(
        answer=Submitted.from_values(sent),
        status=201 if sent.created else 200,
        headers={"Location": f"/api/task/{sent.task_id}"},
    )


@routes.endpoint("GET", "/api/task/{task_id}")
def show_task(context: AppContext, task_id: int) -> TaskDetail:
    """Show a task with its iterations."""
    task = context.queue.get(task_id)
    family, draft = context.queue.family(task), context.reads.find_draft(task.id)
    return TaskDetail.from_values(
        task,
        task.spec,
        task_id=task.id,
        iteration_count=task.iterations,
        cause=cause_first(task.reason),
        metadata=shallow(task.spec.metadata),  # older versions stored values that JSON cannot hold
        parent=family.parent_id,
        children=[_child(part) for part in family.subtasks],
        reverted_by=context.reads.find_revert(task.id),
        iterations=_iterations(context.steps.iterations(task.id)),
        pruned=context.reads.list_pruned(task),
        waits_for=context.queue.waits_for(task.id) if task.status is Status.BLOCKED else (),
        draft=draft and _draft(draft, context.mask),
        has_draft=draft is not None and task.status is Status.FAILED,
    )


@routes.endpoint("GET", "/api/tasks")
def list_tasks(context: AppContext, query: TasksQuery) -> Tasks:
    """List tasks page by page, filtered and sorted; by default the newest first."""
    wanted, order = query.filter(), query.sorting()
    page = context.queue.list_tasks(wanted, order, query.limit + 1, query.begin())
    shown = page.places[: query.limit]
    last = shown[-1] if len(page.places) > len(shown) else None
    return Tasks(
        # Load the tasks one at a time: a task is loaded with its files, which may be megabytes.
        tasks=[_summary(context, position.task_id) for position in shown],
        next=_cursor(last, order) if last else None,
        total=page.total(wanted.statuses),
        counts=dict(page.counts),
    )


@routes.endpoint("POST", "/api/task/{task_id}/cancel")
def cancel_task(context: AppContext, task_id: int) -> Moved:
    """Cancel a task. A running task ends at its next safe point."""
    task = wait_for(context.queue.cancel(task_id))
    return Moved.from_values(task, task.spec, task_id=task.id)


@routes.endpoint("POST", "/api/task/{task_id}/retry")
def retry_task(context: AppContext, task_id: int, body: RetryIn | None) -> Moved:
    """Queue a failed or cancelled task again, from its beginning or from the change in its draft."""
    task = wait_for(context.queue.retry(task_id, from_draft=(body or RetryIn()).from_draft))
    return Moved.from_values(task, task.spec, task_id=task.id)


def _draft(entry: Commit, mask: Mask) -> Draft:
    """Return a task's draft from its entry in the ledger."""
    signs = entry.signs or Signs()
    return Draft.from_values(
        entry,
        text=short(describe_draft(entry), mask),
        tests=signs.tests,
        tests_passed=signs.tests_passed,
        failing=[short(name, mask) for name in signs.failing],
        look=f"git -C {quote(entry.repo)} diff {entry.base[:12]} {quote(entry.branch)}",
    )


def _child(part: Task) -> Child:
    title = part.spec.description.partition("\n")[0][:MAX_TITLE_CHARS]
    return Child.from_values(part, task_id=part.id, description=title)


def _iterations(rows: Sequence[IterationRow]) -> list[Iteration]:
    """Return a row for each iteration of each attempt.

    Steps before the first iteration are stored as iteration 0. They are shown as the beginning of iteration 1, or as a
    row of their own until iteration 1 has begun.
    """
    before = {row.attempt: row.phases for row in rows if row.iteration == 0}
    begun = {row.attempt for row in rows if row.iteration == 1}
    iterations = []
    for row in (row for row in rows if row.iteration or row.attempt not in begun):
        phases = (*before.get(row.attempt, ()), *row.phases) if row.iteration == 1 else row.phases
        iterations.append(Iteration.from_values(row, phases=phases))
    return iterations


def _summary(context: AppContext, task_id: int) -> TaskSummary:
    queue = context.queue
    task = queue.get(task_id)
    may_have_draft = task.status is Status.FAILED and task.branch and not task.commit
    text = task.spec.description
    return TaskSummary.from_values(
        task,
        task.spec,
        task_id=task.id,
        iteration_count=task.iterations,
        description=context.mask(text if len(text) <= MAX_LISTED_CHARS else text[:MAX_LISTED_CHARS] + "…"),
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
