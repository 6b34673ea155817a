"""What the weekly report reads of what is always kept: tasks, calls, commits, failures, asks.

Spans are half open: since ≤ t < until. Everything is read as it stood at the end of the span, so that a report which is
made again later says the same: a commit that was read since then is still unread in it, a fix that was found later is
not known yet. That a task ended, and was tried again after the span, is told by the log alone (`report_log`).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from core.clock import from_text, to_text
from core.gates import AskKind
from core.states import Ending, Status
from db.commit_signs import files_of, signs_of
from db.database import Database
from db.report_rows import AskRow, CommitRow, EndedTask, FailureRow, ModelCall, TrialRow
from db.sqlite import Row

TASK_COLUMNS = (
    "t.id, t.status, t.ending, t.reason, t.description, t.attempt, t.iterations, t.created_at, t.not_before, "
    "t.started_at, t.ended_at, coalesce(json_extract(s.spec, '$.kind'), '') AS kind, "
    "coalesce(json_extract(s.spec, '$.repo'), '') AS repo"
)


class ReportQueries:
    """Reads for the report; may be used from any thread."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def ended(self, since: datetime, until: datetime) -> list[EndedTask]:
        """The tasks whose last end lies in the span, by id."""
        rows = self._rows(
            f"SELECT {TASK_COLUMNS} FROM tasks t JOIN task_specs s ON s.task_id = t.id "  # noqa: S608  # constants
            "WHERE t.ended_at >= ? AND t.ended_at < ? ORDER BY t.id",
            *(since, until),
        )
        return [ended_task(row) for row in rows]

    def created_count(self, since: datetime, until: datetime) -> int:
        """How many tasks were submitted in the span."""
        rows = self._rows("SELECT count(*) FROM tasks WHERE created_at >= ? AND created_at < ?", since, until)
        return int(rows[0][0])

    def open_count(self, at: datetime) -> int:
        """How many tasks came before `at` and did not end before it, those that were tried again since among them."""
        (row,) = self._rows(
            "SELECT count(*) FROM tasks WHERE created_at < ? AND (ended_at IS NULL OR ended_at >= ?)", at, at
        )
        return int(row[0])

    def calls(self, since: datetime, until: datetime) -> list[ModelCall]:
        """The model calls that were answered in the span, in order."""
        rows = self._rows(
            "SELECT at, task_id, backend, model, tokens_in, tokens_out, cost_usd, latency_s, saved FROM model_stats "
            "WHERE at >= ? AND at < ? ORDER BY id",
            *(since, until),
        )
        return [ModelCall(**{**dict(row), "at": from_text(row["at"])}) for row in rows]

    def commits(self, since: datetime, until: datetime) -> list[CommitRow]:
        """The commits of the span, oldest first."""
        rows = self._rows(
            "SELECT c.*, coalesce(json_extract(s.spec, '$.repo'), '') AS asked_repo FROM git_commits c "
            "LEFT JOIN task_specs s ON s.task_id = c.task_id WHERE c.at >= ? AND c.at < ? ORDER BY c.id",
            *(since, until),
        )
        return [_commit(row, until) for row in rows]

    def unread_before(self, since: datetime, until: datetime) -> int:
        """How many commits older than the span were neither read nor taken back before `until`."""
        (row,) = self._rows(
            "SELECT count(*) FROM git_commits WHERE at < ? AND coalesce(reviewed_at, '9') >= ?", since, until
        )
        return int(row[0])

    def first_uses(self, until: datetime) -> dict[tuple[str, str], int]:
        """Repository (as tasks name it) and package → the task of the first commit that was judged with it."""
        rows = self._rows(
            "SELECT c.task_id, coalesce(json_extract(s.spec, '$.repo'), '') AS repo, p.key AS package "
            "FROM git_commits c LEFT JOIN task_specs s ON s.task_id = c.task_id, "
            "json_each(c.signs, '$.packages') p WHERE c.at < ? AND c.signs IS NOT NULL ORDER BY c.id",
            until,
        )
        first = dict[tuple[str, str], int]()
        for row in rows:
            first.setdefault((row["repo"], row["package"]), int(row["task_id"]))
        return first

    def failures(self, since: datetime, until: datetime) -> list[FailureRow]:
        """The failures of the span, oldest first."""
        rows = self._rows(
            "SELECT f.created_at, f.task_id, f.signature, f.error, f.code, "
            "coalesce(json_extract(s.spec, '$.repo'), '') AS repo, coalesce(f.fixed_at, '9') < ? AS solved, f.lesson "
            "FROM failures f LEFT JOIN task_specs s ON s.task_id = f.task_id "
            "WHERE f.created_at >= ? AND f.created_at < ? ORDER BY f.id",
            *(until, since, until),
        )
        return [_failure(row) for row in rows]

    def pattern_count(self, since: datetime, until: datetime) -> int:
        """How many solved tasks of the span were kept as patterns."""
        rows = self._rows("SELECT count(*) FROM patterns WHERE created_at >= ? AND created_at < ?", since, until)
        return int(rows[0][0])

    def trials(self, until: datetime) -> list[TrialRow]:
        """The attempts that a lesson was near to and that had ended before then, since ever; oldest first."""
        rows = self._rows(
            "SELECT coalesce(MAX(ended_at), MAX(at)) AS ended, MAX(arm = 'control') AS control, MAX(solved) AS solved, "
            "MAX(iterations) AS iterations, MAX(tokens) AS tokens FROM recalls WHERE solved IS NOT NULL "
            "GROUP BY task_id, attempt HAVING ended < ? ORDER BY ended, task_id, attempt",
            until,
        )
        return [_trial(row) for row in rows]

    def asks(self, since: datetime, until: datetime) -> list[AskRow]:
        """What was asked or answered in the span, or was still open at its end; oldest first."""
        rows = self._rows(
            "SELECT task_id, kind, subject, granted, asked_at, answered_at FROM approvals "
            "WHERE asked_at < ? AND (asked_at >= ? OR coalesce(answered_at, '9') >= ?) ORDER BY id",
            *(until, since, since),
        )
        return [_ask(row, until) for row in rows]

    def _rows(self, query: str, *values: datetime) -> list[Row]:
        return self._db.reader().execute(query, [to_text(value) for value in values]).fetchall()


