"""The other nodes' facts about lessons: how often each helped, which functions failed, which lessons were deleted.

Each node assigns its own ids to lessons. Between nodes, a lesson is identified by a key. The counts of all other nodes
are stored as one sum for each lesson, separate from this node's own counts, so that no attempt is counted twice.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from nightshift.core.shares import Share
from nightshift.storage.db.sqlite import Connection
from nightshift.storage.memory.vector_index import LessonKind

Item = tuple[LessonKind, int]
"""A lesson, identified by its kind and its id on this node."""
TABLES: dict[LessonKind, str] = {"failure": "failures", "pattern": "patterns"}
EVERYONE = ""
"""The key of the counts over all lessons: those of the attempts from which any lesson was withheld."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Counts of attempts for a lesson.

    Attributes:
        judged_from: the time since which attempts count in `shown` and `withheld`, as a text of `core.clock.to_text`;
            empty for all attempts.
        used: number of all uses of the lesson.
        helped: number of uses in attempts that were solved.
        shown: the attempts that saw the lesson, and how many of them were solved.
        withheld: the attempts from which the lesson was withheld, and how many of them were solved.
    """

    judged_from: str = ""
    used: int = 0
    helped: int = 0
    shown: Share = field(default_factory=Share)
    withheld: Share = field(default_factory=Share)

    def fields(self) -> dict[str, Any]:
        """Return the values by column name."""
        return {
            "judged_from": self.judged_from, "used": self.used, "helped": self.helped,
            "shown": self.shown.whole, "shown_solved": self.shown.part,
            "withheld": self.withheld.whole, "withheld_solved": self.withheld.part,
        }  # fmt: skip


def tally_of(row: Any) -> Tally:  # a row of either database
    """Convert a row with these columns to a tally."""
    return Tally(
        judged_from=row["judged_from"],
        used=int(row["used"]),
        helped=int(row["helped"]),
        shown=Share(int(row["shown_solved"]), int(row["shown"])),
        withheld=Share(int(row["withheld_solved"]), int(row["withheld"])),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """News from other nodes.

    Attributes:
        tallies: sums of the counts of all other nodes, by lesson key.
        shapes: pairs of a lesson key and the fingerprint of a function that failed.
        forgotten_lessons: keys of lessons that were deleted.
        forgotten_shapes: fingerprints of functions that were deleted.
    """

    tallies: Mapping[str, Tally] = field(default_factory=dict)
    shapes: Sequence[tuple[str, str]] = ()
    forgotten_lessons: Sequence[str] = ()
    forgotten_shapes: Sequence[str] = ()


def name(conn: Connection, keys: Iterable[tuple[Item, str]]) -> None:
    """Store the keys by which other nodes identify lessons."""
    insert = "INSERT OR REPLACE INTO lesson_keys (kind, item, key) VALUES (?, ?, ?)"
    conn.executemany(insert, [(*item, key) for item, key in keys])


def items(conn: Connection, key: str) -> list[Item]:
    """List the lessons of this node that have this key; usually there is at most one."""
    rows = conn.execute("SELECT kind, item FROM lesson_keys WHERE key = ? ORDER BY kind, item", (key,))
    return [(row[0], int(row[1])) for row in rows]


def keys(conn: Connection, kind: LessonKind, wanted: Sequence[int]) -> dict[int, str]:
    """Map the ids of the given lessons to their keys. Lessons without a key are left out."""
    select = "SELECT item, key FROM lesson_keys WHERE kind = ? AND item IN (SELECT value FROM json_each(?))"
    return {int(row[0]): str(row[1]) for row in conn.execute(select, (kind, json.dumps(list(wanted))))}


def items_in_use(conn: Connection, kind: LessonKind, key: str) -> list[int]:
    """List the ids of the lessons of a kind that have this key and are not retired on this node."""
    select = (
        f"SELECT k.item FROM lesson_keys k JOIN {TABLES[kind]} l ON l.id = k.item "  # noqa: S608  our own name
        "WHERE k.kind = ? AND k.key = ? AND l.retired = 0"
    )
    return [int(row[0]) for row in conn.execute(select, (kind, key))]


def tally(conn: Connection, kind: LessonKind, item: int) -> Tally:
    """Read the other nodes' counts for a lesson."""
    select = "SELECT t.* FROM lesson_tallies t JOIN lesson_keys k ON k.key = t.key WHERE k.kind = ? AND k.item = ?"
    row = conn.execute(select, (kind, item)).fetchone()
    return tally_of(row) if row else Tally()


