"""What the weekly report reads: the rows of one span of time, as values. Spans are half open: since ≤ t < until."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from core.clock import from_text, to_text
from core.states import Ending, Status
from db.database import Database
from db.sqlite import Row


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedTask:
    """A task that ended in the span; `kind` is empty where none was given."""

    id: int
    status: Status
    ending: Ending | None
    kind: str
    description: str
    reason: str
    attempt: int
    iterations: int
    created_at: datetime
    not_before: datetime | None
    started_at: datetime | None
    ended_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """One answered call; `cost_usd` is None where the price is not known.

    `saved` names the backend whose call the built-in engine made needless; empty for all other replies.
    """

    backend: str
    model: str
    tokens_in: int
    tokens_out: int
    cost_usd: float | None
    latency_s: float
    saved: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitRow:
    """One commit; `model` are the models that had a hand in it."""

    task_id: int
    model: str
    label: str
    integrated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureCount:
    """A kind of failure by its normalised signature, how often it was met, and how often its fix was found."""

    signature: str
    count: int
    solved: int


class ReportQueries:
    """Reads for the report; may be used from any thread."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def ended(self, since: datetime, until: datetime) -> list[EndedTask]:
        """The tasks that ended in the span, by id."""
        rows = self._rows(
            "SELECT t.*, coalesce(json_extract(s.spec, '$.kind'), '') AS kind FROM tasks t "
            "JOIN task_specs s ON s.task_id = t.id WHERE t.ended_at >= ? AND t.ended_at < ? ORDER BY t.id",
            since,
            until,
        )
        return [_ended(row) for row in rows]

    def created_count(self, since: datetime, until: datetime) -> int:
        """How many tasks were submitted in the span."""
        rows = self._rows("SELECT count(*) FROM tasks WHERE created_at >= ? AND created_at < ?", since, until)
        return int(rows[0][0])

    def open_count(self, at: datetime) -> int:
        """How many tasks had been submitted before `at` and had not ended then."""
        rows = self._rows("SELECT count(*) FROM tasks WHERE created_at < ? AND coalesce(ended_at, '9') >= ?", at, at)
        return int(rows[0][0])

    def calls(self, since: datetime, until: datetime) -> list[ModelCall]:
        """The model calls that were answered in the span."""
        columns = "backend, model, tokens_in, tokens_out, cost_usd, latency_s, saved"
        rows = self._rows(
            f"SELECT {columns} FROM model_stats WHERE at >= ? AND at < ? ORDER BY id",  # noqa: S608  # a constant
            since,
            until,
        )
        return [ModelCall(**dict(row)) for row in rows]

    def commits(self, since: datetime, until: datetime) -> list[CommitRow]:
        """The commits of the span."""
        rows = self._rows(
            "SELECT task_id, model, label, integrated FROM git_commits WHERE at >= ? AND at < ? ORDER BY id",
            since,
            until,
        )
        return [CommitRow(**{**dict(row), "integrated": bool(row["integrated"])}) for row in rows]

    def failures(self, since: datetime, until: datetime, limit: int) -> list[FailureCount]:
        """The commonest failures of the span, the commonest first."""
        rows = self._rows(
            "SELECT signature, count(*) AS count, sum(solved) AS solved FROM failures "
            "WHERE created_at >= ? AND created_at < ? GROUP BY signature ORDER BY count DESC, signature LIMIT ?",
            since,
            until,
            limit,
        )
        return [FailureCount(**dict(row)) for row in rows]

    def event_counts(self, since: datetime, until: datetime) -> Mapping[str, int]:
        """How often each kind of event was logged in the span."""
        rows = self._rows(
            "SELECT kind, count(*) FROM execution_logs WHERE at >= ? AND at < ? GROUP BY kind ORDER BY kind",
            since,
            until,
        )
        return {row[0]: int(row[1]) for row in rows}

    def backend_failures(self, since: datetime, until: datetime) -> Mapping[str, int]:
        """How many calls failed in the span, by backend."""
        rows = self._rows(
            "SELECT coalesce(json_extract(data, '$.backend'), '') AS backend, count(*) FROM execution_logs "
            "WHERE kind = 'model_failed' AND at >= ? AND at < ? GROUP BY backend ORDER BY backend",
            since,
            until,
        )
        return {row[0]: int(row[1]) for row in rows}

    def declined(self, since: datetime, until: datetime) -> tuple[int, float]:
        """How often the built-in engine looked in the span and had no answer, and how many seconds that took."""
        (row,) = self._rows(
            "SELECT count(*), total(json_extract(data, '$.seconds')) FROM execution_logs "
            "WHERE kind = 'repair_declined' AND json_extract(data, '$.seconds') > 0 AND at >= ? AND at < ?",
            since,
            until,
        )
        return int(row[0]), float(row[1])

    def _rows(self, query: str, *values: datetime | int) -> list[Row]:
        texts = [to_text(value) if isinstance(value, datetime) else value for value in values]
        return self._db.reader().execute(query, texts).fetchall()


def _ended(row: Row) -> EndedTask:
    return EndedTask(
        id=row["id"],
        status=Status(row["status"]),
        ending=Ending(row["ending"]) if row["ending"] else None,
        kind=row["kind"],
        description=row["description"],
        reason=row["reason"],
        attempt=row["attempt"],
        iterations=row["iterations"],
        created_at=from_text(row["created_at"]),
        not_before=_time(row["not_before"]),
        started_at=_time(row["started_at"]),
        ended_at=from_text(row["ended_at"]),
    )


def _time(text: str | None) -> datetime | None:
    return from_text(text) if text else None
