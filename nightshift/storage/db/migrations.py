"""The schema's history: an append-only list of named steps, applied with sqlite-utils' `Migrations`.

A step is never edited after its release; corrections are new steps. If the database has the name of a step that is not
in the list, a newer Nightshift wrote it. The triggers that refuse illegal status changes of tasks are not part of the
steps. They are generated from `core.tasks.states.MOVES` and compared whenever the database is opened, so that the
triggers always agree with that table.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, cast

from nightshift.core.errors import StoreDamaged, StoreTooNew, StoreTooOld
from nightshift.core.tasks.states import MOVES, Status
from nightshift.storage.db import schema
from nightshift.storage.db.sqlite import Connection, connect_memory, transaction

if TYPE_CHECKING:
    from sqlite_utils import Database as Tables

SET = "nightshift"
FIRST = (Status.QUEUED, Status.SCHEDULED, Status.BLOCKED, Status.SHARED)
"""Statuses that a new task may have."""


def _drop_vector_tables(db: Tables) -> None:
    """Drop the tables of sqlite-vec, which are no longer used. No data are lost.

    The extension may be missing, and SQLite cannot drop an extension's tables without it. Therefore their entries in
    the schema are deleted, which turns the extension's internal tables into ordinary tables that can be dropped.
    """
    select = "SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB 'vec_*'"
    db.execute("PRAGMA writable_schema=ON")
    db.execute("DELETE FROM sqlite_master WHERE name GLOB 'vec_*' AND sql LIKE 'CREATE VIRTUAL TABLE%'")
    db.execute("PRAGMA writable_schema=RESET")
    for (name,) in db.execute(select).fetchall():
        db.execute(f'DROP TABLE "{name}"')
    for statement in schema.FLAT_VECTORS:
        db.execute(statement)


def _make_step(statements: Iterable[str]) -> Callable[[Tables], None]:
    def step(db: Tables) -> None:
        for statement in statements:
            db.execute(statement)

    return step


_STATEMENTS = {
    "0001_tables": schema.TABLES,
    "0002_vectors": schema.VECTORS,
    "0003_approvals": schema.APPROVALS,
    "0004_saved": schema.SAVED,
    "0005_holds": schema.HOLDS,
    "0006_learning": schema.LEARNING,
    "0007_pages": schema.PAGES,
    "0008_tool_forms": schema.FORMS,
    "0009_tool_calls": schema.TOOLS,
    "0016_projects": schema.PROJECTS,
    "0017_repository_settings": schema.REPOSITORY_SETTINGS,
    "0018_earlier_ends": schema.EARLIER_ENDS,
    "0019_kept_forks": schema.KEPT_FORKS,
    "0020_replay": schema.REPLAY,
    "0021_task_messages": schema.TASK_MESSAGES,
    "0022_shared_tasks": schema.SHARED_TASKS,
    "0023_lessons_elsewhere": schema.LESSONS_ELSEWHERE,
    "0024_drafts": schema.DRAFTS,
    "0025_discarded": schema.DISCARDED,
}
STEPS: tuple[tuple[str, Callable[[Tables], None]], ...] = (
    *((name, _make_step(statements)) for name, statements in _STATEMENTS.items()),
    ("0026_flat_vectors", _drop_vector_tables),
    ("0027_summed_calls", _make_step(schema.SUMMED_CALLS)),
    ("0028_own_commits", _make_step(schema.OWN_COMMITS)),
    ("0029_spans", _make_step(schema.SPANS)),
    ("0030_risk", _make_step(schema.RISK)),
    ("0031_no_metrics", _make_step(schema.NO_METRICS)),
    ("0032_withheld", _make_step(schema.WITHHELD)),
)


def check(conn: Connection, path: Path) -> None:
    """Check that this program and the database fit each other.

    Raises:
        StoreTooNew: the database was written by a newer Nightshift.
        StoreTooOld: the schema lacks steps.
    """
    if pending(conn, path):
        raise StoreTooOld(f"{path}: was written by an older Nightshift; start the daemon once to bring it up to date")


def migrate(conn: Connection, path: Path) -> None:
    """Bring the schema up to date. If several processes try at once, only one does it.

    Raises:
        StoreTooNew: the database was written by a newer Nightshift; it is left unchanged.
    """
    if not pending(conn, path) and _guards(conn) == guards():
        return
    with transaction(conn):
        if pending(conn, path):
            _apply(conn)
        _renew_guards(conn)


def pending(conn: Connection, path: Path) -> list[str]:
    """List the names of the steps that the database lacks.

    Raises:
        StoreTooNew: the database has steps that this program does not know.
        StoreDamaged: the database has unknown steps and also lacks a known step, which no version can cause.
    """
    names, applied = [name for name, _ in STEPS], _read_applied(conn)
    lacking = [name for name in names if name not in applied]
    if unknown := sorted(applied - set(names)):
        if lacking:
            raise StoreDamaged(f"{path}: its record of migrations is damaged: {', '.join(unknown)} is unknown")
        raise StoreTooNew(
            f"{path}: was written by a newer Nightshift (it has {', '.join(unknown)}); "
            "update this program, or use another database"
        )
    return lacking


def _read_applied(conn: Connection) -> set[str]:
    """Read sqlite-utils' record of applied steps without importing sqlite-utils, because the import is slow."""
    table = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = '_sqlite_migrations'"
    if conn.execute(table).fetchone() is None:
        return set()
    return {row[0] for row in conn.execute("SELECT name FROM _sqlite_migrations WHERE migration_set = ?", (SET,))}


