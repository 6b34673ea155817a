"""What tasks ask their owner, as rows. Whether a task may ask or go on is `db.task_asks`'s business."""

from __future__ import annotations

from datetime import datetime

from core.clock import from_text, to_text
from core.errors import UnknownApproval
from core.gates import Answerer, Approval, Ask, AskKind
from core.tasks import Task
from db.codec import storable
from db.sqlite import Connection, Row

_SELECT = "SELECT approvals.*, tasks.description AS wanted FROM approvals LEFT JOIN tasks ON tasks.id = task_id "


def insert(conn: Connection, task: Task, ask: Ask, now: datetime) -> int:
    """Store an open ask; returns its id."""
    cursor = conn.execute(
        "INSERT INTO approvals (task_id, attempt, kind, subject, question, fallback, asked_at) "
        "VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            *(task.id, task.attempt, ask.kind, storable(ask.subject), storable(ask.question)),
            *(storable(ask.default), to_text(now)),
        ),
    )
    return int(cursor.lastrowid or 0)


def read(conn: Connection, approval_id: int) -> Approval:
    """One ask.

    Raises:
        UnknownApproval: there is none with that id.
    """
    row = conn.execute(f"{_SELECT} WHERE approvals.id = ?", (approval_id,)).fetchone()
    if row is None:
        raise UnknownApproval(approval_id)
    return _approval(row)


def find(conn: Connection, open_only: bool, task_id: int | None, limit: int) -> list[Approval]:
    """The newest asks, the oldest of them first; `open_only` leaves those that a waiting task waits for."""
    which = "granted IS NULL AND status = 'waiting'" if open_only else "TRUE"
    query = f"{_SELECT} WHERE (? IS NULL OR task_id = ?) AND {which} ORDER BY approvals.id DESC LIMIT ?"
    return [_approval(row) for row in conn.execute(query, (task_id, task_id, limit))][::-1]


def decisions(conn: Connection, before: int | None, limit: int) -> list[Approval]:
    """What was answered, the newest asks first, those with a lower id than `before`."""
    where = "granted IS NOT NULL AND (? IS NULL OR approvals.id < ?)"
    query = f"{_SELECT} WHERE {where} ORDER BY approvals.id DESC LIMIT ?"
    return [_approval(row) for row in conn.execute(query, (before, before, limit))]


def open_count(conn: Connection) -> int:
    """How many asks a waiting task waits for."""
    query = (
        "SELECT COUNT(*) FROM approvals JOIN tasks ON tasks.id = task_id WHERE granted IS NULL AND status = 'waiting'"
    )
    return int(conn.execute(query).fetchone()[0])


def open_of(conn: Connection, task_id: int) -> list[Approval]:
    """What a task asked that is not answered, whether it still waits or not."""
    query = f"{_SELECT} WHERE task_id = ? AND granted IS NULL ORDER BY approvals.id"
    return [_approval(row) for row in conn.execute(query, (task_id,))]


def decided(conn: Connection, task_id: int) -> set[str]:
    """The subjects that the owner has decided on for a task.

    That he denied more budget ended the attempt; when he has the task tried again, he may be asked again.
    """
    query = (
        "SELECT subject FROM approvals WHERE task_id = ? AND granted IS NOT NULL AND subject <> '' "
        "AND NOT (kind = ? AND NOT granted)"
    )
    return {row["subject"] for row in conn.execute(query, (task_id, AskKind.BUDGET))}


def overdue(conn: Connection, asked_before: datetime) -> list[Approval]:
    """Open asks that have something to assume and were asked before then, oldest first."""
    query = f"{_SELECT} WHERE granted IS NULL AND fallback <> '' AND asked_at < ? ORDER BY approvals.id"
    return [_approval(row) for row in conn.execute(query, (to_text(asked_before),))]


def settle(conn: Connection, approval_id: int, granted: bool, answer: str, now: datetime, by: Answerer) -> Approval:
    """Note the owner's answer, or what is assumed in its place."""
    conn.execute(
        "UPDATE approvals SET granted = ?, answer = ?, answered_at = ?, answered_by = ? WHERE id = ?",
        (int(granted), storable(answer), to_text(now), by, approval_id),
    )
    return read(conn, approval_id)


def withdraw(conn: Connection, approval_id: int) -> None:
    """Forget an ask that nobody needs answered any more."""
    conn.execute("DELETE FROM approvals WHERE id = ? AND granted IS NULL", (approval_id,))


def _approval(row: Row) -> Approval:
    granted = row["granted"]
    return Approval(
        id=row["id"],
        task_id=row["task_id"],
        attempt=row["attempt"],
        ask=Ask(kind=AskKind(row["kind"]), subject=row["subject"], question=row["question"], default=row["fallback"]),
        asked_at=from_text(row["asked_at"]),
        granted=None if granted is None else bool(granted),
        answer=row["answer"] or "",
        answered_at=row["answered_at"] and from_text(row["answered_at"]),
        answered_by=Answerer(row["answered_by"]) if row["answered_by"] else None,
        wanted=row["wanted"] or "",
    )
