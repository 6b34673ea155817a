"""Deletes old rows, a few at a time, inside write jobs. Keeps what an open task needs or a report may count later.

Events are deleted by their age. The steps, replies, tool calls and routes of a task are deleted a certain time after
the task has ended, because only a resumed attempt of an open task reads them. A task that is requested again begins a
new attempt, which reads nothing of an earlier one.

Tasks, approvals and the ledger of commits are never deleted, nor is the case file with which a fork begins. Old model
calls are summed up by day, so that the spending stays known. Old iterations and recalls are deleted as well. Lessons
are deleted if they are not used (`storage.memory.rows.prune`).

A stored text (`storage.db.artifacts`) is shared by all rows with the same digest. The text is deleted in the same
transaction as the last row that refers to it. So at every commit, each text has a reference and each reference has its
text. The columns with digests have indexes, and foreign keys refuse a deletion that this module overlooks.

Freed space is given back to the disk: free pages at the end of the file, in small steps between other writes, and the
write-ahead log. Space that is not given back is reused.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from nightshift.core.clock import from_text, to_text
from nightshift.core.tasks.states import OPEN
from nightshift.storage.db.sqlite import Connection, connect
from nightshift.storage.db.state_store import read_state, write_state

ROWS = 200
"""Number of rows that one job examines. Small, so that the job blocks the writer for only a few milliseconds."""
LATEST = "pruned_events"

_OPEN = ", ".join(f"'{status}'" for status in sorted(OPEN))
_ENDED = f"ended_at < ? AND status NOT IN ({_OPEN})"
_HAS_ENDED = f"SELECT 1 FROM tasks WHERE id = ? AND {_ENDED}"  # noqa: S608  # made of our own enum
_LONG_ENDED = (
    "SELECT id FROM (SELECT task_id FROM steps UNION SELECT task_id FROM replies "  # noqa: S608  # as above
    "UNION SELECT task_id FROM tool_calls UNION SELECT task_id FROM model_routes) AS kept "
    f"JOIN tasks ON id = kept.task_id WHERE {_ENDED} ORDER BY ended_at, id LIMIT ?"
)
_UNNAMED = (
    "NOT EXISTS (SELECT 1 FROM steps WHERE work = artifacts.digest) "
    "AND NOT EXISTS (SELECT 1 FROM task_forks WHERE work = artifacts.digest) "
    "AND NOT EXISTS (SELECT 1 FROM replies WHERE prompt = artifacts.digest) "
    "AND NOT EXISTS (SELECT 1 FROM replies WHERE reply = artifacts.digest) "
    "AND NOT EXISTS (SELECT 1 FROM tool_calls WHERE arguments = artifacts.digest) "
    "AND NOT EXISTS (SELECT 1 FROM tool_calls WHERE result = artifacts.digest) "
    "AND NOT EXISTS (SELECT 1 FROM tool_calls WHERE change = artifacts.digest) "
    "AND NOT EXISTS (SELECT 1 FROM execution_logs WHERE substr(data, 1, 6) = '{\"cut\"' "
    "AND json_extract(data, '$.artifact') = +artifacts.digest)"
)
_PAGE = "SELECT digest FROM artifacts WHERE digest > ? ORDER BY digest LIMIT ?"
_UNNAMED_AMONG = f"SELECT digest FROM artifacts WHERE digest > ? AND digest <= ? AND {_UNNAMED}"  # noqa: S608  # a constant
_DROP = f"DELETE FROM artifacts WHERE digest = ? AND {_UNNAMED}"  # noqa: S608  # a constant


@dataclass(frozen=True, slots=True, kw_only=True)
class Gone:
    """The result of one job that deletes rows.

    Attributes:
        rows: number of deleted rows.
        texts: number of deleted texts.
        reached: the last id that the job examined; None if nothing was left to examine.
    """

    rows: int = 0
    texts: int = 0
    reached: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    """The record of a deletion of old data.

    Attributes:
        at: the time of the deletion.
        setting: the setting that asked for it.
        before: events older than this were deleted; None if the record is not about events.
    """

    at: datetime
    setting: str
    before: datetime | None = None


def long_ended(conn: Connection, ended_before: datetime, limit: int) -> list[int]:
    """List the tasks that ended before a time and still have rows to delete, the earliest end first."""
    return [row[0] for row in conn.execute(_LONG_ENDED, (to_text(ended_before), limit))]


def list_ended_among(conn: Connection, task_ids: Iterable[int], ended_before: datetime) -> frozenset[int]:
    """Return those of the given tasks that ended before a time."""
    asked = ((task_id, to_text(ended_before)) for task_id in task_ids)
    return frozenset(each[0] for each in asked if conn.execute(_HAS_ENDED, each).fetchone())


def prune_work(conn: Connection, task_id: int, ended_before: datetime, at: datetime, setting: str) -> Gone:
    """Delete some steps, replies, tool calls and routes of a task that ended before a time, and record the deletion."""
    if conn.execute(_HAS_ENDED, (task_id, to_text(ended_before))).fetchone() is None:
        return Gone()
    naming = [
        row
        for table, names in _NAMING.items()
        for row in conn.execute(_SOME_OF.format(table=table, names=names), (task_id, ROWS)).fetchall()
    ]
    routes = conn.execute(_SOME_ROUTES, (task_id, ROWS)).fetchall()
    if not naming and not routes:
        return Gone()
    note = "INSERT OR REPLACE INTO pruned_work (task_id, at, setting) VALUES (?, ?, ?)"
    conn.execute(note, (task_id, to_text(at), setting))
    texts = drop_unnamed(conn, [digest for row in naming for digest in row if digest])
    return Gone(rows=len(naming) + len(routes), texts=texts, reached=task_id)


_NAMING = {"replies": "prompt, reply", "steps": "work", "tool_calls": "arguments, result, change"}
"""Maps each table of a task's work to those of its columns that refer to stored texts."""
_SOME_OF = "DELETE FROM {table} WHERE rowid IN (SELECT rowid FROM {table} WHERE task_id = ? LIMIT ?) RETURNING {names}"
_SOME_ROUTES = (
    "DELETE FROM model_routes WHERE task_id = ?1 AND attempt IN "
    "(SELECT attempt FROM model_routes WHERE task_id = ?1 LIMIT ?2) RETURNING attempt"
)


