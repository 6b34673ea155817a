"""Brings the tasks of a restored database into order: each in a state that the log agrees with and that can go on.

A task that could not be carried over stands as the backup had it. Where the log of moves, carried over by itself, says
that it has ended since, it has ended: that entry was written in one transaction with the row that was lost. Whatever
else the log says is not believed of a row that nobody can read; the task goes on from the backup's state, and what it
did since is found again by its commit.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from core.clock import to_text
from core.events import Kind, Level
from core.states import ENDED, Ending, Status
from db import sense
from db.codec import encode
from db.sqlite import Connection

MAX_NAMED = 300
"""How many ids an event's data names at most; it is small JSON."""
_FREE = "worker = NULL, lease_until = NULL, cancel_requested = 0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """What became of tasks that are not certain.

    `ended` are those whose end the log told, `uncertain` those that stand as the backup had them, `fallen` those that
    waited for one that is lost.
    """

    ended: tuple[int, ...]
    uncertain: tuple[int, ...]
    fallen: tuple[int, ...]


def settle(conn: Connection, certain: Iterable[int], now: datetime) -> Settled:
    """Settle all tasks but the `certain` ones, then those that wait for others; `conn` has no triggers."""
    known, ended, uncertain = set(certain), list[int](), list[int]()
    query = f"SELECT t.id, t.status, {sense.LAST_MOVE} AS move FROM main.tasks t ORDER BY t.id"  # noqa: S608
    for task_id, status, move in conn.execute(query).fetchall():
        last = json.loads(move) if move else {}
        if task_id in known or status == Status.DONE:
            if last.get("to", status) != status:
                tell(conn, task_id, status, "the log of its moves was damaged", now)
        elif _ends(last) and last["to"] != status:
            _end(conn, task_id, last, now)
            ended.append(task_id)
        else:
            uncertain.append(task_id)
            if last.get("to", status) != status:
                tell(conn, task_id, status, "as it was in the backup", now)
    fallen = tuple(_fail_dependants(conn, now))
    _free_dependants(conn, now)
    return Settled(ended=tuple(ended), uncertain=tuple(uncertain), fallen=fallen)


def tell(conn: Connection, task_id: int, status: str, reason: str, now: datetime) -> None:
    """Enter a task's state into the log, so that the log says what the row says."""
    ending = conn.execute("SELECT ending FROM main.tasks WHERE id = ?", (task_id,)).fetchone()[0]
    data = {"from": None, "to": status, "ending": ending, "reason": reason}
    note(conn, Kind.TASK_RECOVERED, f"restored as {status}: {reason}", data, now, task_id)


def note(
    conn: Connection, kind: Kind, message: str, data: dict[str, object], now: datetime, task_id: int | None = None
) -> None:
    """Enter a warning into the log; there is no `EventLog` yet, and nobody who listens."""
    conn.execute(
        "INSERT INTO main.execution_logs (at, level, kind, message, task_id, data) VALUES (?, ?, ?, ?, ?, ?)",
        (to_text(now), Level.WARNING, kind, message, task_id, encode(data)),
    )


def _ends(move: dict[str, object]) -> bool:
    return move.get("to") in ENDED and move.get("ending") in set(Ending)


def _end(conn: Connection, task_id: int, move: dict[str, object], now: datetime) -> None:
    """Let a task have ended as the log says, with the commit that the ledger knows of it."""
    ledger = "FROM main.git_commits WHERE task_id = :id ORDER BY id DESC LIMIT 1"
    known = f", commit_id = (SELECT commit_id {ledger}), branch = (SELECT branch {ledger})"
    committed = known if move["to"] == Status.DONE else ""
    conn.execute(
        f"UPDATE main.tasks SET status = :to, ending = :ending, reason = :reason, ended_at = :at, {_FREE}{committed} "  # noqa: S608
        "WHERE id = :id",
        {
            "id": task_id,
            "to": move["to"],
            "ending": move["ending"],
            "reason": str(move.get("reason") or ""),
            "at": to_text(now),
        },
    )


_NEEDED = "FROM main.task_specs s, json_each(s.spec, '$.depends_on') d WHERE s.task_id = t.id"


def _fail_dependants(conn: Connection, now: datetime) -> Iterator[int]:
    """Let no task wait for one that is lost or has failed, all the way down."""
    hope = "(SELECT id FROM main.tasks WHERE status NOT IN ('failed', 'cancelled'))"
    hopeless = f"status = 'blocked' AND EXISTS (SELECT 1 {_NEEDED} AND d.value NOT IN {hope})"
    reason = "a task on which it depends was lost with the damaged database, or has failed"
    change = f"status = 'failed', ending = 'dependency', reason = ?, ended_at = ?, {_FREE}"
    while fallen := conn.execute(f"SELECT id FROM main.tasks t WHERE {hopeless}").fetchall():  # noqa: S608
        for (task_id,) in fallen:
            conn.execute(f"UPDATE main.tasks SET {change} WHERE id = ?", (reason, to_text(now), task_id))  # noqa: S608
            tell(conn, task_id, Status.FAILED, reason, now)
            yield task_id


def _free_dependants(conn: Connection, now: datetime) -> None:
    """Let no task wait for what is done already."""
    ready = f"NOT EXISTS (SELECT 1 {_NEEDED} AND d.value NOT IN (SELECT id FROM main.tasks WHERE status = 'done'))"  # noqa: S608
    for (task_id,) in conn.execute(f"SELECT id FROM main.tasks t WHERE status = 'blocked' AND {ready}").fetchall():  # noqa: S608
        conn.execute("UPDATE main.tasks SET status = 'queued' WHERE id = ?", (task_id,))
        tell(conn, task_id, Status.QUEUED, "all that it depends on is done", now)
