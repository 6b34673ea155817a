"""SQL of long-term memory: failures, patterns (lessons from solved tasks), and how often each of them helped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from nightshift.core.clock import to_text
from nightshift.core.tasks.lesson import Lesson
from nightshift.storage.db.codec import read_row, storable
from nightshift.storage.db.sqlite import Connection
from nightshift.storage.memory import elsewhere
from nightshift.storage.memory.elsewhere import TABLES
from nightshift.storage.memory.lesson_standing import Standing
from nightshift.storage.memory.vector_index import LessonKind, Near, forget_vectors

_TEXT = {
    "failure": "SELECT id, signature AS text FROM failures WHERE solved = 1 AND retired = 0",
    "pattern": "SELECT id, problem AS text FROM patterns WHERE retired = 0",
}
_LESSON = {
    "failure": "SELECT id, task_id, error AS about, lesson, fix, fixed_at AS at, times_used, helped, "
    "language, repo FROM failures",
    "pattern": "SELECT id, task_id, problem AS about, lesson, solution AS fix, created_at AS at, times_used, helped, "
    "language, repo FROM patterns",
}
RetiredBy = Literal["owner", "measured"]
KINDS: tuple[LessonKind, ...] = tuple(TABLES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A stored memory, with the similarity by which a search found it.

    Attributes:
        times_used: number of uses on all nodes.
        helped: number of uses on all nodes in attempts that were solved.
        language: the language of its task; empty if it is not known.
        repo: the repository of its task; empty if it is not known, and for the daemon's own workspace.
    """

    kind: LessonKind
    id: int
    task_id: int | None
    about: str
    lesson: str
    fix: str
    at: datetime
    times_used: int
    helped: int
    language: str
    repo: str
    similarity: float


def add_failures(
    conn: Connection, task_id: int, attempt: int, errors: Mapping[str, str], code: str, at: datetime
) -> None:
    """Store failures, given as a map of signatures to errors. Failures that this attempt has met before are updated.

    The rows get the language and the repository of the task, like those of `add_pattern`.
    """
    language, repo = read_language_and_repo(conn, task_id)
    for signature, error in errors.items():
        values = (storable(error), storable(code), to_text(at), task_id, attempt, storable(signature))
        renewed = conn.execute(
            "UPDATE failures SET error = ?, code = ?, created_at = ? "
            "WHERE task_id = ? AND attempt = ? AND signature = ? AND solved = 0",
            values,
        )
        if not renewed.rowcount:
            conn.execute(
                "INSERT INTO failures (error, code, created_at, task_id, attempt, signature, language, repo) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (*values, language, repo),
            )


def read_language_and_repo(conn: Connection, task_id: int) -> tuple[str, str]:
    """Return the language and the repository of a task; empty if they are not known."""
    select = (
        "SELECT coalesce(json_extract(spec, '$.language'), ''), coalesce(json_extract(spec, '$.repo'), '') "
        "FROM task_specs WHERE task_id = ? AND json_valid(spec)"
    )
    row = conn.execute(select, (task_id,)).fetchone()
    return (str(row[0]), str(row[1])) if row else ("", "")


def read_identity(conn: Connection, task_id: int) -> str:
    """Return the id of a task. For a task that nodes share, this is the id that all nodes have in common.

    With the common id, all nodes draw the same group for an attempt.
    """
    row = conn.execute("SELECT hub_id FROM tasks WHERE id = ?", (task_id,)).fetchone()
    return f"hub-{row[0]}" if row and row[0] is not None else str(task_id)


def open_failures(conn: Connection, task_id: int) -> list[tuple[int, str, str]]:
    """List the failures of a task that have no fix, oldest first, as (id, failed code, error)."""
    select = "SELECT id, code, error FROM failures WHERE task_id = ? AND solved = 0 ORDER BY id"
    return [(int(row[0]), str(row[1]), str(row[2])) for row in conn.execute(select, (task_id,))]


def description(conn: Connection, task_id: int) -> str:
    """Read the description of a task; empty for a task that is not in this database."""
    row = conn.execute("SELECT description FROM tasks WHERE id = ?", (task_id,)).fetchone()
    return str(row[0]) if row else ""