def ended_task(row: Row | Mapping[str, Any]) -> EndedTask:
    """Read `TASK_COLUMNS` of a task that has ended."""
    return EndedTask(
        id=row["id"],
        status=Status(row["status"]),
        ending=Ending(row["ending"]) if row["ending"] else None,
        kind=row["kind"],
        repo=row["repo"],
        description=row["description"],
        reason=row["reason"],
        attempt=row["attempt"],
        iterations=row["iterations"],
        created_at=from_text(row["created_at"]),
        not_before=_time(row["not_before"]),
        started_at=_time(row["started_at"]),
        ended_at=from_text(row["ended_at"]),
    )


def _commit(row: Row, until: datetime) -> CommitRow:
    return CommitRow(
        id=row["id"],
        at=from_text(row["at"]),
        task_id=row["task_id"],
        attempt=row["attempt"],
        commit=row["commit_id"],
        asked_repo=row["asked_repo"],
        subject=row["subject"],
        label=row["label"],
        model=row["model"],
        iterations=row["iterations"],
        integrated=bool(row["integrated"]),
        pushed=_before(row["pushed_at"], until),
        reviewed=_before(row["reviewed_at"], until),
        reverted=row["reverted_by"] is not None and _before(row["reviewed_at"], until),
        files=files_of(row["files"]),
        signs=signs_of(row["signs"]),
    )


def _failure(row: Row) -> FailureRow:
    solved = bool(row["solved"])
    return FailureRow(
        at=from_text(row["created_at"]),
        task_id=row["task_id"],
        signature=row["signature"],
        error=row["error"],
        code=row["code"],
        repo=row["repo"],
        solved=solved,
        lesson=row["lesson"] if solved else "",
    )


def _trial(row: Row) -> TrialRow:
    return TrialRow(
        at=from_text(row["ended"]),
        control=bool(row["control"]),
        solved=bool(row["solved"]),
        iterations=row["iterations"],
        tokens=row["tokens"],
    )


def _ask(row: Row, until: datetime) -> AskRow:
    answered = _before(row["answered_at"], until)
    return AskRow(
        task_id=row["task_id"],
        kind=AskKind(row["kind"]),
        subject=row["subject"],
        granted=bool(row["granted"]) if answered else None,
        asked_at=from_text(row["asked_at"]),
        answered_at=from_text(row["answered_at"]) if answered else None,
    )


def _before(text: str | None, until: datetime) -> bool:
    return text is not None and from_text(text) < until


def _time(text: str | None) -> datetime | None:
    return from_text(text) if text else None