def _apply(conn: Connection) -> None:
    # Where numpy is installed, sqlite-utils imports it for types of columns that no step uses. That takes 19 MB.
    is_hidden = sys.modules.setdefault("numpy", cast("ModuleType", None)) is None
    try:
        from sqlite_utils import Database as Tables  # noqa: PLC0415  a tenth of a second
        from sqlite_utils import Migrations  # noqa: PLC0415  as above
    finally:
        if is_hidden:
            del sys.modules["numpy"]

    steps = Migrations(SET)
    for name, step in STEPS:
        steps(name=name)(step)
    steps.apply(Tables(conn))


def fresh() -> Connection:
    """Return a database in memory with all our tables, created by the same steps. Takes a few milliseconds."""
    conn = connect_memory()
    for _, step in STEPS:
        step(cast("Tables", conn))  # the steps only call `execute`
    return conn


def guards() -> dict[str, str]:
    """Return the SQL of the triggers that refuse illegal status changes of tasks, by name."""
    moves = ", ".join(f"'{start}>{end}'" for start in Status for end in sorted(MOVES[start]))
    first = ", ".join(f"'{status}'" for status in FIRST)
    return {
        "tasks_move": (
            "CREATE TRIGGER tasks_move BEFORE UPDATE OF status ON tasks "
            f"WHEN OLD.status || '>' || NEW.status NOT IN ({moves}) "
            "BEGIN SELECT RAISE(ABORT, 'illegal move of a task'); END"
        ),
        "tasks_begin": (
            f"CREATE TRIGGER tasks_begin BEFORE INSERT ON tasks WHEN NEW.status NOT IN ({first}) "
            "BEGIN SELECT RAISE(ABORT, 'illegal first status of a task'); END"
        ),
    }


def _guards(conn: Connection) -> dict[str, str]:
    rows = conn.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'tasks'")
    return dict(rows.fetchall())


def _renew_guards(conn: Connection) -> None:
    wanted, present = guards(), _guards(conn)
    for name in (name for name in present if present[name] != wanted.get(name)):
        conn.execute(f'DROP TRIGGER "{name}"')
    for name in (name for name in wanted if wanted[name] != present.get(name)):
        conn.execute(wanted[name])