def solve(conn: Connection, failure: int, fix: str, lesson: str, at: datetime) -> None:
    """Add the fix and the lesson to a failure."""
    conn.execute(
        "UPDATE failures SET solved = 1, fix = ?, lesson = ?, fixed_at = ? WHERE id = ?",
        (storable(fix), storable(lesson), to_text(at), failure),
    )


def drop_patterns(conn: Connection, task_id: int) -> list[tuple[LessonKind, int]]:
    """Delete the patterns of a task, on this node and on all others; return the deleted patterns."""
    rows = conn.execute("DELETE FROM patterns WHERE task_id = ? RETURNING id", (task_id,)).fetchall()
    gone: list[tuple[LessonKind, int]] = [("pattern", int(row[0])) for row in rows]
    elsewhere.forget_items(conn, gone)
    return gone


def prune(conn: Connection, before: datetime, most: int, limit: int) -> int:
    """Delete old memories that were never used, and surplus memories; return how many were deleted.

    Old means made before `before`. If a kind then still has more than `most` memories, its surplus is deleted as well:
    first those that were never used, then the least recently used ones. At most `limit` memories of each kind are
    deleted. Deleted memories are recorded, so that they do not come back from other nodes.
    """
    gone = list[tuple[LessonKind, int]]()
    for kind, table in TABLES.items():
        unused = f"SELECT id FROM {table} WHERE times_used = 0 AND created_at < ? LIMIT ?"  # noqa: S608  our own name
        least = f"SELECT id FROM {table} ORDER BY times_used > 0, coalesce(last_used_at, created_at) LIMIT ?"  # noqa: S608
        ids = [int(row[0]) for row in conn.execute(unused, (to_text(before), limit))]
        over = conn.execute(f"SELECT count(*) FROM {table}").fetchone()[0] - len(ids) - most  # noqa: S608
        surplus = max(0, min(over, limit - len(ids)))
        ranked = [int(row[0]) for row in conn.execute(least, (surplus + len(ids),))]
        ids += [number for number in ranked if number not in ids][:surplus]
        gone += [(kind, number) for number in ids]
        conn.executemany(f"DELETE FROM {table} WHERE id = ?", [(number,) for number in ids])  # noqa: S608
    forget_vectors(conn, gone)
    conn.executemany("DELETE FROM failed_shapes WHERE failure = ?", [(n,) for kind, n in gone if kind == "failure"])
    elsewhere.forget_items(conn, gone)
    return len(gone)


def add_pattern(conn: Connection, task_id: int, problem: str, solution: str, lesson: str, at: datetime) -> None:
    """Store the solution of a task as a pattern."""
    conn.execute(
        "INSERT INTO patterns (task_id, problem, solution, lesson, created_at, language, repo) "
        "VALUES (?, ?, ?, ?, ?, ?, ?)",
        (task_id, *map(storable, (problem, solution, lesson)), to_text(at), *read_language_and_repo(conn, task_id)),
    )


def conclude(conn: Connection, task_id: int, attempt: int) -> bool:
    """Record that an attempt was concluded; return False if it had been concluded before."""
    query = "INSERT INTO concluded (task_id, attempt) SELECT id, ? FROM tasks WHERE id = ? ON CONFLICT DO NOTHING"
    return bool(conn.execute(query, (attempt, task_id)).rowcount)


def count_uses(
    conn: Connection, lessons: Sequence[Lesson], task_id: int, attempt: int, *, helped: bool, at: datetime
) -> None:
    """Count a use of each lesson by an attempt, and whether the task was solved.

    Only lessons that matched the attempt on this node count, because an attempt that began on another node names
    lessons by that node's ids.
    """
    for kind, table in TABLES.items():
        update = (
            f"UPDATE {table} SET times_used = times_used + 1, helped = helped + ?, last_used_at = ? WHERE id = ? "  # noqa: S608  our own name
            "AND EXISTS (SELECT 1 FROM recalls WHERE task_id = ? AND attempt = ? AND kind = ? AND item = ?)"
        )
        for lesson in (lesson for lesson in lessons if lesson.source == kind):
            conn.execute(update, (int(helped), to_text(at), lesson.id, task_id, attempt, kind, lesson.id))


