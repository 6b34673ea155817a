"""Queries for the morning brief: tasks that ended, landed and failed in a time span, in their current state.

A span includes its first moment and excludes its last (since ≤ t < until). A task that failed and was requested again
does not count as failed, because each figure of the brief links to a list of the counted tasks, and that list shows
their current state.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from nightshift.core.clock import from_text, to_text
from nightshift.core.tasks.queueing import NOT_PUSHED
from nightshift.core.tasks.states import Ending, Status
from nightshift.core.tasks.task import Spent
from nightshift.storage.db import spending
from nightshift.storage.db.codec import read_row
from nightshift.storage.db.database import Database
from nightshift.storage.db.sqlite import Row

TITLE_CHARS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedTask:
    """A task that failed and was not requested again.

    Attributes:
        title: the beginning of the task's description.
        error: the newest failure without a known fix in the task's last attempt; empty if there is none.
        signature: the normalised form of `error`; empty if there is none.
        blocker: a task that this task depends on and that failed or was cancelled; None if there is none.
    """

    id: int
    title: str
    repo: str
    ending: Ending | None
    reason: str
    ended_at: datetime
    error: str
    signature: str
    blocker: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Numbers of tasks and commits in a time span.

    Attributes:
        done: tasks that are done.
        failed: tasks that failed.
        unpushed: tasks with a commit that could not be pushed.
        landed: commits that were integrated and not reverted.
        on_branch: commits that wait on a branch for the owner.
        drafts: commits that did not pass and were left on a branch.
    """

    done: int
    failed: int
    unpushed: int
    landed: int
    on_branch: int
    drafts: int


_FAILED = """
    SELECT t.id, substr(t.description, 1, ?) AS title, t.repo, t.ending, t.reason, t.ended_at,
        coalesce(f.error, '') AS error, coalesce(f.signature, '') AS signature,
        (SELECT min(d.depends_on) FROM task_dependencies d JOIN tasks o ON o.id = d.depends_on
            WHERE d.task_id = t.id AND o.status IN ('failed', 'cancelled')) AS blocker
    FROM tasks t LEFT JOIN failures f ON f.id = (
        SELECT id FROM failures WHERE task_id = t.id AND attempt = t.attempt AND NOT solved
        ORDER BY created_at DESC, id DESC LIMIT 1)
    WHERE t.status = 'failed' AND t.ended_at >= ? AND t.ended_at < ? ORDER BY t.id"""


class BriefQueries:
    """Queries for the brief; may be used from any thread."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def first(self) -> datetime | None:
        """Return the time of the first task; None if there is no task yet."""
        (row,) = self._rows("SELECT created_at FROM tasks ORDER BY id LIMIT 1") or (None,)
        return None if row is None else from_text(row[0])

    def counts(self, since: datetime, until: datetime) -> Counts:
        """Count the tasks that ended and the commits that were made in the span, by their current state."""
        span = (to_text(since), to_text(until))
        tasks = self._rows(
            "SELECT status, count(*) AS number, sum(reason GLOB ?) AS unpushed FROM tasks "
            "WHERE ended_at >= ? AND ended_at < ? GROUP BY status",
            f"*{NOT_PUSHED}*",
            *span,
        )
        by_status = {row["status"]: int(row["number"]) for row in tasks}
        (commits,) = self._rows(
            "SELECT coalesce(sum(integrated), 0) AS landed, coalesce(sum(label = 'draft'), 0) AS drafts, "
            "coalesce(sum(NOT integrated AND label <> 'draft'), 0) AS on_branch "
            "FROM git_commits WHERE reverted_by IS NULL AND discarded_at IS NULL AND at >= ? AND at < ?",
            *span,
        )
        return Counts(
            done=by_status.get(Status.DONE, 0),
            failed=by_status.get(Status.FAILED, 0),
            unpushed=sum(int(row["unpushed"]) for row in tasks),
            landed=int(commits["landed"]),
            on_branch=int(commits["on_branch"]),
            drafts=int(commits["drafts"]),
        )

    def failed(self, since: datetime, until: datetime) -> list[FailedTask]:
        """List the tasks that failed in the span, by id."""
        rows = self._rows(_FAILED, TITLE_CHARS, to_text(since), to_text(until))
        return [read_row(FailedTask, row) for row in rows]

    def spent(self, since: datetime, until: datetime) -> Spent:
        """Sum the model usage of all calls in the span."""
        conn = self._db.reader()
        return spending.since(conn, since) - spending.since(conn, until)

    def _rows(self, query: str, *values: str | int) -> list[Row]:
        return self._db.reader().execute(query, values).fetchall()
