"""Which lessons were near to a task's attempts, for whoever looks at the task."""

from __future__ import annotations

from dataclasses import dataclass

from db.sqlite import Connection
from memory.index import Kind
from memory.recalls import Arm


@dataclass(frozen=True, slots=True, kw_only=True)
class NearTo:
    """A lesson that was near to an attempt, what it is about, and how that ended (None: not yet)."""

    attempt: int
    kind: Kind
    item: int
    arm: Arm
    score: float
    about: str
    solved: bool | None


def of_task(conn: Connection, task_id: int) -> list[NearTo]:
    """The lessons that were near to a task's attempts, the nearest first; two hundred at most."""
    about = (
        "CASE kind WHEN 'failure' THEN (SELECT coalesce(nullif(lesson, ''), error) FROM failures WHERE id = item) "
        "ELSE (SELECT coalesce(nullif(lesson, ''), problem) FROM patterns WHERE id = item) END"
    )
    query = (
        f"SELECT attempt, kind, item, arm, score, solved, {about} AS about FROM recalls "  # noqa: S608  a constant
        "WHERE task_id = ? ORDER BY attempt, score DESC LIMIT 200"
    )
    return [
        NearTo(
            attempt=row["attempt"],
            kind=row["kind"],
            item=row["item"],
            arm=Arm(row["arm"]),
            score=row["score"],
            about=row["about"] or "",
            solved=None if row["solved"] is None else bool(row["solved"]),
        )
        for row in conn.execute(query, (task_id,))
    ]
