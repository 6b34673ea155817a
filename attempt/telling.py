"""What the worker pool tells of itself: events that know task and worker, and lines about what went wrong."""

from __future__ import annotations

from dataclasses import replace

from attempt.workers import Worker
from core.events import Event, Kind, Level
from core.ports import Sink
from core.tasks import Task
from db.event_log import EventLog


def sink(events: EventLog, worker: Worker, task: Task) -> Sink:
    """A sink that knows task and worker, and keeps the worker's status fresh."""

    def emit(event: Event) -> None:
        whole = replace(event, task_id=task.id, attempt=event.attempt or task.attempt, worker=worker.status.name)
        worker.status = replace(worker.status, last_line=event.message or worker.status.last_line)
        events.emit(whole)

    return emit


def tell(events: EventLog, task: Task, level: Level, message: str, trace: str = "") -> None:
    """Say what was not well with a task's attempt."""
    data = {"trace": trace} if trace else {}
    event = Event(kind=Kind.WORKER_ERROR, level=level, message=message, data=data)
    events.emit(replace(event, task_id=task.id, attempt=task.attempt))


def tell_restart(events: EventLog, worker: Worker) -> None:
    """Say that a worker begins anew, and with what."""
    name, task_id = worker.status.name, worker.status.task_id
    rest = "it was idle" if task_id is None else f"task {task_id} goes on from its last finished step"
    text, attempt = f"{name} was restarted by the owner: {rest}", worker.status.attempt or None
    events.emit(Event(kind=Kind.WORKER_RESTARTED, message=text, task_id=task_id, attempt=attempt, worker=name))
