"""Lists of tasks: filtered, in any order, and page by page.

A list is read from one index, or from the rows if a text is searched. A page ends at a *place*, which is the sort value
and the id of the page's last task, and the next page begins after this place. So a page is correct even if tasks were
added or moved meanwhile. If nothing changes, the pages together show each task exactly once, in any order (keyset
pagination, https://use-the-index-luke.com/no-offset).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from nightshift.core.clock import from_text, to_text
from nightshift.core.tasks.states import Status
from nightshift.core.tasks.task import Kind
from nightshift.storage.db.codec import like, storable
from nightshift.storage.db.schema import COST, TOKENS
from nightshift.storage.db.sqlite import Connection

OWN = "workspace"
"""Name of the daemon's own repository in a filter; other repositories are absolute paths."""
STANDING = (
    *(Status.RUNNING, Status.WAITING, Status.QUEUED, Status.SCHEDULED),
    *(Status.BLOCKED, Status.SHARED, Status.FAILED, Status.DONE, Status.CANCELLED),
)
"""The order of statuses: active tasks come first, and finished tasks last."""
assert set(STANDING) == set(Status)


class Sort(StrEnum):
    """Sort keys for a list of tasks; tasks with equal values are sorted by id."""

    ID = "id"
    PRIORITY = "priority"
    STATUS = "status"
    KIND = "kind"
    REPO = "repo"
    CREATED = "created"
    STARTED = "started"
    ENDED = "ended"
    ITERATIONS = "iterations"
    COST = "cost"
    TOKENS = "tokens"
    NEXT = "next"
    """In ascending order, running tasks come first, then the other tasks in the order in which they will be claimed."""


_STEPS = " ".join(f"WHEN '{status}' THEN {step}" for step, status in enumerate(STANDING))
_KEYS = {
    Sort.ID: "id",
    Sort.PRIORITY: "priority",
    Sort.STATUS: f"CASE status {_STEPS} END",
    Sort.KIND: "kind",
    Sort.REPO: "repo",
    Sort.CREATED: "created_at",
    Sort.STARTED: "coalesce(started_at, '')",
    Sort.ENDED: "coalesce(ended_at, '')",
    Sort.ITERATIONS: "iterations",
    Sort.COST: COST,
    Sort.TOKENS: TOKENS,
    Sort.NEXT: f"(CASE status {_STEPS} END) * 4000000 - priority",  # a priority has at most seven digits
}
Value = str | int | float


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFilter:
    """Conditions on tasks; a condition that is None or empty matches all tasks.

    Each word of `text` must be in the description, the reason, the repository or the branch (ignoring the case of ASCII
    letters), or be the beginning of the commit's id. If `text` is a single word, it may also be the task's id (`12` or
    `#12`). `repo` is a repository as tasks name it, or `OWN`. `since` and `until` limit the time of the task's end:
    since ≤ t < until.
    """

    statuses: frozenset[Status] = frozenset()
    text: str = ""
    kind: Kind | None = None
    repo: str | None = None
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The end of a page: the sort value and the id of its last task."""

    value: Value
    task_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """One page: the places of its tasks, and the number of matching tasks of each status.

    The numbers include the statuses that the filter excludes.
    """

    counts: Mapping[Status, int]
    places: tuple[Place, ...]

    def total(self, statuses: frozenset[Status]) -> int:
        """Count the matching tasks with one of these statuses, or all matching tasks if no status is given."""
        return sum(count for status, count in self.counts.items() if not statuses or status in statuses)


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """The sort order of a list."""

    by: Sort = Sort.ID
    descending: bool = True


def read_queued_since(conn: Connection) -> datetime | None:
    """Return the creation time of the oldest task that can be claimed now; None if there is none."""
    text = conn.execute("SELECT MIN(created_at) FROM tasks WHERE status = 'queued'").fetchone()[0]
    return None if text is None else from_text(text)


def read_page(conn: Connection, wanted: TaskFilter, order: Order, limit: int, after: Place | None) -> Listed:
    """Read a page of a list, with the counts by status, in one query; `after` is the end of the previous page."""
    where, values = _where(wanted)
    key, way, than = _KEYS[order.by], "DESC" if order.descending else "ASC", "<" if order.descending else ">"
    behind, more = "1", list[object]()
    if wanted.statuses:
        behind, more = f"status IN ({', '.join('?' * len(wanted.statuses))})", [*sorted(wanted.statuses)]
    if after is not None:
        behind, more = f"{behind} AND (value, id) {than} (?, ?)", [*more, after.value, after.task_id]
    query = (
        f"WITH found AS MATERIALIZED (SELECT id, status, {key} AS value FROM tasks WHERE {where}) "  # noqa: S608  ours
        "SELECT status, NULL AS value, COUNT(*) AS number FROM found GROUP BY status UNION ALL "
        f"SELECT * FROM (SELECT NULL, value, id FROM found WHERE {behind} ORDER BY value {way}, id {way} LIMIT ?)"
    )
    rows = conn.execute(query, (*values, *more, limit)).fetchall()
    counted = {row["status"]: row["number"] for row in rows if row["status"] is not None}
    places = tuple(Place(value=row["value"], task_id=row["number"]) for row in rows if row["status"] is None)
    return Listed(counts={status: counted.get(status, 0) for status in Status}, places=places)


def _where(wanted: TaskFilter) -> tuple[str, Sequence[object]]:
    clauses, values = ["1"], list[object]()
    if wanted.text:
        words = wanted.text.split()
        for clause, more in (_holding(word, is_alone=len(words) == 1) for word in words):
            clauses, values = [*clauses, clause], [*values, *more]
    if wanted.kind is not None:
        clauses, values = [*clauses, "kind = ?"], [*values, wanted.kind]
    if wanted.repo is not None:
        clauses, values = [*clauses, "repo = ?"], [*values, "" if wanted.repo == OWN else storable(wanted.repo)]
    for bound, clause in ((wanted.since, "ended_at >= ?"), (wanted.until, "ended_at < ?")):
        if bound is not None:
            clauses, values = [*clauses, clause], [*values, to_text(bound)]
    return " AND ".join(clauses), values


def _holding(text: str, *, is_alone: bool) -> tuple[str, Sequence[object]]:
    """Return the SQL condition for tasks that contain a word; if the word is alone, it may also be the id of a task."""
    fields = ("description", "reason", "repo", "branch")
    anywhere = like(text)
    clauses = [*(f"{field} LIKE ? ESCAPE '\\'" for field in fields), "commit_id LIKE ? ESCAPE '\\'"]
    values: list[object] = [*([anywhere] * len(fields)), anywhere[1:]]
    number = text.removeprefix("#")
    if is_alone and number.isascii() and number.isdigit() and len(number) < 19:
        clauses, values = [*clauses, "id = ?"], [*values, int(number)]
    return f"({' OR '.join(clauses)})", values
