"""What a person asks of one task at any time: cancel it, ask for it again, make it more or less urgent."""

from __future__ import annotations

from core.clock import Clock
from core.errors import IllegalMove
from core.events import Event, Kind
from core.states import ENDED, Ending, Status
from core.tasks import Task
from db import spending
from db import task_rows as rows
from db.event_log import EventLog
from db.sqlite import Connection
from db.task_moves import TaskMoves, first_status, lost
from db.task_rows import Value


class TaskWishes:
    """Does what a person asks, inside write jobs.

    Args:
        events: gets an event for each change.
        clock: tells whether a task is due.
        moves: makes the moves.
    """

    def __init__(self, events: EventLog, clock: Clock, moves: TaskMoves) -> None:
        self._events, self._clock, self._moves = events, clock, moves

    def cancel(self, conn: Connection, task_id: int) -> Task:
        """See `QueueManager.cancel`."""
        task = rows.read(conn, task_id).task
        if task.status is not Status.RUNNING:
            return self._moves.end(conn, task, Status.CANCELLED, Ending.USER, "cancelled by the owner")
        return self._moves.ask_to_end(conn, task)

    def retry(self, conn: Connection, task_id: int) -> Task:
        """See `QueueManager.retry`."""
        task, needed = rows.read(conn, task_id).task, rows.dependencies(conn, task_id)
        if task.status not in ENDED:
            raise IllegalMove(f"task {task_id} is {task.status}; only one that ended can be retried")
        if fault := lost(needed):
            raise IllegalMove(f"{fault}; retry that one first")
        status = first_status(needed, None, self._clock())
        before = rows.spent_text(spending.of_task(conn, task_id))
        anew: dict[str, Value] = {"tries": 0, "crashes": 0, "resume": 0, "not_before": None, "spent_before": before}
        return self._moves.move(conn, task, status, anew, reason="retried by the owner")

    def prioritise(self, conn: Connection, task_id: int, priority: int) -> Task:
        """See `QueueManager.prioritise`."""
        task = rows.read(conn, task_id).task
        before = task.spec.priority
        if task.status is Status.DONE:
            raise IllegalMove(f"task {task_id} is done; its priority decides nothing any more")
        if before == priority:
            return task
        text, data = f"priority {before} → {priority}", {"priority": priority, "before": before}
        self._events.append(conn, Event(kind=Kind.TASK_PRIORITISED, message=text, task_id=task_id, data=data))
        return rows.update(conn, task, {"priority": priority}) or task
