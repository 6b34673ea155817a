"""What time does to tasks: leases that run out, due times that come, and daemons that died in between."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta

from core.clock import Clock, to_text
from core.events import Kind, Level
from core.queueing import Heartbeat
from core.states import Ending, Status
from core.tasks import Task
from db import task_rows as rows
from db.sqlite import Connection
from db.task_moves import TaskMoves
from db.task_rows import Entry, Value

SUSPECT = 2
"""From so many crashes without progress on, a task rests 2^crashes seconds: its daemon may have died of others."""
PROMOTED_AT_ONCE = 500
"""How many due tasks one transaction promotes; the writer's other users must not wait for thousands."""


class TaskTimes:
    """Moves tasks whose time has come, inside write jobs.

    Args:
        clock: the time.
        moves: makes the moves.
        lease: how long a claim or heartbeat holds.
        max_crashes: a task that was running at so many deaths of its daemon without progress in between is failed.
    """

    def __init__(self, clock: Clock, moves: TaskMoves, lease: timedelta, max_crashes: int) -> None:
        self._clock, self._moves, self._lease, self._max_crashes = clock, moves, lease, max_crashes

    def renew(self, conn: Connection, owned: Sequence[tuple[int, int]]) -> Heartbeat:
        """Renew the leases of (task id, fence) pairs."""
        until = self._clock() + self._lease
        answers = {task_id: rows.extend_lease(conn, task_id, fence, until) for task_id, fence in owned}
        return Heartbeat(
            lost=frozenset(task_id for task_id, answer in answers.items() if answer is None),
            cancelled=frozenset(task_id for task_id, answer in answers.items() if answer),
        )

    def recover(self, conn: Connection) -> list[Task]:
        """Give back all that is running: its daemon is dead."""
        return [self._survive(conn, entry.task, "its daemon died") for entry in rows.running(conn)]

    def sweep(self, conn: Connection, owned: Sequence[tuple[int, int]]) -> list[Task]:
        """Give back what is running on a lease that is over; those that are `owned` are renewed first."""
        self.renew(conn, owned)
        expired = rows.running(conn, expired_at=self._clock())
        return [self._survive(conn, entry.task, "its lease ran out") for entry in expired]

    def promote(self, conn: Connection) -> int:
        """Queue what is due, at most `PROMOTED_AT_ONCE`; returns how many."""
        return self._queue(conn, rows.due(conn, self._clock(), PROMOTED_AT_ONCE), "due")

    def jumped(self, conn: Connection, by: timedelta) -> int:
        """Make good a jump of the clock: leases hold from now on, and after one back nothing rests longer for it.

        Returns how many tasks are due sooner.
        """
        rows.renew_all(conn, self._clock() + self._lease)
        return rows.bring_forward(conn, -by) if by < timedelta(0) else 0

    def models_back(self, conn: Connection) -> int:
        """Queue what was parked until a backend comes up; returns how many."""
        return self._queue(conn, rows.without_model(conn), "a backend has come up")

    def unpark(self, conn: Connection) -> int:
        """Queue all that was parked, whatever for; not what rests because it may have killed its daemon."""
        return self._queue(conn, rows.parked(conn, SUSPECT), "what it waited for may have changed")

    def _queue(self, conn: Connection, found: Iterable[Entry], reason: str) -> int:
        return len([self._moves.move(conn, entry.task, Status.QUEUED, reason=reason) for entry in found])

    def _survive(self, conn: Connection, task: Task, what: str) -> Task:
        crashes = task.crashes + 1
        if crashes >= self._max_crashes and not task.cancel_requested:
            reason = f"set aside: {what} {crashes} times while it ran, without progress in between"
            return self._moves.end(conn, task, Status.FAILED, Ending.CRASHED, reason, {"crashes": crashes})
        rest = to_text(self._clock() + timedelta(seconds=2**crashes)) if crashes >= SUSPECT else None
        columns: dict[str, Value] = {"resume": 1, "crashes": crashes, "not_before": rest}
        to = Status.SCHEDULED if rest else Status.QUEUED
        return self._moves.leave(conn, task, to, what, columns, kind=Kind.TASK_RECOVERED, level=Level.WARNING)
