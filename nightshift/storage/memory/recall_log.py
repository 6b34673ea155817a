"""The log of recalls: which lessons matched an attempt, which of them it was assigned to see, and how it ended.

The assignments form an A/B test. Each attempt is assigned to a group once, at random, and stays in that group. Within
an attempt, the same holds for each suspect lesson.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from nightshift.core.clock import to_text
from nightshift.core.shares import Interval, Share, difference
from nightshift.storage.db.codec import read_row
from nightshift.storage.db.sqlite import Connection
from nightshift.storage.memory import elsewhere
from nightshift.storage.memory.elsewhere import EVERYONE, TABLES, Tally, add_shares
from nightshift.storage.memory.vector_index import LessonKind


class Assignment(StrEnum):
    """Decides whether an attempt sees a lesson that matches it.

    SHOWN: the attempt sees the lesson. CONTROL: the attempt sees no lessons at all. PROBATION: the attempt sees other
    lessons, but not this one.
    """

    SHOWN = "shown"
    CONTROL = "control"
    PROBATION = "probation"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """A lesson that matched an attempt."""

    kind: LessonKind
    item: int
    arm: Assignment
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryUplift:
    """The benefit of memory as a whole: attempts assigned to see lessons compared with those assigned to see none.

    `shown` and `control` count solved attempts. `solve_rate` estimates the rate with lessons minus the rate without.
    """

    shown: Share
    control: Share
    solve_rate: Interval


def draw(*parts: object) -> float:
    """Return a pseudo-random number in [0, 1) for an assignment. The same parts always give the same number."""
    text = ":".join(map(str, parts))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:7], "big") / 2**56


def add(conn: Connection, task_id: int, attempt: int, recalls: Sequence[Recalled], at: datetime) -> None:
    """Record the lessons that matched an attempt. Existing entries are not changed."""
    conn.executemany(
        "INSERT INTO recalls (task_id, attempt, kind, item, arm, score, at) VALUES (?, ?, ?, ?, ?, ?, ?) "
        "ON CONFLICT DO NOTHING",
        [(task_id, attempt, recall.kind, recall.item, recall.arm, recall.score, to_text(at)) for recall in recalls],
    )


def end(
    conn: Connection, task_id: int, attempt: int, *, solved: bool, iterations: int, at: datetime
) -> list[tuple[LessonKind, int]]:
    """Record how an attempt ended; return the lessons that matched it."""
    tokens = conn.execute(
        "SELECT COALESCE(SUM(tokens_in + tokens_out), 0) FROM model_stats WHERE task_id = ? AND attempt = ?",
        (task_id, attempt),
    ).fetchone()[0]
    rows = conn.execute(
        "UPDATE recalls SET solved = ?, iterations = ?, tokens = ?, ended_at = ? WHERE task_id = ? AND attempt = ? "
        "AND solved IS NULL RETURNING kind, item",
        (int(solved), iterations, tokens, to_text(at), task_id, attempt),
    )
    return [(row[0], int(row[1])) for row in rows.fetchall()]


def any_of(conn: Connection, task_id: int, attempt: int) -> bool:
    """Check whether any lesson matched an attempt."""
    select = "SELECT 1 FROM recalls WHERE task_id = ? AND attempt = ? LIMIT 1"
    return conn.execute(select, (task_id, attempt)).fetchone() is not None


def tallies(conn: Connection, kind: LessonKind, item: int, judged_from: str = "") -> tuple[Share, Share]:
    """Count the attempts that saw a lesson, and those from which the lesson was withheld.

    Each count includes how many of the attempts were solved. Only attempts since `judged_from` count. The counts of
    other nodes (`storage.memory.elsewhere`) are added if they begin at the same time. If they begin at another time,
    the other nodes will send new counts.
    """
    select = (
        "SELECT arm = 'shown', COALESCE(SUM(solved), 0), COUNT(*) FROM recalls "
        "WHERE kind = ? AND item = ? AND solved IS NOT NULL AND at >= ? GROUP BY 1"
    )
    shares = {bool(row[0]): Share(int(row[1]), int(row[2])) for row in conn.execute(select, (kind, item, judged_from))}
    shown, without = shares.get(True, Share()), shares.get(False, Share())
    there = elsewhere.tally(conn, kind, item)
    if there.judged_from != judged_from:
        return shown, without
    return add_shares(shown, there.shown), add_shares(without, there.withheld)


def withheld(conn: Connection) -> Share:
    """Count the attempts on all nodes from which any lesson was withheld, and how many of them were solved."""
    return add_shares(_withheld_here(conn), elsewhere.withheld(conn))


def _withheld_here(conn: Connection) -> Share:
    select = (
        "SELECT COALESCE(SUM(solved), 0), COUNT(*) FROM (SELECT DISTINCT task_id, attempt, solved FROM recalls "
        "WHERE arm <> 'shown' AND solved IS NOT NULL)"
    )
    return Share(*map(int, conn.execute(select).fetchone()))


def mark(conn: Connection) -> int:
    """Return a value that changes whenever the result of an attempt is counted."""
    return int(conn.execute("SELECT count(*) FROM concluded").fetchone()[0])


def own_tallies(conn: Connection) -> dict[str, Tally]:
    """Sum the counts of this node alone, by lesson key. Lessons without counts are left out."""
    by_lesson = {EVERYONE: Tally(withheld=_withheld_here(conn))}
    for kind, table in TABLES.items():
        uses = conn.execute(
            "SELECT k.key, MAX(l.judged_from), SUM(l.times_used), SUM(l.helped) "  # noqa: S608  our own names
            f"FROM lesson_keys k JOIN {table} l ON l.id = k.item WHERE k.kind = ? GROUP BY 1",
            (kind,),
        )
        for key, since, used, helped in map(tuple, uses.fetchall()):
            by_lesson[key] = Tally(judged_from=since, used=int(used), helped=int(helped))
        ends = conn.execute(
            "SELECT k.key, r.arm = 'shown', SUM(r.solved), COUNT(*) FROM lesson_keys k "  # noqa: S608  our own names
            f"JOIN {table} l ON l.id = k.item JOIN recalls r ON r.kind = k.kind AND r.item = k.item "
            "WHERE k.kind = ? AND r.solved IS NOT NULL AND r.at >= l.judged_from GROUP BY 1, 2",
            (kind,),
        )
        for key, is_shown, solved, count in map(tuple, ends.fetchall()):
            share = Share(int(solved), int(count))
            by_lesson[key] = (
                replace(by_lesson[key], shown=share) if is_shown else replace(by_lesson[key], withheld=share)
            )
    return {key: tally for key, tally in by_lesson.items() if tally != Tally()}


def uplift(conn: Connection) -> MemoryUplift:
    """Compare attempts with and without memory, among the attempts that lessons matched.

    An attempt counts in the group that it was assigned to, whatever was drawn for single lessons. So an attempt counts
    as one with memory even if it saw no lesson because the only match was on probation. That way the two groups differ
    only by the random assignment.
    """
    # All rows of an attempt have the same result, and either all or none of them are in the control group.
    select = "SELECT arm = 'control', solved FROM recalls WHERE solved IS NOT NULL GROUP BY task_id, attempt"
    rows = conn.execute(select).fetchall()
    groups = ([solved for is_control, solved in rows if is_control == group] for group in (0, 1))
    shown, control = (Share(sum(group), len(group)) for group in groups)
    return MemoryUplift(shown=shown, control=control, solve_rate=difference(shown, control))


@dataclass(frozen=True, slots=True, kw_only=True)
class NearLesson:
    """A lesson that matched an attempt, with its text. `solved` is the attempt's result; None until it has ended."""

    attempt: int
    kind: LessonKind
    item: int
    arm: Assignment
    score: float
    about: str
    solved: bool | None


def of_task(conn: Connection, task_id: int) -> list[NearLesson]:
    """List the lessons that matched the attempts of a task, by attempt and nearest first; at most 200."""
    about = (
        "CASE kind WHEN 'failure' THEN (SELECT coalesce(nullif(lesson, ''), error) FROM failures WHERE id = item) "
        "ELSE (SELECT coalesce(nullif(lesson, ''), problem) FROM patterns WHERE id = item) END"
    )
    query = (
        f"SELECT attempt, kind, item, arm, score, solved, {about} AS about FROM recalls "  # noqa: S608  a constant
        "WHERE task_id = ? ORDER BY attempt, score DESC LIMIT 200"
    )
    return [read_row(NearLesson, row, about=row["about"] or "") for row in conn.execute(query, (task_id,))]
