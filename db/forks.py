"""Tasks that began where another one was: how they are stored, in one transaction with the task, and found again."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future

from core.clock import Clock, utc_now
from core.forking import Fork
from core.queueing import Submitted
from core.tasks import TaskSpec
from db.database import Database
from db.event_log import EventLog
from db.sqlite import Connection, Row
from db.task_moves import TaskMoves


class Forks:
    """Submits forks; thread-safe.

    Args:
        db: where they are kept.
        events: gets an event for each, as for every task.
        clock: dates the tasks.
    """

    def __init__(self, db: Database, events: EventLog, *, clock: Clock = utc_now) -> None:
        self._db, self._moves = db, TaskMoves(events, clock)

    def submit(self, spec: TaskSpec, fork: Fork, work: str) -> Future[Submitted]:
        """Store a task that begins at the state with the digest `work`, which it keeps from being pruned."""

        def job(conn: Connection) -> Submitted:
            sent = self._moves.admit(conn, spec, "depends_on")
            values = (sent.task_id, fork.source, fork.attempt, fork.step_no, fork.model, int(fork.noted), work)
            conn.execute(
                "INSERT INTO task_forks (task_id, source, attempt, step_no, model, noted, work) "
                "VALUES (?, ?, ?, ?, ?, ?, ?)",
                values,
            )
            return sent

        return self._db.write(job)


def origin(conn: Connection, task_id: int) -> tuple[Fork, str] | None:
    """Where a task began, and the digest of the state there; None for a task that is no fork."""
    row = conn.execute("SELECT * FROM task_forks WHERE task_id = ?", (task_id,)).fetchone()
    return None if row is None else (_fork(row), row["work"])


def of(conn: Connection, source: int) -> Sequence[tuple[int, Fork]]:
    """The newest hundred forks of a task with their ids, oldest first."""
    query = "SELECT * FROM task_forks WHERE source = ? ORDER BY task_id DESC LIMIT 100"
    return [(row["task_id"], _fork(row)) for row in conn.execute(query, (source,))][::-1]


def _fork(row: Row) -> Fork:
    return Fork(
        source=row["source"],
        attempt=row["attempt"],
        step_no=row["step_no"],
        model=row["model"],
        noted=bool(row["noted"]),
    )
