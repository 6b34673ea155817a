"""Makes sure that the database in a home folder is sound before a daemon opens it, and restores it if it is not.

The database is checked. If the check finds a fault, the newest sound backup replaces the database. Then every row of
the damaged file that can be read and is valid is copied into the new file, and SQLite rebuilds the indexes. A table of
an extension is never copied. A task is copied only if its row and its specification agree; otherwise neither of them is
copied.

SQLite's own `.recover` is not part of the library that programs load. Therefore rows are read with queries: a page that
cannot be read costs only its own rows.

The new file is built beside the damaged one. When the new file is complete, a note is written. Then the damaged files
are moved into a folder that only people delete, and the new file is renamed. If the power fails at any point, the next
start finds either the damaged database as it was, or the note, and finishes the restore. The old write-ahead log must
be moved first, or SQLite would apply it to the new file.

The end of the log file (`logs/agent.log`) is an independent record, because a line is written after the commit of its
event. So an event that is in the log file but not in the database was lost, whatever SQLite reports.
"""

from __future__ import annotations

import json
import logging
import math
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from nightshift.core.clock import to_text
from nightshift.core.dialogue import Finish
from nightshift.core.errors import StoreDamaged, StoreError, StoreFull
from nightshift.core.events import Kind, Level
from nightshift.core.tasks.change_checks import AskKind
from nightshift.core.tasks.queueing import PauseSource
from nightshift.core.tasks.states import Ending, Outcome, Phase, Status
from nightshift.core.text.faults import name_first
from nightshift.core.text.formats import coarse
from nightshift.core.tools import ToolProtocol
from nightshift.storage.db import backups, migrations
from nightshift.storage.db.codec import encode, spec_digest, storable
from nightshift.storage.db.sqlite import (
    NOT_THE_FILE,
    Connection,
    Error,
    Row,
    code_of,
    connect,
    connect_draft,
    faults,
    make_private,
    store_error,
    watch,
)
from nightshift.storage.db.state_store import read_state, write_state
from nightshift.storage.files.whole import flush, publish, write_whole

log = logging.getLogger(__name__)