def prune_events(conn: Connection, after: int, upto: int, before: datetime) -> Gone:
    """Delete events older than `before`, among the events with ids above `after` and up to `upto`.

    The newest event of all is kept, because the positions of readers are compared with its id. Events of tasks that are
    open, or ended after `before`, are kept, so that the timelines of these tasks stay complete.
    """
    query = (
        "SELECT max(id) FROM (SELECT id FROM execution_logs WHERE id > ? AND id <= ? "
        "AND id < (SELECT max(id) FROM execution_logs) ORDER BY id LIMIT ?)"
    )
    reached = conn.execute(query, (after, upto, ROWS)).fetchone()[0]
    if reached is None:
        return Gone()
    old = to_text(before)
    digests = conn.execute(
        "DELETE FROM execution_logs WHERE id > ? AND id <= ? AND at < ? AND NOT EXISTS (SELECT 1 FROM tasks t "
        "WHERE t.id = execution_logs.task_id AND coalesce(t.ended_at, '9') >= ?) "
        "RETURNING CASE WHEN substr(data, 1, 6) = '{\"cut\"' THEN json_extract(data, '$.artifact') END",
        (after, reached, old, old),
    ).fetchall()
    return Gone(rows=len(digests), texts=drop_unnamed(conn, [row[0] for row in digests if row[0]]), reached=reached)


_OLD_CALLS = (
    "FROM model_stats WHERE phase <> '' AND at < :before AND substr(at, 1, 10) = :day AND NOT EXISTS "  # noqa: S608
    f"(SELECT 1 FROM tasks WHERE id = task_id AND status IN ({_OPEN}))"
)


def sum_calls(conn: Connection, before: datetime) -> int:
    """Replace the old model calls of one day by their sums, and return the number of calls that were replaced.

    Calls are old if they were made before `before`. The sums have no phase. Calls of open tasks are kept, because the
    budgets of these tasks count them.
    """
    days = (
        "SELECT substr(at, 1, 10) FROM model_stats WHERE phase <> '' AND at < ? AND NOT EXISTS "  # noqa: S608
        f"(SELECT 1 FROM tasks WHERE id = task_id AND status IN ({_OPEN})) ORDER BY at LIMIT 1"
    )
    row = conn.execute(days, (to_text(before),)).fetchone()
    if row is None:
        return 0
    span = {"before": to_text(before), "day": row[0]}
    conn.execute(
        "INSERT INTO model_stats (at, phase, backend, model, kind, tokens_in, tokens_out, cost_usd, latency_s, lost, "
        "calls) SELECT min(at), '', backend, model, kind, sum(tokens_in), sum(tokens_out), sum(cost_usd), "
        f"sum(latency_s), sum(lost), sum(calls) {_OLD_CALLS} GROUP BY backend, model, kind, cost_usd IS NULL",
        span,
    )
    return conn.execute(f"DELETE {_OLD_CALLS}", span).rowcount


def prune_rounds(conn: Connection, before: datetime) -> int:
    """Delete some recalls and some iterations of ended tasks, all older than a time.

    Return the number of deleted rows.
    """
    return sum(conn.execute(delete, (to_text(before), ROWS)).rowcount for delete in _OLD_ROUNDS)


