"""Validates rows: finds what SQLite's own check cannot see, a flipped bit inside a value.

The rules follow from the columns' types and names, so a new table is covered as it is. They are written as SQL
conditions, used on the database at its start and on each row that is taken from a damaged one. On top of them a task is
one thing in several places, which must agree: its row, its specification with its digest, its dependencies, and the
last move that the log has.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from enum import StrEnum

from nightshift.core.dialogue import Finish
from nightshift.core.events import Level
from nightshift.core.tasks.change_checks import AskKind
from nightshift.core.tasks.queueing import PauseSource
from nightshift.core.tasks.states import Ending, Outcome, Phase, Status
from nightshift.core.tasks.task import TaskSpec
from nightshift.core.tool_protocol import ToolProtocol
from nightshift.storage.db.codec import decode, spec_digest, storable
from nightshift.storage.db.sqlite import Connection, Error, Row

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
    {"resume", "cancel_requested", "integrated", "granted", "solved", "retired", "lost", "explored", "noted", "ok"}
)
_ANY_SIGN = frozenset({"priority", "value"})
_KINDS = {"INTEGER": "'integer'", "TEXT": "'text'", "REAL": "'real', 'integer'", "BLOB": "'blob'"}
_OTHERS = ("sqlite_", "_sqlite_")
_STATUSES = ", ".join(f"'{status}'" for status in Status)

LAST_MOVE = (  # words of ours alone
    "(SELECT e.data FROM main.execution_logs e WHERE e.task_id = t.id AND "  # noqa: S608
    f"CASE WHEN json_valid(e.data) THEN json_extract(e.data, '$.to') IN ({_STATUSES}) ELSE 0 END "
    "ORDER BY e.id DESC LIMIT 1)"
)
"""The data of the newest move of a task `t` in the log; it was written in one transaction with its row."""


def prepare(conn: Connection) -> None:
    """Give a connection the functions that the conditions use."""
    conn.create_function("is_text", -1, _is_text, deterministic=True)
    conn.create_function("spec_fits", 5, _spec_fits, deterministic=True)


def tables(conn: Connection) -> list[str]:
    """The tables that hold rows of ours, in the order they were made."""
    found = conn.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table' ORDER BY rowid").fetchall()
    return [row[0] for row in found if not row[0].startswith(_OTHERS) and not row[1].startswith("CREATE VIRTUAL")]


def columns(conn: Connection) -> dict[str, list[tuple[object, ...]]]:
    """The columns of each table, with their types and defaults."""
    return {table: [tuple(row) for row in conn.execute(f"PRAGMA main.table_info({table})")] for table in tables(conn)}


def invalid(conn: Connection, table: str) -> str:
    """The SQL condition under which a row of a table was never written by this program."""
    columns = conn.execute(f"PRAGMA main.table_info({table})").fetchall()
    texts = ", ".join(f"CAST({column['name']} AS BLOB)" for column in columns if column["type"] == "TEXT")
    rules = [rule for column in columns for rule in _rules(table, column)]
    return " OR ".join((*rules, f"NOT is_text({texts})") if texts else rules) or "0"


def _rules(table: str, column: Row) -> Iterator[str]:
    """What must not be true of one column; each part is false for NULL, and NULL is judged first."""
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


def spec_mismatch(schema: str) -> str:
    """The SQL condition under which a task `t` is not what its specification says; `schema` has both."""
    fits = "spec_fits(t.id, s.spec, s.digest, t.description, t.key)"
    return f"NOT EXISTS (SELECT 1 FROM {schema}.task_specs s WHERE s.task_id = t.id AND {fits})"  # noqa: S608


def dependency_mismatch() -> str:
    """The SQL condition under which a task `t` lost a dependency, or has one that it was not given."""
    given = "SELECT d.value FROM main.task_specs s, json_each(s.spec, '$.depends_on') d WHERE s.task_id = t.id"
    stored = "SELECT x.depends_on FROM main.task_dependencies x WHERE x.task_id = t.id"
    there = "d.value IN (SELECT id FROM main.tasks)"
    return f"EXISTS ({given} AND {there} EXCEPT {stored}) OR EXISTS ({stored} EXCEPT {given})"


def newer_move_logged() -> str:
    """The SQL condition under which the log has a later move of a task `t` than its row."""
    return f"json_extract({LAST_MOVE}, '$.to') <> t.status"


def faults(conn: Connection) -> list[str]:
    """What is invalid in an open database, one line for each table."""
    prepare(conn)
    found = tables(conn)
    lines = [_count(conn, f"main.{table} WHERE {invalid(conn, table)}", f"rows of {table}") for table in found]
    if "digest" in {row["name"] for row in conn.execute("PRAGMA table_info(task_specs)")}:
        lines.append(_count_tasks(conn, spec_mismatch("main"), "their specification"))
    lines.append(_count_tasks(conn, dependency_mismatch(), "what they depend on"))
    lines.append(_count_tasks(conn, newer_move_logged(), "the log of their moves"))
    return [line for line in lines if line]


def _count_tasks(conn: Connection, condition: str, differ_from: str) -> str:
    return _count(conn, f"main.tasks t WHERE {condition}", f"tasks that differ from {differ_from}")


def _count(conn: Connection, what: str, name: str) -> str:
    try:
        count = conn.execute(f"SELECT COUNT(*) FROM {what}").fetchone()[0]  # noqa: S608  conditions of ours
    except Error as error:  # a text that is none, in a place that a rule looks at
        return f"{name} cannot be read: {error}"
    return f"{count} {name} are not as they were written" if count else ""


def _is_text(*values: object) -> bool:
    """Whether all of these are UTF-8 (or NULL); a text that is not cannot even be read."""
    try:
        for value in values:
            _ = value.decode() if isinstance(value, bytes) else None
    except UnicodeDecodeError:
        return False
    return True


def _spec_fits(task_id: int, text: object, digest: str, description: str, key: str | None) -> bool:
    """Whether a specification is unharmed, and what the task's row repeats of it is what it says."""
    try:
        spec = json.loads(str(text))
        if digest and digest != spec_digest(task_id, str(text)):
            return False
        if not digest:
            decode(TaskSpec, str(text))
        return storable(spec["description"]) == description and (spec.get("key") and storable(spec["key"])) == key
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return False