# State key. The value lists the tasks that may have been finished in the lost part of the history.
KEY = "restored"
# Seconds that the check may take at a start. The rest of a large database is checked while the daemon runs.
CHECK_S = 3.0
_PAGE = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """How a database was restored.

    Attributes:
        why: the first fault that was found.
        aside: the folder to which the damaged files were moved.
        backup: the backup from which the database was restored; None if no backup was sound.
        lost: tasks that are gone.
        titles: titles of some of the lost tasks.
        uncertain: tasks in the state of the backup, which may be outdated.
        failed: tasks that failed because a task on which they depend is lost.
        unreadable: number of pages or rows that could not be read.
        at: the time of the restore.
    """

    why: str
    aside: Path
    backup: Path | None
    lost: tuple[int, ...]
    titles: Mapping[int, str]
    uncertain: tuple[int, ...]
    failed: tuple[int, ...]
    unreadable: int
    at: datetime

    @property
    def since(self) -> datetime | None:
        """Time of the backup; None if there was none."""
        return backups.time_of(self.backup) if self.backup else None

    def summary(self) -> str:
        """Describe in two sentences what was damaged and replaced, and what was lost."""
        age_s = (self.at - self.since).total_seconds() if self.since else None
        base = "an empty database" if age_s is None else f"the backup of {coarse(age_s)} ago"
        replacement = f"{base} took its place, with all that could be read of it ({self.aside})"
        return f"The database was damaged ({self.why}); {replacement}. Lost: {self._losses()}."

    def _losses(self) -> str:
        titled = [f"{n} ({self.titles[n]})" if n in self.titles else str(n) for n in self.lost]
        parts = (
            ("task {}, to be submitted again", titled),
            ("what task {} did since the backup", self.uncertain),
            ("task {}, which failed because it depends on one of these", self.failed),
            ("{} pages or rows that could not be read", [self.unreadable] if self.unreadable else []),
        )
        return (
            "; ".join(text.format(name_first(ids, _MOST_NAMED)) for text, ids in parts if ids)
            or "nothing that is known"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """The result of a check after which the database may be opened.

    Attributes:
        is_complete: False if the rest of the check is still to be done.
        restored: how the database was restored; None if it was sound.
    """

    is_complete: bool = True
    restored: Restored | None = None


def ensure_sound(
    path: Path, backups_dir: Path, log_file: Path, now: datetime, *, limit_s: float | None = CHECK_S
) -> Checked:
    """Make sure that the database at `path` is sound, or never existed. The caller must hold the instance lock.

    Raises:
        StoreTooNew: the database was written by a newer Nightshift.
        StoreFull: there is no room to restore the database; nothing was changed.
        StoreError: the database can neither be read nor restored; nothing was changed.
    """
    finish(path)
    doubted = beside(path, ".doubted")
    lines = tuple(line for file in (beside(log_file, ".1"), log_file) for line in _read_lines(file))
    try:
        problems = find_faults(path, None if doubted.exists() else limit_s)
        why = problems[0] if problems else _find_loss(path, backups_dir, lines)
    except OSError as error:
        raise StoreError(f"{path}: cannot be used: {error}") from error
    if not why:
        doubted.unlink(missing_ok=True)
        return Checked(is_complete=problems is not None)
    log.error("%s is damaged and is restored: %s", path, "; ".join(problems or (why,)))
    restored = _restore(path, why, backups_dir, lines, now)
    doubted.unlink(missing_ok=True)
    log.error("%s", restored.summary())
    return Checked(restored=restored)


def doubt(path: Path) -> None:
    """Make the next start check the whole database, without a time limit, because damage was found."""
    with suppress(OSError):
        beside(path, ".doubted").touch()


def beside(path: Path, suffix: str) -> Path:
    """Return the path of a file beside a database or log file, named like that file with an additional suffix."""
    return path.with_name(path.name + suffix)


# --- Checking the database


def find_faults(path: Path, limit_s: float | None = None) -> tuple[str, ...] | None:
    """Check an existing database. Return its faults, or None if the check took longer than `limit_s` seconds.

    Raises:
        StoreTooNew: the database was written by a newer Nightshift, which is not damage.
        StoreError: the database cannot be read, because of permissions, a failing disk, or another process's lock.
    """
    if not path.exists() or not path.stat().st_size:
        return ()
    end = math.inf if limit_s is None else time.monotonic() + limit_s
    try:
        lines = list(_check_head(path))
        with closing(connect(path, readonly=True)) as conn:
            watch(conn, end)
            return (*lines, *_check(conn, path))
    except Error as error:
        if time.monotonic() > end:
            return tuple(lines) or None
        if code_of(error) in NOT_THE_FILE:
            raise store_error(error, path) from error
        return (*lines, f"it cannot be read: {error}")
    except StoreError as error:
        if not isinstance(error, StoreDamaged):
            raise
        return (*lines, str(error))
    except UnicodeDecodeError as error:  # raised for SQLite's message, if it quotes damaged text
        return (*lines, f"it cannot be read: {error}")


def _check_head(path: Path) -> Iterator[str]:
    """Check the header of the file.

    Yields a fault for values that would make SQLite ignore the write-ahead log or use another text encoding.
    """
    with path.open("rb") as file:
        head = file.read(100)
    if head[16:18] != _PAGE.to_bytes(2) or head[20:21] != b"\0" or head[56:60] not in {b"\0\0\0\1", bytes(4)}:
        yield "the head of the file is damaged"
    elif head[18:20] != b"\2\2" and _has_log(path):
        yield "the head of the file denies that it has a write-ahead log"


def _check(conn: Connection, path: Path) -> Iterator[str]:
    conn.execute("SELECT sql FROM sqlite_master").fetchall()
    if not migrations.pending(conn, path):
        with closing(migrations.fresh()) as new:
            columns, wanted = _columns(conn), _columns(new)
        for name in (name for name in wanted if columns.get(name) != wanted[name]):
            yield f"the columns of {name} differ from those that it was created with"
    lines = [str(row[0]) for row in conn.execute("PRAGMA integrity_check(20)")]
    if lines != ["ok"]:
        yield from lines
    elif strays := conn.execute("SELECT COUNT(*) FROM pragma_foreign_key_check").fetchone()[0]:
        yield f"{strays} rows refer to rows that do not exist"
    elif _tables(conn):
        yield from check_rows(conn)


def _find_loss(path: Path, backups_dir: Path, lines: Sequence[_Line]) -> str:
    """Describe data that must have existed but are missing; empty if nothing is missing."""
    logged = max((line.event for line in lines), default=0)
    if not path.exists() or not path.stat().st_size:
        return "the file is gone" if logged or _has_log(path) or any(backups_dir.glob("agent_logs-*.sqlite")) else ""
    with closing(connect(path, readonly=True)) as conn:
        newest = _sequences(conn).get("execution_logs", 0)
    lost = f"events {newest + 1} to {logged}, which the log file has, are not in it"
    return lost if logged > newest else ""


def _has_log(path: Path) -> bool:
    """Return True if the database's write-ahead log is not empty."""
    with suppress(FileNotFoundError):
        return beside(path, "-wal").stat().st_size > 0
    return False


# --- Checking rows, because SQLite does not notice a flipped bit inside a value. The rules follow from the types and
# names of columns.


_WORDS: dict[tuple[str, str], type[StrEnum]] = {
    ("tasks", "status"): Status,
    ("tasks", "ending"): Ending,
    ("earlier_ends", "status"): Status,
    ("execution_logs", "level"): Level,
    ("execution_logs", "phase"): Phase,
    ("approvals", "kind"): AskKind,
    ("steps", "phase"): Phase,
    ("steps", "outcome"): Outcome,
    ("replies", "finish"): Finish,
    ("holds", "source"): PauseSource,
    ("tool_forms", "protocol"): ToolProtocol,
}
_JSON = frozenset({"data", "spec", "spent", "spent_before", "phases", "rest", "value", "files", "signs", "ladder"})
_TRUTH = frozenset(
    {"resume", "cancel_requested", "integrated", "granted", "solved", "retired", "explored", "noted", "ok"}
)
_ANY_SIGN = frozenset({"priority", "value"})
_KINDS = {"INTEGER": "'integer'", "TEXT": "'text'", "REAL": "'real', 'integer'", "BLOB": "'blob'"}
_SPEC_DIFFERS = (
    "NOT EXISTS (SELECT 1 FROM {schema}.task_specs s WHERE s.task_id = t.id "
    "AND spec_fits(t.id, s.spec, s.digest, t.description, t.key))"
)
_NEEDS = "SELECT d.value FROM main.task_specs s, json_each(s.spec, '$.depends_on') d WHERE s.task_id = t.id"
_STORED_NEEDS = "SELECT x.depends_on FROM main.task_dependencies x WHERE x.task_id = t.id"
_NEEDS_DIFFER = (
    f"EXISTS ({_NEEDS} AND d.value IN (SELECT id FROM main.tasks) EXCEPT {_STORED_NEEDS}) "  # noqa: S608
    f"OR EXISTS ({_STORED_NEEDS} EXCEPT {_NEEDS})"
)


def check_rows(conn: Connection) -> Iterator[str]:
    """Yield a message for each table that has rows which this program cannot have written."""
    _add_functions(conn)
    for table in _tables(conn):
        yield from _count(conn, f"main.{table} WHERE {invalid(conn, table)}", f"rows of {table}")
    if any(row["name"] == "digest" for row in conn.execute("PRAGMA table_info(task_specs)")):
        differs = _SPEC_DIFFERS.format(schema="main")
        yield from _count(conn, f"main.tasks t WHERE {differs}", "tasks that differ from their specification")
    yield from _count(conn, f"main.tasks t WHERE {_NEEDS_DIFFER}", "tasks that differ from their stored dependencies")


def _count(conn: Connection, query: str, name: str) -> Iterator[str]:
    if count := conn.execute(f"SELECT COUNT(*) FROM {query}").fetchone()[0]:  # noqa: S608  conditions of ours
        yield f"{count} {name} are not as they were written"


def invalid(conn: Connection, table: str) -> str:
    """Return the SQL condition that is true for rows of a table that this program cannot have written."""
    columns = conn.execute(f"PRAGMA main.table_info({table})").fetchall()
    texts = ", ".join(f"CAST({column['name']} AS BLOB)" for column in columns if column["type"] == "TEXT")
    rules = [rule for column in columns for rule in _rules(table, column)]
    return " OR ".join((*rules, f"NOT is_text({texts})") if texts else rules) or "0"


def _rules(table: str, column: Row) -> Iterator[str]:
    """Yield SQL conditions that are true for invalid values of a column.

    Only the first condition is true for NULL.
    """
    name, kind = column["name"], column["type"]
    if column["notnull"] or column["pk"]:
        yield f"{name} IS NULL"
    if kind in _KINDS:
        yield f"({name} IS NOT NULL AND typeof({name}) NOT IN ({_KINDS[kind]}))"
    if kind == "INTEGER" and name not in _ANY_SIGN:
        yield f"{name} < 0"
    if name in _TRUTH:
        yield f"{name} > 1"
    if kind == "TEXT" and (name in {"at", "since", "lease_until", "not_before"} or name.endswith("_at")):
        yield f"({name} IS NOT NULL AND julianday({name}) IS NULL)"
    if kind == "TEXT" and name in _JSON:
        yield f"({name} IS NOT NULL AND NOT json_valid({name}))"
    if (table, name) in _WORDS:
        words = ", ".join(f"'{word}'" for word in _WORDS[table, name])
        yield f"{name} NOT IN ({words})"


def _add_functions(conn: Connection) -> None:
    conn.create_function("is_text", -1, _is_text, deterministic=True)
    conn.create_function("spec_fits", 5, _spec_fits, deterministic=True)


def _is_text(*values: object) -> bool:
    """Return True if all values are NULL or valid UTF-8.

    Texts come as BLOBs, since SQLite cannot read invalid texts.
    """
    try:
        for value in values:
            _ = value.decode() if isinstance(value, bytes) else None
    except UnicodeDecodeError:
        return False
    return True


def _spec_fits(task_id: int, text: object, digest: str, description: str, key: str | None) -> bool:
    """Check whether a specification is undamaged, and agrees with the copies of its fields in the task's row.

    A row may lack the key: until version 0.2.0, a task that another one replaced kept the key in its specification.
    """
    try:
        spec = json.loads(str(text))
        if digest and digest != spec_digest(task_id, str(text)):
            return False
        spec_key = spec.get("key") and storable(spec["key"])
        return storable(spec["description"]) == description and key in (None, spec_key)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return False


def _tables(conn: Connection) -> dict[str, str]:
    """Return the SQL that creates each of our tables, by name and in the order of creation.

    Tables of SQLite itself and of extensions are left out.
    """
    rows = conn.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table' ORDER BY rowid").fetchall()
    return {row[0]: row[1] for row in rows if not row[0].startswith(("sqlite_", "_sqlite_", "vec_"))}


def _columns(conn: Connection) -> dict[str, list[tuple[object, ...]]]:
    """Return the columns of each table, with their types and defaults."""
    return {table: [tuple(row) for row in conn.execute(f"PRAGMA main.table_info({table})")] for table in _tables(conn)}


def _sequences(conn: Connection) -> dict[str, int]:
    """Return the last id that was assigned in each table."""
    try:
        return dict(conn.execute("SELECT name, seq FROM main.sqlite_sequence WHERE typeof(seq) = 'integer'").fetchall())
    except Error:  # there is no such table yet, or it cannot be read
        return {}


# --- Restoring the database


def finish(path: Path) -> None:
    """Finish a restore that was interrupted after the new file was complete. Does nothing if there is none."""
    note, build = beside(path, ".restoring"), beside(path, ".restored")
    if not note.exists():
        build.unlink(missing_ok=True)
        return
    if build.exists():
        aside = Path(note.read_text().strip())
        aside.mkdir(parents=True, exist_ok=True)
        for file in (beside(path, suffix) for suffix in ("", "-wal", "-shm")):
            with suppress(FileNotFoundError):
                file.rename(aside / file.name)
        for changed in (aside, aside.parent, path.parent):
            flush(changed)
        publish(build, path)
    note.unlink()
    flush(path.parent)


def _restore(path: Path, why: str, backups_dir: Path, lines: Sequence[_Line], now: datetime) -> Restored:
    build = beside(path, ".restored")
    try:
        backup = _lay_base(build, backups_dir, now)
        with closing(connect_draft(build)) as conn:
            migrations.migrate(conn, build)
            for name in migrations.guards():
                conn.execute(f'DROP TRIGGER "{name}"')
            salvaged = _salvage(conn, path, now)
            newest = _sequences(conn).get("execution_logs", 0)
            task_ids = _raise_ids(conn, salvaged, lines, now)
            moved = {line.task for line in lines if line.event > newest and line.to}
            ids = {row[0] for row in conn.execute("SELECT id FROM main.tasks")}
            restored = Restored(
                why=why,
                aside=_name_aside(path, now),
                backup=backup,
                lost=tuple(sorted(task_ids - ids)),
                titles={
                    **{line.task: line.message for line in lines if line.kind == Kind.TASK_SUBMITTED},
                    **salvaged.titles,
                },
                uncertain=tuple(sorted((salvaged.uncertain | moved) & ids)),
                failed=tuple(_settle_dependants(conn, now)),
                unreadable=salvaged.unreadable,
                at=now,
            )
            _record(conn, restored)
            migrations.migrate(conn, build)
            conn.execute("REINDEX")
        if left := faults(build):
            raise StoreError(f"{path}: could not be restored, the new one is not sound: {left[0]}")
        flush(build)
        write_whole(beside(path, ".restoring"), f"{restored.aside}\n")
        finish(path)
    except Error as error:
        raise store_error(error, build) from error
    except OSError as error:
        raise StoreFull(f"{path}: is damaged ({why}), and could not be restored: {error}") from error
    return restored


def _lay_base(build: Path, backups_dir: Path, now: datetime) -> Path | None:
    """Copy the newest backup that is sound and usable by this program, and return its path.

    None if there is no such backup, so that the new database begins empty.
    """
    build.parent.mkdir(parents=True, exist_ok=True)
    build.unlink(missing_ok=True)
    for backup in backups.list_backups(backups_dir, now):
        try:
            problems = find_faults(backup)
        except StoreError as error:
            problems = (str(error),)
        if not problems:
            make_private(build)
            shutil.copyfile(backup, build)
            return backup
        log.warning("the backup %s cannot be used: %s", backup, problems[0])
    return None


def _name_aside(path: Path, now: datetime) -> Path:
    """Return the path for a new folder that holds the damaged files."""
    stem = f"{path.stem}-{now:%Y%m%dT%H%M%SZ}"
    names = (stem, *(f"{stem}-{number}" for number in range(2, 1000)))
    return next(folder for name in names if not (folder := path.parent / "damaged" / name).exists())


@dataclass(slots=True, kw_only=True)
class _Salvaged:
    """The rows and ids that were read from the damaged database.

    Attributes:
        uncertain: tasks in the state of the backup, which may have continued since.
        seen: every task that a readable row refers to.
        titles: the first words of tasks.
        sequences: the last id that was assigned in each table, if it can be read.
        unreadable: number of pages or rows that could not be read.
    """

    uncertain: set[int] = field(default_factory=set)
    seen: set[int] = field(default_factory=set)
    titles: dict[int, str] = field(default_factory=dict)
    sequences: dict[str, int] = field(default_factory=dict)
    unreadable: int = 0


def _salvage(conn: Connection, path: Path, now: datetime) -> _Salvaged:
    """Copy all rows of the damaged database that can be read and are valid. `conn` is open on the new database.

    The rows are first checked in a separate database, `found`. They replace the rows of the backup, unless the event
    log of the damaged database ends earlier than that of the backup.
    """
    scratch, salvaged, staged = beside(path, ".salvage"), _Salvaged(), list[str]()
    scratch.unlink(missing_ok=True)
    connect_draft(scratch).close()
    conn.execute("ATTACH ? AS found", (str(scratch),))
    conn.execute("PRAGMA found.journal_mode=OFF").fetchone()
    _add_functions(conn)
    try:
        for sql in _tables(conn).values():
            conn.execute("CREATE TABLE found." + sql.removeprefix("CREATE TABLE "))
        with suppress(StoreError, Error, UnicodeDecodeError), closing(connect(path, readonly=True)) as old:
            old.execute("PRAGMA cell_size_check=ON")
            salvaged.sequences = _sequences(old)
            for table in _tables(conn):
                if table != "memory_vectors" and _stage(conn, old, table, salvaged):
                    staged.append(table)
        titles = "SELECT task_id, message FROM found.execution_logs WHERE kind = ? AND task_id IS NOT NULL"
        salvaged.titles = dict(conn.execute(titles, (Kind.TASK_SUBMITTED,)).fetchall())
        _take_tasks(conn)
        newest = "SELECT COALESCE(MAX(id), 0) FROM {}.execution_logs"
        theirs, ours = (conn.execute(newest.format(schema)).fetchone()[0] for schema in ("found", "main"))
        for table in staged:
            if table not in {"tasks", "task_specs", "task_dependencies"}:
                how = "REPLACE" if theirs >= ours else "IGNORE"
                conn.execute(f"INSERT OR {how} INTO main.{table} SELECT * FROM found.{table}")  # noqa: S608
        salvaged.uncertain = _end_as_logged(conn, now)
        _drop_strays(conn)
    finally:
        conn.execute("DETACH found")
        scratch.unlink(missing_ok=True)
    return salvaged


def _stage(conn: Connection, old: Connection, table: str, salvaged: _Salvaged) -> bool:
    """Copy the valid rows of a table into `found`; return False if the damaged database has no such table."""
    there = {row["name"] for row in old.execute(f"PRAGMA table_info({table})")}
    names = [row["name"] for row in conn.execute(f"PRAGMA main.table_info({table})") if row["name"] in there]
    if not names:
        return False
    insert = f"INSERT OR IGNORE INTO found.{table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"  # noqa: S608
    conn.execute("BEGIN")
    conn.executemany(insert, _read_rows(conn, old, table, names, salvaged))
    salvaged.unreadable += conn.execute(f"DELETE FROM found.{table} WHERE {invalid(conn, table)}").rowcount  # noqa: S608
    conn.execute("COMMIT")
    if column := "id" if table == "tasks" else "task_id" if "task_id" in names else "":
        seen = f"SELECT DISTINCT {column} FROM found.{table} WHERE {column} IS NOT NULL"  # noqa: S608
        salvaged.seen |= {row[0] for row in conn.execute(seen)}
    return True


# Rows of these tables never change, so rows that a sound backup contains are not read again.
_APPENDED = frozenset({"execution_logs", "model_stats"})
# Number of consecutive failed reads after which no more of a table is read.
_MOST_FAILURES = 20_000


def _read_rows(
    conn: Connection, old: Connection, table: str, names: list[str], salvaged: _Salvaged
) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a damaged table that can be read; after a failed read, continue with the next rowid."""
    columns = ", ".join(names)
    keys = [row["name"] for row in old.execute(f"PRAGMA table_info({table})") if row["pk"]]
    try:
        old.execute(f"SELECT rowid FROM {table} WHERE 0")  # noqa: S608  names of ours, here and below
    except Error:  # a table without rowids is read once in each direction
        for order in ("ASC", "DESC"):
            by = ", ".join(f"{key} {order}" for key in keys)
            try:
                yield from map(tuple, old.execute(f"SELECT {columns} FROM {table} ORDER BY {by}"))  # noqa: S608
                return
            except (Error, UnicodeDecodeError):
                salvaged.unreadable += 1
        return
    newest = f"SELECT COALESCE(MAX(id), 0) FROM main.{table}"  # noqa: S608
    reached = conn.execute(newest).fetchone()[0] if table in _APPENDED else -1
    select = f"SELECT rowid, {columns} FROM {table} NOT INDEXED WHERE rowid > ? ORDER BY rowid"  # noqa: S608
    failures = 0
    while failures < _MOST_FAILURES:
        try:
            for row in old.execute(select, (reached,)):
                reached, failures = row[0], 0
                yield tuple(row)[1:]
            return
        except (Error, UnicodeDecodeError):
            salvaged.unreadable += not failures
            failures += 1
            reached += 1 + failures // 500  # ids are dense; the steps grow with the length of a gap


def _take_tasks(conn: Connection) -> None:
    """Copy the tasks that agree with their specifications. Their dependencies are taken from the specifications."""
    older = (
        "EXISTS (SELECT 1 FROM main.tasks m WHERE m.id = t.id AND "
        "(m.fence > t.fence OR m.attempt > t.attempt OR (m.status = 'done' AND t.status <> 'done')))"
    )
    conn.execute(f"DELETE FROM found.tasks AS t WHERE {_SPEC_DIFFERS.format(schema='found')} OR {older}")  # noqa: S608
    ours = "(SELECT id FROM found.tasks)"
    conn.execute("INSERT OR REPLACE INTO main.tasks SELECT * FROM found.tasks")
    conn.execute(f"INSERT OR REPLACE INTO main.task_specs SELECT * FROM found.task_specs WHERE task_id IN {ours}")  # noqa: S608
    conn.execute(f"DELETE FROM main.task_dependencies WHERE task_id IN {ours}")  # noqa: S608
    conn.execute(
        "INSERT INTO main.task_dependencies (task_id, depends_on) SELECT DISTINCT s.task_id, d.value "  # noqa: S608
        "FROM found.task_specs s, json_each(s.spec, '$.depends_on') d "
        f"WHERE s.task_id IN {ours} AND d.value IN (SELECT id FROM main.tasks)"
    )


def _drop_strays(conn: Connection) -> None:
    """Delete rows that refer to a task or text that could not be restored."""
    while conn.execute("SELECT 1 FROM pragma_foreign_key_check").fetchone():
        for table in _tables(conn):
            for key in conn.execute(f"PRAGMA main.foreign_key_list({table})").fetchall():
                there = f"SELECT {key['to']} FROM main.{key['table']}"  # noqa: S608
                conn.execute(f"DELETE FROM main.{table} WHERE {key['from']} NOT IN ({there})")  # noqa: S608


_SKIPPED = "skipped_ids"
# If the last assigned id cannot be read, this many ids after the highest known one are skipped.
_MARGIN = 1000
_PLAUSIBLE = 1_000_000


def _raise_ids(conn: Connection, salvaged: _Salvaged, lines: Sequence[_Line], now: datetime) -> set[int]:
    """Raise the counters of ids above all known ids, so that no id is used again.

    Returns the ids of all tasks that ever existed.
    """
    logged = {"tasks": {line.task for line in lines}, "execution_logs": {line.event for line in lines}}
    skipped = [range(*each) for each in read_state(conn, _SKIPPED) or []]
    for (table,) in conn.execute("SELECT name FROM main.sqlite_master WHERE sql LIKE '%AUTOINCREMENT%'").fetchall():
        highest = max(_sequences(conn).get(table, 0), *logged.get(table, ()), 0)
        given = salvaged.sequences.get(table, -1)
        last = given if highest <= given <= highest + _PLAUSIBLE else highest + _MARGIN
        conn.execute("DELETE FROM main.sqlite_sequence WHERE name = ?", (table,))
        conn.execute("INSERT INTO main.sqlite_sequence (name, seq) VALUES (?, ?)", (table, last))
        if table == "tasks" and last != given:
            skipped.append(range(highest + 1, last + 1))
    write_state(conn, _SKIPPED, [[each.start, each.stop] for each in skipped], now)
    given_out = {*range(1, _sequences(conn)["tasks"] + 1), *salvaged.seen, *logged["tasks"]} - {0}
    return {number for number in given_out if not any(number in each for each in skipped)}


def _record(conn: Connection, restored: Restored) -> None:
    """Store what was lost, as an event and under a state key that tasks look up."""
    data = {name: list(getattr(restored, name)[:_MOST_NAMED]) for name in ("lost", "uncertain", "failed")}
    _log_warning(conn, Kind.DATABASE_RESTORED, restored.summary(), data, restored.at)
    begun = {row[0] for row in conn.execute("SELECT id FROM main.tasks WHERE status NOT IN ('done', 'cancelled')")}
    state = {
        "at": to_text(restored.at),
        "since": to_text(restored.since) if restored.since else None,
        "tasks": sorted({*restored.uncertain} & begun),
        "told": restored.summary(),
    }
    write_state(conn, KEY, state, restored.at)


# Maximum number of ids in an event, because an event's data must be small.
_MOST_NAMED = 300
_FREE = "worker = NULL, lease_until = NULL, cancel_requested = 0"


def _end_as_logged(conn: Connection, now: datetime) -> set[int]:
    """End the tasks whose row is lost but whose end is in the event log; return the tasks that stay uncertain.

    The event about an end was written in the same transaction as the row, so it can be trusted. Nothing else in the log
    is used for a task whose row is lost. A task that stays uncertain continues from the backup's state, and work done
    since then is found again by its commit.
    """
    conn.execute(
        "CREATE TABLE found.moves AS SELECT task_id, json_extract(data, '$.to') AS status, "
        "json_extract(data, '$.ending') AS ending, json_extract(data, '$.reason') AS reason, max(id) "
        "FROM main.execution_logs WHERE task_id IS NOT NULL AND json_extract(data, '$.to') IS NOT NULL GROUP BY task_id"
    )
    ledger = "FROM main.git_commits c WHERE c.task_id = t.id AND label <> 'draft' ORDER BY c.id DESC LIMIT 1"
    lost = "t.status <> 'done' AND t.id NOT IN (SELECT id FROM found.tasks)"
    ended = "SELECT task_id FROM found.moves WHERE status IN ('done', 'failed', 'cancelled')"
    conn.execute(
        f"UPDATE main.tasks AS t SET status = m.status, ending = m.ending, reason = coalesce(m.reason, ''), "  # noqa: S608
        f"ended_at = ?, {_FREE}, commit_id = iif(m.status = 'done', (SELECT commit_id {ledger}), commit_id), "
        f"branch = iif(m.status = 'done', (SELECT branch {ledger}), branch) FROM found.moves m "
        f"WHERE m.task_id = t.id AND m.status <> t.status AND {lost} AND t.id IN ({ended})",
        (to_text(now),),
    )
    return {row[0] for row in conn.execute(f"SELECT id FROM main.tasks t WHERE {lost} AND id NOT IN ({ended})")}  # noqa: S608


def _settle_dependants(conn: Connection, now: datetime) -> Iterator[int]:
    """Settle the tasks that depend on other tasks.

    Tasks that directly or indirectly wait for a lost or failed task fail. Tasks whose dependencies are all done are
    queued. Yields the ids of the tasks that failed.
    """
    needed = f"SELECT 1 FROM ({_NEEDS}) WHERE value NOT IN (SELECT id FROM main.tasks WHERE status "  # noqa: S608
    hopeless = f"status = 'blocked' AND EXISTS ({needed} NOT IN ('failed', 'cancelled')))"
    reason = "a task on which it depends was lost with the damaged database, or has failed"
    change = f"status = 'failed', ending = 'dependency', reason = ?, ended_at = ?, {_FREE}"
    while failed := conn.execute(f"SELECT id FROM main.tasks t WHERE {hopeless}").fetchall():  # noqa: S608
        for (task_id,) in failed:
            conn.execute(f"UPDATE main.tasks SET {change} WHERE id = ?", (reason, to_text(now), task_id))  # noqa: S608
            _log_status(conn, task_id, Status.FAILED, reason, now)
            yield task_id
    ready = f"status = 'blocked' AND NOT EXISTS ({needed} = 'done'))"
    for (task_id,) in conn.execute(f"SELECT id FROM main.tasks t WHERE {ready}").fetchall():  # noqa: S608
        conn.execute("UPDATE main.tasks SET status = 'queued' WHERE id = ?", (task_id,))
        _log_status(conn, task_id, Status.QUEUED, "all that it depends on is done", now)


def _log_status(conn: Connection, task_id: int, status: str, reason: str, now: datetime) -> None:
    """Write a task's status to the event log, so that the log agrees with the task's row."""
    data = {"from": None, "to": status, "ending": "dependency" if status == Status.FAILED else None, "reason": reason}
    _log_warning(conn, Kind.TASK_RECOVERED, f"restored as {status}: {reason}", data, now, task_id)


def _log_warning(
    conn: Connection, kind: Kind, message: str, data: Mapping[str, object], now: datetime, task_id: int | None = None
) -> None:
    """Write a warning to the event log with SQL, because no `EventLog` exists yet."""
    conn.execute(
        "INSERT INTO main.execution_logs (at, level, kind, message, task_id, data) VALUES (?, ?, ?, ?, ?, ?)",
        (to_text(now), Level.WARNING, kind, message, task_id, encode(data)),
    )


# --- Reading the end of the log file


# Number of bytes that are read from the end of a file, which hold some thousand lines.
_TAIL = 1 << 20


@dataclass(frozen=True, slots=True)
class _Line:
    """One line of the log file.

    Attributes:
        event: id of the event.
        task: the event's task; 0 for none.
        to: the new status of the task; empty if the event does not change it.
    """

    event: int
    task: int
    kind: str
    message: str
    to: str


def _read_lines(file: Path) -> Iterator[_Line]:
    """Yield the newest lines of a log file in the order in which they were written. Unreadable lines are skipped."""
    with suppress(OSError), file.open("rb") as opened:
        opened.seek(max(0, opened.seek(0, 2) - _TAIL))
        for text in opened.read(_TAIL).splitlines():
            with suppress(ValueError, KeyError, TypeError, AttributeError):
                row = json.loads(text)
                event, task = int(row["id"]), int(row["task_id"] or 0)
                yield _Line(event, task, row["event"], str(row["message"]), str(row["data"].get("to") or ""))