_OLD_ROUNDS = (
    """DELETE FROM recalls WHERE (task_id, attempt, kind, item) IN
        (SELECT task_id, attempt, kind, item FROM recalls WHERE at < ? LIMIT ?)""",
    f"""DELETE FROM iterations WHERE rowid IN (SELECT rowid FROM iterations WHERE ended_at < ? AND NOT EXISTS
        (SELECT 1 FROM tasks WHERE id = task_id AND status IN ({_OPEN})) LIMIT ?)""",  # noqa: S608  our own enum
)


def time_of(conn: Connection, event_id: int) -> datetime | None:
    """Return the time of the first event after an id; None if there is none."""
    query = "SELECT at FROM execution_logs WHERE id > ? ORDER BY id LIMIT 1"
    row = conn.execute(query, (event_id,)).fetchone()
    return from_text(row[0]) if row else None


def note_events(conn: Connection, pruned: Pruned) -> None:
    """Record that events older than a time were deleted."""
    value = {"before": to_text(pruned.before or pruned.at), "setting": pruned.setting}
    write_state(conn, LATEST, value, pruned.at)


def events_pruned(conn: Connection) -> Pruned | None:
    """Read the record of the last deletion of events; None if events were never deleted."""
    value = read_state(conn, LATEST)
    if not isinstance(value, dict):
        return None
    at = conn.execute("SELECT at FROM system_state WHERE key = ?", (LATEST,)).fetchone()[0]
    return Pruned(at=from_text(at), setting=str(value["setting"]), before=from_text(str(value["before"])))


def work_pruned(conn: Connection, task_id: int) -> Pruned | None:
    """Read the record of the deletion of a task's steps and replies; None if they were never deleted."""
    row = conn.execute("SELECT at, setting FROM pruned_work WHERE task_id = ?", (task_id,)).fetchone()
    return None if row is None else Pruned(at=from_text(row["at"]), setting=row["setting"])


def notes(conn: Connection, task_id: int, ended_at: datetime | None) -> list[str]:
    """Return sentences for the owner about the data of a task that were deleted."""
    sentences, work, events = [], work_pruned(conn, task_id), events_pruned(conn)
    if work:
        sentences.append(f"Its steps, prompts and replies were pruned on {work.at:%Y-%m-%d} ({work.setting}).")
    if events and events.before and ended_at and ended_at < events.before:
        sentences.append(f"Its lines of the log were pruned on {events.at:%Y-%m-%d} ({events.setting}).")
    return sentences


def list_unnamed(conn: Connection, after: str, limit: int) -> tuple[Sequence[str], str | None]:
    """Examine the next `limit` texts after a digest, and list those that no row refers to.

    Also return the last digest that was examined, or None at the end. Texts without a reference come from replies that
    were paid for twice.
    """
    page = [row[0] for row in conn.execute(_PAGE, (after, limit))]
    if not page:
        return (), None
    rows = conn.execute(_UNNAMED_AMONG, (after, page[-1]))
    return [row[0] for row in rows], page[-1]


def drop_unnamed(conn: Connection, digests: Iterable[str]) -> int:
    """Delete those of the given texts that no row refers to any more; return how many."""
    return sum(conn.execute(_DROP, (digest,)).rowcount for digest in dict.fromkeys(digests))


# --- Giving freed space back to the disk


PAGES = 100
"""Number of pages that one job gives back. Each may have to be moved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """The size of the database file.

    Attributes:
        file: size of the file in bytes.
        free: bytes of the file that are free.
    """

    file: int
    free: int

    @property
    def used(self) -> int:
        """Bytes in use."""
        return self.file - self.free


def size(conn: Connection) -> Size:
    """Measure the size of the database file."""
    page, pages, free = (
        int(conn.execute(f"PRAGMA {name}").fetchone()[0]) for name in ("page_size", "page_count", "freelist_count")
    )
    return Size(file=page * pages, free=page * free)


def give_back(conn: Connection) -> bool:
    """Give some free pages back to the disk, inside a write job; return False if there are none."""
    free = conn.execute("PRAGMA freelist_count").fetchone()[0]
    conn.execute(f"PRAGMA incremental_vacuum({PAGES})").fetchall()
    return bool(conn.execute("PRAGMA freelist_count").fetchone()[0] < free)


def fold_log(path: Path) -> int:
    """Move the write-ahead log into the file and empty it, unless it is in use; return its size afterwards."""
    with closing(connect(path, busy_s=0.1)) as conn:
        conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    log = path.with_name(path.name + "-wal")
    return log.stat().st_size if log.exists() else 0
