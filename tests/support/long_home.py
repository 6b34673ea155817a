"""Makes a home look as if it had been used for months, by copying the records of one night many times.

Rows are copied in SQL, which takes seconds. Ids grow with time, as they do in a real home. Only tasks that have ended
are copied, because nobody lets a thousand tasks wait.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from nightshift.storage.db.sqlite import Connection, connect

SPAN_DAYS = 120
# The tables to copy. In each table, the columns that refer to copied rows are mapped to the tables of these rows.
TABLES: dict[str, dict[str, str]] = {
    "tasks": {"id": "tasks"},
    "task_specs": {"task_id": "tasks"},
    "execution_logs": {"id": "execution_logs", "task_id": "tasks"},
    "steps": {"task_id": "tasks"},
    "iterations": {"task_id": "tasks"},
    "replies": {"task_id": "tasks"},
    "tool_calls": {"task_id": "tasks"},
    "model_stats": {"id": "model_stats", "task_id": "tasks"},
    "git_commits": {"id": "git_commits", "task_id": "tasks"},
    "failures": {"id": "failures", "task_id": "tasks"},
    "patterns": {"id": "patterns", "task_id": "tasks"},
    "concluded": {"task_id": "tasks"},
}
NIGHT = " || ' (night ' || k || ')'"
OTHERS = {
    ("tasks", "key"): "NULL",
    ("tasks", "description"): f"description{NIGHT}",
    ("task_specs", "spec"): f"json_set(spec, '$.key', NULL, '$.description', spec ->> '$.description'{NIGHT})",
    ("task_specs", "digest"): "''",
    ("git_commits", "commit_id"): "printf('%08x', k * 7919 + id) || substr(commit_id, 9)",
    ("git_commits", "reviewed_at"): "coalesce(reviewed_at, at)",
}
ENDED = "SELECT id FROM tasks WHERE status IN ('done', 'failed', 'cancelled')"


def lengthen(database: Path, *, tasks: int, events: int, days: int = SPAN_DAYS) -> tuple[int, int]:
    """Copy the rows until there are at least this many tasks and events.

    Return the resulting numbers of tasks and events. The times of the copies are spread over `days` and end now. The
    home's daemon must not be running.
    """
    with closing(connect(database)) as conn:
        conn.execute("PRAGMA synchronous = OFF")
        wanted = {"tasks": tasks, "execution_logs": events}
        nights = max(-(-count // _count(conn, table, _of_ended(table))) for table, count in wanted.items())
        most = {table: conn.execute(f"SELECT max(rowid) FROM {table}").fetchone()[0] or 0 for table in _NUMBERED}
        copies = _Copies(conn, nights, most, days)
        # The triggers check each change of a task's status, but the copied tasks have already ended.
        triggers = conn.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        with conn:
            conn.execute(f"CREATE TEMP TABLE nights AS {_NIGHTS}", (nights,))
            for name, _ in triggers:
                conn.execute(f"DROP TRIGGER {name}")
            for table in TABLES:
                copies.make(table)
            for _, sql in triggers:
                conn.execute(sql)
        conn.execute("ANALYZE")
        conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        return _count(conn, "tasks"), _count(conn, "execution_logs")


def age(database: Path, *, days: int) -> None:
    """Move all times back by this many days. The home's daemon must not be running."""
    with closing(connect(database)) as conn, conn:
        for table in TABLES:
            times = [row[1] for row in conn.execute(f"PRAGMA table_info({table})") if _is_time(row[1])]
            back = f"'-{days} days'"
            moved = ", ".join(f"{each} = {_move(each, back)}" for each in times)
            if moved:
                conn.execute(f"UPDATE {table} SET {moved}")


_NUMBERED = [table for table, named in TABLES.items() if "id" in named]
_NIGHTS = "WITH RECURSIVE n (k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < ?) SELECT k FROM n"


def _of_ended(table: str) -> str:
    return f"{'id' if table == 'tasks' else 'task_id'} IN ({ENDED})"


def _count(conn: Connection, table: str, where: str = "TRUE") -> int:
    return int(conn.execute(f"SELECT count(*) FROM {table} WHERE {where}").fetchone()[0])


class _Copies:
    """Copies the rows of one night to each later night; the original night becomes the first."""

    def __init__(self, conn: Connection, nights: int, most: dict[str, int], days: int) -> None:
        self._conn, self._nights, self._most = conn, nights, most
        self._step_s = days * 86_400 // (nights + 1)

    def make(self, table: str) -> None:
        """Copy a table's rows."""
        columns = [row[1] for row in self._conn.execute(f"PRAGMA table_info({table})")]
        values = ", ".join(self._value(table, column) for column in columns)
        order, names = "ORDER BY k, id" if "id" in columns else "", ", ".join(columns)
        night = f"(SELECT * FROM {table} WHERE {_of_ended(table)})"
        self._conn.execute(f"INSERT INTO {table} ({names}) SELECT {values} FROM nights, {night} {order}")
        times = ", ".join(f"{each} = {self._earlier(each, '0')}" for each in columns if _is_time(each))
        own = next(iter(TABLES[table]))
        if times:
            self._conn.execute(f"UPDATE {table} SET {times} WHERE {own} <= {self._most[TABLES[table][own]]}")

    def _value(self, table: str, column: str) -> str:
        if column in TABLES[table]:
            return f"{column} + k * {self._most[TABLES[table][column]]}"
        named_column = OTHERS.get((table, column), column)
        return self._earlier(named_column, "k") if _is_time(column) else named_column

    def _earlier(self, value: str, night: str) -> str:
        return _move(value, f"'-' || (({self._nights} - {night}) * {self._step_s}) || ' seconds'")


def _move(value: str, modifier: str) -> str:
    return f"strftime('%Y-%m-%dT%H:%M:%f000Z', {value}, {modifier})"


def _is_time(column: str) -> bool:
    return column == "at" or column.endswith("_at")