def withheld(conn: Connection) -> Share:
    """Return the attempts on other nodes from which any lesson was withheld, and how many of them were solved."""
    row = conn.execute("SELECT * FROM lesson_tallies WHERE key = ?", (EVERYONE,)).fetchone()
    return tally_of(row).withheld if row else Share()


def add_shares(first: Share, other: Share) -> Share:
    """Add two shares: their numbers of solved attempts, and their numbers of all attempts."""
    return Share(first.part + other.part, first.whole + other.whole)


def shapes(conn: Connection) -> list[tuple[str, str]]:
    """List the functions that failed here or on other nodes, each with the key of its lesson."""
    rows = conn.execute(
        "SELECT k.key, s.shape FROM failed_shapes s JOIN lesson_keys k ON k.kind = 'failure' AND k.item = s.failure"
    )
    return [(str(row[0]), str(row[1])) for row in rows]


def forget(conn: Connection, what: Literal["lesson", "shape"], keys: Iterable[str]) -> None:
    """Record lessons or functions that must not come back from other nodes, and that other nodes must delete too."""
    insert = "INSERT OR IGNORE INTO forgotten (kind, key) VALUES (?, ?)"
    conn.executemany(insert, [(what, key) for key in keys])


def forget_items(conn: Connection, gone: Iterable[Item]) -> None:
    """Record that these lessons were deleted. Lessons without a key are skipped, because no other node knows them."""
    for item in gone:
        row = conn.execute("DELETE FROM lesson_keys WHERE kind = ? AND item = ? RETURNING key", item).fetchone()
        if row:
            forget(conn, "lesson", [row[0]])


def list_forgotten(conn: Connection) -> list[tuple[str, str]]:
    """List the kind and key of each deleted lesson and function, except those that this node has learned again."""
    rows = conn.execute(
        "SELECT kind, key FROM forgotten f WHERE kind = 'shape' AND key NOT IN (SELECT shape FROM failed_shapes) "
        "OR kind = 'lesson' AND NOT EXISTS (SELECT 1 FROM lesson_keys k WHERE k.key = f.key)"
    )
    return [(str(row[0]), str(row[1])) for row in rows]


def is_forgotten(conn: Connection, what: Literal["lesson", "shape"], key: str) -> bool:
    """Check whether a lesson or function must not come back."""
    return conn.execute("SELECT 1 FROM forgotten WHERE kind = ? AND key = ?", (what, key)).fetchone() is not None


def take(conn: Connection, news: News) -> list[Item]:
    """Store news from other nodes inside a write job; return the lessons of this node that the news deleted.

    Lessons that this node has learned itself are kept, even if other nodes have deleted them.
    """
    columns = ("key", *Tally().fields())
    marks = ", ".join("?" * len(columns))
    insert = f"INSERT OR REPLACE INTO lesson_tallies ({', '.join(columns)}) VALUES ({marks})"  # noqa: S608  our own names
    conn.executemany(insert, [(key, *tally.fields().values()) for key, tally in news.tallies.items()])
    forget(conn, "shape", news.forgotten_shapes)
    conn.executemany("DELETE FROM failed_shapes WHERE shape = ?", [(shape,) for shape in news.forgotten_shapes])
    for key, shape in news.shapes:
        if not is_forgotten(conn, "shape", shape):
            conn.executemany(
                "INSERT OR IGNORE INTO failed_shapes (shape, failure) VALUES (?, ?)",
                [(shape, item) for kind, item in items(conn, key) if kind == "failure"],
            )
    forget(conn, "lesson", news.forgotten_lessons)
    gone = [item for key in news.forgotten_lessons for item in items(conn, key) if _is_dropped(conn, item)]
    conn.executemany("DELETE FROM lesson_keys WHERE kind = ? AND item = ?", gone)
    return gone


def _is_dropped(conn: Connection, item: Item) -> bool:
    """Delete a pattern if it came from another node; return True if it was deleted."""
    kind, id_ = item
    dropped = "DELETE FROM patterns WHERE id = ? AND task_id IS NULL"
    return kind == "pattern" and bool(conn.execute(dropped, (id_,)).rowcount)
