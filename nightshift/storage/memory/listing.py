"""SQL for the owner's views of lessons: filtered lists, a single lesson, and the attempts that it matched.

A list is read from one covering index for each table (`storage.db.schema`), because the rows also contain code and
fixes, which take many pages each. Only a text search reads the rows themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Literal

from nightshift.core.clock import Moment, from_text, to_text
from nightshift.core.shares import Share
from nightshift.storage.db.codec import like, read_row, storable
from nightshift.storage.db.sqlite import Connection, Row
from nightshift.storage.memory import elsewhere, recall_log
from nightshift.storage.memory.recall_log import Assignment
from nightshift.storage.memory.vector_index import LessonKind

Order = Literal["newest", "used"]
Key = tuple[LessonKind, int]


class State(StrEnum):
    """State of a lesson: always shown, shown in only half of its cases, or never shown."""

    ACTIVE = "active"
    PROBATION = "probation"
    RETIRED = "retired"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Filter for lessons. None and empty strings match all. `text` may occur anywhere in the lesson."""

    kind: LessonKind | None = None
    state: State | None = None
    language: str = ""
    repo: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A lesson, as shown to the owner. Counts are sums over all nodes.

    Attributes:
        signature: normalised form of the error; empty for a pattern.
        about: the error text, or the task of a pattern.
        code: the failing change as a patch; empty for a pattern.
        judged_from: when the owner restored the lesson; earlier attempts do not count in `shown` and `withheld`. None
            if all attempts count.
        shown: the attempts that saw the lesson, and how many of them were solved.
        withheld: the attempts from which the lesson was withheld, and how many of them were solved.
        elsewhere: number of attempts in `shown` and `withheld` that other nodes counted.
    """

    kind: LessonKind
    id: int
    task_id: int | None
    signature: str
    about: str
    code: str
    fix: str
    lesson: str
    language: str
    repo: str
    state: State
    created_at: datetime
    learned_at: datetime
    last_used_at: datetime | None
    times_used: int
    helped: int
    retired_at: datetime | None
    retired_by: str
    judged_from: datetime | None
    shown: Share
    withheld: Share
    elsewhere: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """An attempt that a lesson matched. The result and the costs are None until the attempt has ended."""

    task_id: int
    description: str
    attempt: int
    arm: Assignment
    score: float
    at: Moment
    solved: bool | None
    iterations: int | None
    tokens: int | None


_SOURCES: dict[LessonKind, str] = {
    "failure": "SELECT 'failure' AS kind, id, fixed_at AS at, times_used FROM failures WHERE solved = 1",
    "pattern": "SELECT 'pattern' AS kind, id, created_at AS at, times_used FROM patterns WHERE 1",
}
_WHOLE: dict[LessonKind, str] = {
    "failure": "SELECT *, error AS about, coalesce(fixed_at, created_at) AS learned_at FROM failures "
    "WHERE solved = 1 AND id = ?",
    "pattern": "SELECT *, '' AS signature, problem AS about, '' AS code, solution AS fix, created_at AS learned_at "
    "FROM patterns WHERE id = ?",
}
_STATES = {
    State.ACTIVE: " AND retired = 0 AND standing <> 'suspect'",
    State.PROBATION: " AND retired = 0 AND standing = 'suspect'",
    State.RETIRED: " AND retired = 1",
}
_TEXTS: dict[LessonKind, tuple[str, ...]] = {
    "failure": ("signature", "error", "lesson", "fix"),
    "pattern": ("problem", "lesson", "solution"),
}
_USED = (
    "times_used + coalesce((SELECT t.used FROM lesson_keys k JOIN lesson_tallies t ON t.key = k.key "
    "WHERE k.kind = lessons.kind AND k.item = lessons.id), 0)"
)
_ORDERS: dict[Order, str] = {"newest": "at DESC", "used": f"{_USED} DESC, at DESC"}


def page(
    conn: Connection, wanted: Wanted, *, order: Order = "newest", limit: int, offset: int = 0
) -> tuple[list[Key], int]:
    """Return the matching lessons from `offset`, and the total number of matches."""
    source, values = _source(wanted)
    select = f"SELECT kind, id FROM ({source}) AS lessons ORDER BY {_ORDERS[order]}, kind, id DESC LIMIT ? OFFSET ?"  # noqa: S608  our own names
    rows = conn.execute(select, (*values, limit, offset)).fetchall()
    (count,) = conn.execute(f"SELECT count(*) FROM ({source})", values).fetchone()  # noqa: S608  as above
    return [(row[0], int(row[1])) for row in rows], int(count)


def _source(wanted: Wanted) -> tuple[str, list[object]]:
    """Return the SQL that selects the wanted lessons from both tables, and its values."""
    parts, values = list[str](), list[object]()
    for kind, select in _SOURCES.items():
        if wanted.kind not in {None, kind}:
            continue
        where, given = _where(kind, wanted)
        parts.append(select + where)
        values += given
    return " UNION ALL ".join(parts), values


def _where(kind: LessonKind, wanted: Wanted) -> tuple[str, list[object]]:
    where, values = _STATES[wanted.state] if wanted.state else "", list[object]()
    for column, value in (("language", wanted.language), ("repo", wanted.repo)):
        if value:
            where, values = f"{where} AND {column} = ?", [*values, storable(value)]
    if wanted.text:
        held = " OR ".join(f"{column} LIKE ? ESCAPE '\\'" for column in _TEXTS[kind])
        where, values = f"{where} AND ({held})", [*values, *[like(wanted.text)] * len(_TEXTS[kind])]
    return where, values


def read(conn: Connection, kind: LessonKind, item: int) -> Listed | None:
    """Read a lesson; None if it does not exist. A failure without a fix does not count as a lesson."""
    row = conn.execute(_WHOLE[kind], (item,)).fetchone()
    return _list(conn, kind, row) if row else None


def read_all(conn: Connection, keys: Sequence[Key]) -> list[Listed]:
    """Read these lessons in the given order. Missing ones are left out."""
    lessons = (read(conn, kind, item) for kind, item in keys)
    return [lesson for lesson in lessons if lesson is not None]


def _list(conn: Connection, kind: LessonKind, row: Row) -> Listed:
    shown, withheld = recall_log.tallies(conn, kind, row["id"], row["judged_from"])
    there = elsewhere.tally(conn, kind, row["id"])
    return read_row(
        Listed,
        row,
        kind=kind,
        state=_state(row),
        judged_from=from_text(row["judged_from"]) if row["judged_from"] else None,
        times_used=row["times_used"] + there.used,
        helped=row["helped"] + there.helped,
        shown=shown,
        withheld=withheld,
        elsewhere=there.shown.whole + there.withheld.whole if there.judged_from == row["judged_from"] else 0,
    )


def _state(row: Row) -> State:
    if row["retired"]:
        return State.RETIRED
    return State.PROBATION if row["standing"] == "suspect" else State.ACTIVE


def uses(conn: Connection, kind: LessonKind, item: int, limit: int) -> list[Use]:
    """List the newest attempts that a lesson matched, newest first."""
    rows = conn.execute(
        "SELECT r.*, coalesce(t.description, '') AS description FROM recalls r LEFT JOIN tasks t ON t.id = r.task_id "
        "WHERE r.kind = ? AND r.item = ? ORDER BY r.task_id DESC, r.attempt DESC LIMIT ?",
        (kind, item, limit),
    )
    return [read_row(Use, row) for row in rows]


def states(conn: Connection) -> dict[tuple[LessonKind, State], int]:
    """Count the lessons of each kind in each state."""
    return {
        (kind, state): int(conn.execute(f"SELECT count(*) FROM ({select}{where})").fetchone()[0])  # noqa: S608  our own names
        for kind, select in _SOURCES.items()
        for state, where in _STATES.items()
    }


def places(conn: Connection) -> tuple[list[str], list[str]]:
    """List the languages and the repositories of lessons, at most 50 of each, the most frequent first."""
    return _distinct(conn, "language"), _distinct(conn, "repo")


def _distinct(conn: Connection, column: str) -> list[str]:
    select = (
        f"SELECT {column} FROM (SELECT {column} FROM failures WHERE solved = 1 UNION ALL "  # noqa: S608  our own name
        f"SELECT {column} FROM patterns) WHERE {column} <> '' GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 50"
    )
    return [str(row[0]) for row in conn.execute(select)]


def count_learned_by_day(conn: Connection, now: datetime, days: int) -> list[tuple[str, int]]:
    """Count the lessons that were learned on each of the last days, oldest first. Days are UTC, as in `2026-11-22`."""
    names = [f"{now - timedelta(days=back):%Y-%m-%d}" for back in reversed(range(days))]
    select = (
        "SELECT substr(at, 1, 10), count(*) FROM (SELECT fixed_at AS at FROM failures WHERE solved = 1 UNION ALL "
        "SELECT created_at AS at FROM patterns) WHERE at >= ? GROUP BY 1"
    )
    since = to_text((now - timedelta(days=days - 1)).replace(hour=0, minute=0, second=0, microsecond=0))
    counts = {str(row[0]): int(row[1]) for row in conn.execute(select, (since,))}
    return [(name, counts.get(name, 0)) for name in names]
