"""What the weekly report reads of the log of events.

Old events are pruned. What is asked here begins where the log is whole, and `whole_since` tells where that is, so that
a report which is made again after that says what is no longer known instead of counting zero.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from core.clock import from_text, to_text
from core.events import Kind
from core.queueing import HoldSource
from core.states import ENDED, Ending, Status
from db.database import Database
from db.pruning import events_pruned
from db.report_queries import TASK_COLUMNS, ended_task
from db.report_rows import EndedTask, LogRow
from db.sqlite import Row

_MOVES = "e.kind IN ('task_moved', 'task_claimed', 'task_recovered')"
_ENDS = ", ".join(f"'{status}'" for status in sorted(ENDED))


class ReportLog:
    """Reads of the log; may be used from any thread."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def whole_since(self) -> datetime | None:
        """From when on the log has all its events; None when nothing was ever pruned."""
        pruned = events_pruned(self._db.reader())
        return pruned.before if pruned else None

    def counts(self, since: datetime, until: datetime) -> dict[str, int]:
        """How often each kind of event was logged in the span."""
        query = "SELECT kind, count(*) FROM execution_logs WHERE at >= ? AND at < ? GROUP BY kind ORDER BY kind"
        return {row[0]: int(row[1]) for row in self._rows(query, to_text(since), to_text(until))}

    def events(self, since: datetime | None, until: datetime, kinds: Iterable[Kind]) -> list[LogRow]:
        """The events of some kinds in the span (None: from the beginning), in the order in which they were stored."""
        wanted = sorted(kinds)
        marks = ", ".join("?" * len(wanted))
        query = (
            "SELECT id, at, kind, message, task_id, data FROM execution_logs "  # noqa: S608  # question marks
            f"WHERE at >= ? AND at < ? AND kind IN ({marks}) ORDER BY id"
        )
        return [_log_row(row) for row in self._rows(query, to_text(since) if since else "", to_text(until), *wanted)]

    def last_before(self, event_id: int) -> datetime | None:
        """When the event was stored that came before this one."""
        rows = self._rows("SELECT at FROM execution_logs WHERE id < ? ORDER BY id DESC LIMIT 1", event_id)
        return from_text(rows[0][0]) if rows else None

    def earlier_ends(self, since: datetime, until: datetime) -> list[EndedTask]:
        """Ends in the span of tasks that were tried again afterwards, in the order in which they came."""
        rows = self._rows(
            f"SELECT {TASK_COLUMNS}, e.at AS at, e.attempt AS attempt_then, e.iteration AS iteration_then, "  # noqa: S608  # constants
            "e.data AS data FROM execution_logs e JOIN tasks t ON t.id = e.task_id "
            f"JOIN task_specs s ON s.task_id = t.id WHERE {_MOVES} AND e.at >= ? AND e.at < ? "
            f"AND json_extract(e.data, '$.to') IN ({_ENDS}) "
            "AND (t.ended_at IS NULL OR e.at < t.ended_at) ORDER BY e.id",
            *(to_text(since), to_text(until)),
        )
        return [_earlier(row) for row in rows]

    def reopened_count(self, at: datetime) -> int:
        """How many tasks had ended before `at` and were tried again after it."""
        rows = self._rows(
            "SELECT e.task_id, max(e.id), json_extract(e.data, '$.to') AS became FROM execution_logs e "  # noqa: S608  # constants
            f"JOIN tasks t ON t.id = e.task_id WHERE {_MOVES} AND e.at < ? "
            "AND (t.ended_at IS NULL OR t.ended_at >= ?) GROUP BY e.task_id",
            *(to_text(at), to_text(at)),
        )
        return sum(row["became"] in ENDED for row in rows)

    def holds(self) -> dict[HoldSource, datetime]:
        """The holds that stand today, each with when it began; the events of an old one may have been pruned."""
        rows = self._rows("SELECT source, since FROM holds ORDER BY source")
        return {HoldSource(row["source"]): from_text(row["since"]) for row in rows if row["source"] in set(HoldSource)}

    def _rows(self, query: str, *values: str | int) -> Sequence[Row]:
        return self._db.reader().execute(query, values).fetchall()


def _earlier(row: Row) -> EndedTask:
    """The task as its event tells it; what the event does not tell is as the task is now."""
    data = json.loads(row["data"])
    return replace(
        ended_task(dict(row) | {"ended_at": row["at"]}),
        status=Status(data["to"]),
        ending=Ending(data["ending"]) if data.get("ending") else None,
        reason=str(data.get("reason", "")),
        attempt=row["attempt_then"] or 0,
        iterations=row["iteration_then"] or 0,
    )


def _log_row(row: Row) -> LogRow:
    return LogRow(
        id=row["id"],
        at=from_text(row["at"]),
        kind=row["kind"],
        message=row["message"],
        task_id=row["task_id"],
        data=json.loads(row["data"]),
    )