def retire(conn: Connection, kind: LessonKind, item: int, by: RetiredBy, at: datetime) -> bool:
    """Stop recalling a lesson. Return False if it was retired before, or does not exist."""
    update = (
        f"UPDATE {TABLES[kind]} SET retired = 1, retired_by = ?, retired_at = ? "  # noqa: S608  our own name
        "WHERE id = ? AND retired = 0"
    )
    return bool(conn.execute(update, (by, to_text(at), item)).rowcount)


def restore(conn: Connection, kind: LessonKind, item: int, at: datetime) -> bool:
    """Recall a retired lesson again, and ignore earlier attempts when judging it; False if it was not retired."""
    update = (
        f"UPDATE {TABLES[kind]} SET retired = 0, retired_by = '', retired_at = NULL, "  # noqa: S608  our own name
        "standing = 'trusted', judged_from = ? WHERE id = ? AND retired = 1"
    )
    return bool(conn.execute(update, (to_text(at), item)).rowcount)


def use_again(conn: Connection, kind: LessonKind, item: int) -> bool:
    """Recall again a lesson that was retired because it seemed not to help; return False for any other lesson."""
    update = (
        f"UPDATE {TABLES[kind]} SET retired = 0, retired_by = '', retired_at = NULL "  # noqa: S608  our own name
        "WHERE id = ? AND retired = 1 AND retired_by = 'measured'"
    )
    return bool(conn.execute(update, (item,)).rowcount)


def judge_from(conn: Connection, kind: LessonKind, item: int, since: str) -> None:
    """Judge a lesson only by attempts since a given time, unless a later time is already set."""
    update = f"UPDATE {TABLES[kind]} SET judged_from = ?, standing = 'trusted' WHERE id = ? AND judged_from < ?"  # noqa: S608
    conn.execute(update, (since, item, since))


def standing(conn: Connection, kind: LessonKind, item: int) -> Standing:
    """Read the standing of a lesson, decided at the end of the last attempt that it matched."""
    select = f"SELECT standing FROM {TABLES[kind]} WHERE id = ?"  # noqa: S608  our own name
    row = conn.execute(select, (item,)).fetchone()
    return Standing(row[0]) if row else Standing.TRUSTED


def read_judged_from(conn: Connection, kind: LessonKind, item: int) -> str:
    """Return the time since which attempts count when a lesson is judged; empty for all attempts."""
    row = conn.execute(f"SELECT judged_from FROM {TABLES[kind]} WHERE id = ?", (item,)).fetchone()  # noqa: S608
    return str(row[0]) if row else ""


def judge(conn: Connection, kind: LessonKind, item: int, new_standing: Standing) -> None:
    """Store the new standing of a lesson."""
    conn.execute(f"UPDATE {TABLES[kind]} SET standing = ? WHERE id = ?", (new_standing, item))  # noqa: S608  our own name


def any_lesson(conn: Connection) -> bool:
    """Check whether there is any lesson that could be recalled."""
    return any(conn.execute(f"{select} LIMIT 1").fetchone() for select in _TEXT.values())


def without_vector(conn: Connection, kind: LessonKind, embedder: str, limit: int) -> list[tuple[int, str]]:
    """List the id and text of memories that have no vector of this embedder, newest first."""
    select = (
        f"{_TEXT[kind]} AND NOT EXISTS (SELECT 1 FROM memory_vectors AS v "  # noqa: S608  our own names
        f"WHERE v.embedder = ? AND v.kind = ? AND v.item = {TABLES[kind]}.id) ORDER BY id DESC LIMIT ?"
    )
    return [(int(row[0]), str(row[1])) for row in conn.execute(select, (embedder, kind, limit))]


def read_stored(conn: Connection, near: Sequence[Near]) -> list[Stored]:
    """Read the memories that a vector search found, without those that were deleted or retired in the meantime."""
    memories = []
    for match in near:
        select = f"{_LESSON[match.kind]} WHERE id = ? AND retired = 0"
        if row := conn.execute(select, (match.item,)).fetchone():
            there = elsewhere.tally(conn, match.kind, match.item)
            used, helped = row["times_used"] + there.used, row["helped"] + there.helped
            values = {"kind": match.kind, "similarity": match.similarity, "times_used": used, "helped": helped}
            memories.append(read_row(Stored, row, **values))
    return memories
