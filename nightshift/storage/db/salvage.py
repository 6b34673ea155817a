"""Carries over what can be read of a damaged database, row by row, into a sound one.

The sound one is a backup, or empty. Each row that can be read is staged beside it in a database of its own, validated
there (`storage.db.row_validation`), and taken if it is valid. A task is taken whole or not at all: its row, its
specification, and the log of its moves must agree. What is older than what the backup has is left.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from nightshift.core.events import Kind
from nightshift.storage.db import row_validation
from nightshift.storage.db.raw_file import Pages, Value
from nightshift.storage.db.sqlite import Connection, Error, connect_draft

_APPENDED = {"execution_logs": "id", "model_stats": "id", "artifacts": "digest"}
"""Rows that never change, with their key: those that the sound database has are not looked at again."""
_OF_TASKS = ("tasks", "task_specs", "task_dependencies")


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """What was taken from the damaged database.

    Attributes:
        rows: how many rows are new, or newer than they were in the backup, by table.
        refused: how many rows could be read and make no sense, by table.
        unreadable: how many pages and records could not be read.
        tasks: those whose state is certain now.
        seen: every task that a readable row names.
        titles: what those were that could not be taken, as far as it is known.
        sequences: the last id that was given out, by table, where it is known.
    """

    rows: Mapping[str, int]
    refused: Mapping[str, int]
    unreadable: int
    tasks: frozenset[int]
    seen: frozenset[int]
    titles: Mapping[int, str]
    sequences: Mapping[str, int]


class Salvage:
    """One salvage; `conn` is open on the sound database, without its triggers and with nobody else there.

    Args:
        conn: gets the rows.
        pages: the damaged database.
        roots: where its tables begin, should its own list of them be damaged.
        doubtful: a page may be older than it seems, so that rows must be held against the log of moves.
    """

    def __init__(self, conn: Connection, pages: Pages, roots: Mapping[str, int], *, doubtful: bool) -> None:
        self._conn, self._pages, self._doubtful = conn, pages, doubtful
        row_validation.prepare(conn)
        self._rows: dict[str, int] = {}
        self._refused: dict[str, int] = {}
        listed = {str(v[1]): v[3] for _, v in pages.rows(1) if len(v) == 5 and v[0] == "table"}
        known = {name: root for name, root in listed.items() if isinstance(root, int)}
        self._roots = {**roots, **known}

    def run(self, beside: Path) -> Carried:
        """Do it, with a database at `beside` for what is being judged; that one is gone afterwards."""
        with self._laid_out(beside):
            tables = [table for table in row_validation.tables(self._conn) if table in self._roots]
            lost_events = 0
            for table in tables:
                before = self._pages.unreadable
                self._stage(table)
                lost_events += self._pages.unreadable - before if table == "execution_logs" else 0
            newer = self._is_newer()
            self._take("execution_logs", newer=False)
            tasks = self._take_tasks(check_moves=self._doubtful or not lost_events)
            for table in tables:
                if table not in (*_OF_TASKS, "execution_logs"):
                    self._take(table, newer=newer)
            self._drop_strays()
            return Carried(
                rows={table: count for table, count in self._rows.items() if count},
                refused={table: count for table, count in self._refused.items() if count},
                unreadable=self._pages.unreadable,
                tasks=tasks,
                seen=frozenset(self._seen(tables)),
                titles=self._titles(),
                sequences=self._sequences(),
            )

    @contextmanager
    def _laid_out(self, beside: Path) -> Iterator[None]:
        beside.unlink(missing_ok=True)
        connect_draft(beside).close()
        self._conn.execute("ATTACH ? AS found", (str(beside),))
        self._conn.execute("PRAGMA found.journal_mode=OFF").fetchone()
        self._conn.execute("PRAGMA found.synchronous=OFF")
        try:
            yield
        finally:
            if self._conn.in_transaction:
                self._conn.execute("ROLLBACK")
            self._conn.execute("DETACH found")
            beside.unlink(missing_ok=True)

    def _stage(self, table: str) -> None:
        """Lay out what can be read of a table, and throw away what makes no sense."""
        conn = self._conn
        conn.execute(f"CREATE TABLE found.{table} AS SELECT * FROM main.{table} WHERE 0")  # noqa: S608
        columns = conn.execute(f"PRAGMA main.table_info({table})").fetchall()
        defaults = [conn.execute(f"SELECT {column['dflt_value'] or 'NULL'}").fetchone()[0] for column in columns]
        keys = [n for n, column in enumerate(columns) if column["pk"]]
        is_rowid = len(keys) == 1 and columns[keys[0]]["type"] == "INTEGER"
        insert = f"INSERT INTO found.{table} VALUES ({', '.join('?' * len(columns))})"  # noqa: S608
        conn.execute("BEGIN")
        for rowid, values in self._pages.rows(self._roots[table]):
            row = [*values, *defaults[len(values) :]]
            if is_rowid:
                row[keys[0]] = rowid
            if len(row) != len(columns):
                self._refuse(table, 1)
            elif not self._is_known(table, row):
                conn.execute(insert, row)
        invalid = row_validation.invalid(conn, table)
        self._refuse(table, conn.execute(f"DELETE FROM found.{table} WHERE {invalid}").rowcount)  # noqa: S608
        conn.execute("COMMIT")

    def _is_known(self, table: str, row: list[Value]) -> bool:
        """Whether the sound database has the row, or it is a text that is not the one its name says."""
        if table not in _APPENDED:
            return False
        known = f"SELECT 1 FROM main.{table} WHERE {_APPENDED[table]} = ?"  # noqa: S608  names of ours
        if self._conn.execute(known, (row[0],)).fetchone():
            return True
        if table == "artifacts" and not _is_artifact(row):
            self._refuse(table, 1)
            return True
        return False

    def _refuse(self, table: str, count: int) -> None:
        self._refused[table] = self._refused.get(table, 0) + count

    def _is_newer(self) -> bool:
        """Whether the damaged database is newer than the sound one: then what both have is taken from it."""
        found, ours = (
            self._conn.execute(f"SELECT COALESCE(MAX(id), 0) FROM {schema}.execution_logs").fetchone()[0]  # noqa: S608
            for schema in ("found", "main")
        )
        return bool(found >= ours) or "execution_logs" not in self._roots

    def _take(self, table: str, *, newer: bool) -> None:
        """Take all rows of a table that are left."""
        new = f"SELECT COUNT(*) FROM (SELECT * FROM found.{table} EXCEPT SELECT * FROM main.{table})"  # noqa: S608
        self._rows[table] = self._conn.execute(new).fetchone()[0]
        how = "REPLACE" if newer else "IGNORE"
        self._conn.execute(f"INSERT OR {how} INTO main.{table} SELECT * FROM found.{table}")  # noqa: S608

    def _take_tasks(self, *, check_moves: bool) -> frozenset[int]:
        """Take the tasks that agree with all that is known of them; what they depend on follows from what they are."""
        conn = self._conn
        conn.execute("CREATE INDEX found.specs_of ON task_specs (task_id)")
        older = (
            "EXISTS (SELECT 1 FROM main.tasks m WHERE m.id = t.id AND "
            "(m.fence > t.fence OR m.attempt > t.attempt OR (m.status = 'done' AND t.status <> 'done')))"
        )
        wrong = [row_validation.spec_mismatch("found"), *([row_validation.newer_move_logged()] if check_moves else [])]
        for condition in wrong:
            self._refuse("tasks", conn.execute(f"DELETE FROM found.tasks AS t WHERE {condition}").rowcount)  # noqa: S608
        conn.execute(f"DELETE FROM found.tasks AS t WHERE {older}")  # noqa: S608
        self._take("tasks", newer=True)
        ours = "(SELECT id FROM found.tasks)"
        conn.execute(f"INSERT OR REPLACE INTO main.task_specs SELECT * FROM found.task_specs WHERE task_id IN {ours}")  # noqa: S608
        conn.execute(f"DELETE FROM main.task_dependencies WHERE task_id IN {ours}")  # noqa: S608
        conn.execute(
            "INSERT INTO main.task_dependencies (task_id, depends_on) SELECT DISTINCT s.task_id, d.value "  # noqa: S608
            "FROM found.task_specs s, json_each(s.spec, '$.depends_on') d "
            f"WHERE s.task_id IN {ours} AND d.value IN (SELECT id FROM main.tasks)"
        )
        return frozenset(row[0] for row in conn.execute("SELECT id FROM found.tasks"))

    def _drop_strays(self) -> None:
        """Drop rows whose task or text could not be had."""
        while strays := self._conn.execute("PRAGMA main.foreign_key_check").fetchall():
            for table, rowid, parent, _ in strays:
                if rowid is None:  # a table without rowids
                    keys = self._conn.execute(f"PRAGMA main.foreign_key_list({table})").fetchall()
                    gone = " OR ".join(
                        f"{key['from']} NOT IN (SELECT {key['to']} FROM main.{parent})"  # noqa: S608
                        for key in keys
                        if key["table"] == parent
                    )
                    self._conn.execute(f"DELETE FROM main.{table} WHERE {gone}")  # noqa: S608
                else:
                    self._conn.execute(f"DELETE FROM main.{table} WHERE rowid = ?", (rowid,))  # noqa: S608
                    self._refuse(table, 1)

    def _seen(self, tables: list[str]) -> Iterator[int]:
        for table in tables:
            names = {row["name"] for row in self._conn.execute(f"PRAGMA main.table_info({table})")}
            if column := "id" if table == "tasks" else "task_id" if "task_id" in names else "":
                found = f"SELECT DISTINCT {column} FROM found.{table} WHERE {column} IS NOT NULL"  # noqa: S608
                yield from (row[0] for row in self._conn.execute(found))

    def _titles(self) -> dict[int, str]:
        if "execution_logs" not in self._roots:
            return {}
        query = "SELECT task_id, message FROM found.execution_logs WHERE kind = ? AND task_id IS NOT NULL"
        return dict(self._conn.execute(query, (Kind.TASK_SUBMITTED,)).fetchall())

    def _sequences(self) -> dict[str, int]:
        root = self._roots.get("sqlite_sequence")
        rows = [values for _, values in self._pages.rows(root)] if root else []
        return {str(v[0]): v[1] for v in rows if len(v) == 2 and isinstance(v[1], int) and v[1] >= 0}


def _is_artifact(row: list[Value]) -> bool:
    """Whether a compressed text is the one that its name, a SHA-256, says."""
    try:
        return isinstance(row[2], bytes) and hashlib.sha256(zlib.decompress(row[2])).hexdigest() == row[0]
    except zlib.error:
        return False


def roots(conn: Connection) -> dict[str, int]:
    """Where the tables of a sound database begin."""
    try:
        return dict(conn.execute("SELECT name, rootpage FROM sqlite_master WHERE type = 'table'").fetchall())
    except Error:
        return {}
