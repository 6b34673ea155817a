"""An attempt as a text that another node's database can take in: its last step, and what was paid for since then.

Copied are the state after the last finished step, the replies and tool calls of the step that was under way, what the
task asked its owner and heard from him, and what its model calls cost, so that its limits count on. Rows are told by
their columns' names: a node whose tables have others leaves out what it does not know.
"""

from __future__ import annotations

import json
from typing import Any

from nightshift.core.tasks.states import Status
from nightshift.storage.db import artifacts
from nightshift.storage.db.sqlite import Connection, Row

_TEXTS = {"steps": ("work",), "replies": ("reply",), "tool_calls": ("arguments", "result", "change")}
"""The columns that name texts of their own. Prompts are long, nothing goes on from them, and they are not copied."""
_QUERIES = {
    "steps": "SELECT * FROM steps WHERE task_id = ? AND attempt = ? ORDER BY step_no DESC LIMIT 1",
    "replies": "SELECT * FROM replies WHERE task_id = ? AND attempt = ? AND step_no > ?",
    "tool_calls": "SELECT * FROM tool_calls WHERE task_id = ? AND attempt = ? AND step_no > ?",
    "model_stats": "SELECT * FROM model_stats WHERE task_id = ?",
}
_ASKS = "SELECT * FROM approvals WHERE task_id = ? ORDER BY id"
_ANSWER = {"granted", "answer", "answered_at", "answered_by"}
_NUMBERS = {"model_stats": ("id",)}
"""Columns that each database numbers by itself."""


def mark(conn: Connection, task_id: int) -> tuple[int, ...] | None:
    """Return counts that change whenever a copy would: of steps, replies, tool calls, asks, answers; None for none."""
    row = conn.execute(
        "SELECT attempt, (SELECT count(*) FROM steps WHERE task_id = id AND steps.attempt = tasks.attempt), "
        "(SELECT count(*) FROM replies WHERE task_id = id AND replies.attempt = tasks.attempt), "
        "(SELECT count(*) FROM tool_calls WHERE task_id = id AND tool_calls.attempt = tasks.attempt), "
        "(SELECT count(*) FROM approvals WHERE task_id = tasks.id), "
        "(SELECT count(granted) FROM approvals WHERE task_id = tasks.id) "
        "FROM tasks WHERE id = ?",
        (task_id,),
    ).fetchone()
    return tuple(row) if row and any(tuple(row)[1:]) else None


def take_copy(conn: Connection, task_id: int) -> str | None:
    """The copy of the attempt that a task is in; None while it has nothing to go on from."""
    task = conn.execute("SELECT attempt, tries, status, iterations FROM tasks WHERE id = ?", (task_id,)).fetchone()
    if task is None or not task["attempt"] or task["status"] in {Status.DONE, Status.FAILED, Status.CANCELLED}:
        return None
    steps = conn.execute(_QUERIES["steps"], (task_id, task["attempt"])).fetchall()
    last = steps[0]["step_no"] if steps else -1
    place = (task_id, task["attempt"], last)
    rows = {
        "steps": steps,
        "replies": conn.execute(_QUERIES["replies"], place).fetchall(),
        "tool_calls": conn.execute(_QUERIES["tool_calls"], place).fetchall(),
    }
    asks = [_columns("approvals", row) for row in conn.execute(_ASKS, (task_id,))]
    if not (any(rows.values()) or asks):
        return None
    rows["model_stats"] = conn.execute(_QUERIES["model_stats"], (task_id,)).fetchall()
    texts = {
        digest: artifacts.get(conn, digest)
        for table, columns in _TEXTS.items()
        for row in rows[table]
        for column in columns
        if (digest := row[column])
    }
    copied = {table: [_columns(table, row) for row in found] for table, found in rows.items()}
    facts = {"attempt": task["attempt"], "tries": task["tries"], "iterations": task["iterations"]}
    return json.dumps({"task": facts, "rows": copied, "texts": texts, "asks": asks})


def restore_copy(conn: Connection, task_id: int, copy: str) -> dict[str, Any]:
    """Store a copy under the number that the task has here, inside a write job; the columns that its row gets.

    What is here already of the same attempt stays: this node may have had the task before.
    """
    found = json.loads(copy)
    for digest, text in found["texts"].items():
        if text is not None and artifacts.put(conn, text) != digest:
            raise ValueError("a text of the copy is not the one that it is named by")
    for table in _QUERIES:
        known = {row["name"] for row in conn.execute(f"SELECT name FROM pragma_table_info('{table}')")}  # noqa: S608  a constant
        if (
            table == "model_stats"
            and conn.execute("SELECT 1 FROM model_stats WHERE task_id = ?", (task_id,)).fetchone()
        ):
            continue
        for row in found["rows"].get(table, ()):
            values = {name: value for name, value in row.items() if name in known} | {"task_id": task_id}
            if "prompt" in values:
                values["prompt"] = artifacts.put(conn, "[]")
            names, marks = ", ".join(values), ", ".join("?" * len(values))
            conn.execute(f"INSERT OR IGNORE INTO {table} ({names}) VALUES ({marks})", tuple(values.values()))  # noqa: S608  columns of the schema
    task = found["task"]
    return {"attempt": task["attempt"], "tries": task["tries"], "iterations": task["iterations"], "resume": 1}


def restore_asks(conn: Connection, task_id: int, copy: str) -> dict[int, int]:
    """Store what was asked and answered elsewhere, inside a write job; the numbers of the asks here, by those there.

    What is here already is the same ask; an answer that is not here yet is taken over.
    """
    numbers = {}
    known = {row["name"] for row in conn.execute("SELECT name FROM pragma_table_info('approvals')")}
    for row in json.loads(copy).get("asks", ()):  # an older node copies none
        values = {name: value for name, value in row.items() if name in known and name != "id"} | {"task_id": task_id}
        same = (task_id, values["subject"], values["question"], values["asked_at"])
        query = "SELECT id, granted FROM approvals WHERE task_id = ? AND subject = ? AND question = ? AND asked_at = ?"
        here = conn.execute(query, same).fetchone()
        if here is None:
            names, marks = ", ".join(values), ", ".join("?" * len(values))
            made = conn.execute(f"INSERT INTO approvals ({names}) VALUES ({marks})", tuple(values.values()))  # noqa: S608  columns of the schema
            numbers[row["id"]] = int(made.lastrowid or 0)
            continue
        numbers[row["id"]] = here["id"]
        if here["granted"] is None and values["granted"] is not None:
            answered = {name: value for name, value in values.items() if name in _ANSWER}
            names = ", ".join(f"{name} = ?" for name in answered)
            conn.execute(f"UPDATE approvals SET {names} WHERE id = ?", (*answered.values(), here["id"]))  # noqa: S608  as above
    return numbers


def _columns(table: str, row: Row) -> dict[str, Any]:
    return {name: row[name] for name in row.keys() if name not in _NUMBERS.get(table, ())}  # noqa: SIM118  a row
