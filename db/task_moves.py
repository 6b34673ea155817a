"""How tasks come in and change their status: each move is one guarded update and its event, in one transaction.

An end concerns others: those that depend on the task, and where it was split or is a part, its parts or its whole. All
of that happens in the transaction of the end, so no task ever waits for one that has ended.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime, timedelta
from types import MappingProxyType

from core.clock import Clock, to_text
from core.errors import IllegalMove, InvalidTask, StaleFence
from core.events import Event, Kind, Level
from core.faults import listed
from core.queueing import Submitted
from core.states import ENDED, OPEN, Ending, Status, may_move
from core.subtasks import whole_of
from core.tasks import Task, TaskSpec
from db import task_rows as rows
from db.codec import decode, encode
from db.event_log import EventLog
from db.sqlite import Connection
from db.task_rows import Entry, Value

MAX_REASON_CHARS = 2000
_NO_OWNER: dict[str, Value] = {"worker": None, "lease_until": None, "cancel_requested": 0}
_FOR_LATER = frozenset({"not_before", "resume"})


class TaskMoves:
    """Moves tasks, and what depends on them, inside write jobs.

    Args:
        events: gets an event for each move.
        clock: gives ended tasks their time.
    """

    def __init__(self, events: EventLog, clock: Clock) -> None:
        self._events, self._clock = events, clock

    def admit(self, conn: Connection, spec: TaskSpec, field: str) -> Submitted:
        """Store a new task, or find the one that its key made before.

        Raises:
            InvalidTask: a dependency does not exist or cannot be met any more; it is told under the name `field`.
        """
        if spec.key is not None and (known := rows.id_of_key(conn, spec.key)) is not None:
            task = rows.read(conn, known).task
            return Submitted(task_id=known, status=task.status, created=False, differs=_differing(task.spec, spec))
        now, needed = self._clock(), rows.statuses(conn, spec.depends_on)
        if unknown := [str(other) for other in spec.depends_on if other not in needed]:
            raise InvalidTask({field: f"there is no task {listed(unknown)}"})
        if fault := lost(needed):
            raise InvalidTask({field: fault})
        status = first_status(needed, spec.not_before, now)
        task_id = rows.insert(conn, spec, status, now)
        data = {"from": None, "to": status, "priority": spec.priority, "key": spec.key}
        self._events.append(conn, Event(kind=Kind.TASK_SUBMITTED, message=title(spec), task_id=task_id, data=data))
        return Submitted(task_id=task_id, status=status, created=True)

    def move(
        self,
        conn: Connection,
        task: Task,
        to: Status,
        columns: Mapping[str, Value] = MappingProxyType({}),
        *,
        kind: Kind = Kind.TASK_MOVED,
        ending: Ending | None = None,
        reason: str = "",
        level: Level = Level.INFO,
    ) -> Task:
        """Move a task from the status it was read with, set `columns` with it, and return it as it is then.

        Raises:
            IllegalMove: the table of moves does not have this one.
            StaleFence: the row is not as it was read.
        """
        if not may_move(task.status, to):
            raise IllegalMove(f"task {task.id} is {task.status} and cannot become {to}")
        reason = self._events.clean(reason, MAX_REASON_CHARS)
        owner = _NO_OWNER if task.status is Status.RUNNING else {}
        ended_at = to_text(self._clock()) if to in ENDED else None
        facts = {"status": to, "ending": ending, "reason": reason, "ended_at": ended_at}
        moved = rows.update(conn, task, {**owner, **columns, **facts})
        if moved is None:
            raise StaleFence
        self._events.append(conn, _told(task, moved, kind, level))
        return moved

    def claim(self, conn: Connection, entry: Entry, worker: str, lease: timedelta) -> Task:
        """Give a queued task to a worker, under a new fence; an interrupted attempt goes on."""
        task, now, new = entry.task, self._clock(), 0 if entry.resume else 1
        columns: dict[str, Value] = {
            "worker": worker,
            "fence": task.fence + 1,
            "lease_until": to_text(now + lease),
            "attempt": task.attempt + new,
            "tries": entry.tries + new,
            "resume": 0,
            "started_at": to_text(task.started_at or now),
        }
        return self.move(conn, task, Status.RUNNING, columns, kind=Kind.TASK_CLAIMED)

    def end(
        self,
        conn: Connection,
        task: Task,
        to: Status,
        ending: Ending,
        reason: str,
        columns: Mapping[str, Value] = MappingProxyType({}),
    ) -> Task:
        """Move a task to its end, then those that wait for it: on when it is done, else to their own end.

        Its open parts end with it; its whole goes on when all of its parts have ended.
        """
        level = Level.INFO if to is Status.DONE else Level.WARNING
        ended = self.move(conn, task, to, columns, ending=ending, reason=reason, level=level)
        self._spread(conn, ended)
        return ended

    def settle(self, conn: Connection, whole: Task) -> Task:
        """Let a blocked task that was split go on, or end, if its parts say so."""
        settled = self._settled(conn, whole)
        if settled.status in ENDED:
            self._spread(conn, settled)
        return settled

    def _settled(self, conn: Connection, whole: Task) -> Task:
        """The task, queued if all of its parts have ended, or ended if one of them was cancelled."""
        parts = [entry.task for entry in rows.parts(conn, whole.id, whole.attempt)]
        if gone := next((part for part in parts if part.status is Status.CANCELLED), None):
            return self._fell(conn, whole, f"task {gone.id}, a part of it, was cancelled ({title(gone.spec)})")
        if any(part.status in OPEN for part in parts):
            return whole
        failed = sum(part.status is Status.FAILED for part in parts)
        reason = f"{failed} of its {len(parts)} parts failed" if failed else "all of its parts are done"
        return self.move(conn, whole, Status.QUEUED, reason=reason)

    def leave(
        self,
        conn: Connection,
        task: Task,
        to: Status,
        reason: str,
        columns: Mapping[str, Value],
        *,
        kind: Kind = Kind.TASK_MOVED,
        level: Level = Level.INFO,
    ) -> Task:
        """Take a running task from its worker to go on later, or end it if its owner asked for that meanwhile."""
        if task.cancel_requested:
            facts = {name: value for name, value in columns.items() if name not in _FOR_LATER}
            return self.end(conn, task, Status.CANCELLED, Ending.USER, "cancelled by the owner", facts)
        return self.move(conn, task, to, columns, kind=kind, reason=reason, level=level)

    def _unblock(self, conn: Connection, done: Task) -> None:
        for waiting in rows.blocked_by(conn, done.id):
            needed = rows.dependencies(conn, waiting.task.id)
            status = first_status(needed, waiting.task.not_before, self._clock())
            if status is not Status.BLOCKED:
                self.move(conn, waiting.task, status, reason="all that it depends on is done")

    def _spread(self, conn: Connection, ended: Task) -> None:
        """Move all that an end concerns, without recursion: a chain may be longer than Python's stack."""
        waiting = deque([ended])
        while waiting:
            cause = waiting.popleft()
            if cause.status is Status.DONE:
                self._unblock(conn, cause)
            else:
                waiting += self._fail_dependants(conn, cause)
                waiting += self._end_parts(conn, cause)
            waiting += self._tell_whole(conn, cause)

    def _fail_dependants(self, conn: Connection, cause: Task) -> list[Task]:
        became = "was cancelled" if cause.status is Status.CANCELLED else "failed"
        reason = f"task {cause.id}, on which it depends, {became} ({title(cause.spec)})"
        return [self._fell(conn, entry.task, reason) for entry in rows.blocked_by(conn, cause.id)]

    def _fell(self, conn: Connection, task: Task, reason: str) -> Task:
        return self.move(conn, task, Status.FAILED, ending=Ending.DEPENDENCY, reason=reason, level=Level.WARNING)

    def _end_parts(self, conn: Connection, whole: Task) -> list[Task]:
        """Cancel the parts of a task that has ended otherwise than well; those that run are asked to end."""
        ended = list[Task]()
        reason = f"task {whole.id}, of which it is a part, has ended"
        for part in (entry.task for entry in rows.parts(conn, whole.id, whole.attempt)):
            if part.status is Status.RUNNING:
                self.ask_to_end(conn, part)
            elif part.status in OPEN:
                ended.append(self.move(conn, part, Status.CANCELLED, ending=Ending.USER, reason=reason))
        return ended

    def _tell_whole(self, conn: Connection, part: Task) -> list[Task]:
        """Let the whole go on whose last part this was; it is given back where it ended."""
        if (known := whole_of(part.spec.key)) is None or (entry := rows.find_one(conn, known[0])) is None:
            return []
        whole = entry.task
        if whole.status is not Status.BLOCKED or not entry.resume:
            return []  # it waits for another reason, if at all; parts of an earlier attempt settle nothing below
        settled = self._settled(conn, whole)
        return [settled] if settled.status in ENDED else []

    def ask_to_end(self, conn: Connection, task: Task) -> Task:
        """Ask the worker that runs a task to cancel it; asking twice is harmless."""
        if task.cancel_requested:
            return task
        event = Event(kind=Kind.TASK_CANCEL_REQUESTED, task_id=task.id, attempt=task.attempt, worker=task.worker)
        self._events.append(conn, event)
        return rows.update(conn, task, {"cancel_requested": 1}) or task


def _told(before: Task, after: Task, kind: Kind, level: Level) -> Event:
    by = f" ({after.worker})" if after.worker else ""
    why = f": {after.reason}" if after.reason else ""
    return Event(
        kind=kind,
        level=level,
        message=f"{before.status} → {after.status}{by}{why}",
        task_id=after.id,
        attempt=after.attempt or None,
        iteration=after.iterations or None,
        worker=after.worker or before.worker,
        data={"from": before.status, "to": after.status, "ending": after.ending, "reason": after.reason},
    )


def first_status(needed: dict[int, Status], not_before: datetime | None, now: datetime) -> Status:
    """Where a task stands whose dependencies have these statuses."""
    if any(status is not Status.DONE for status in needed.values()):
        return Status.BLOCKED
    return Status.SCHEDULED if not_before and not_before > now else Status.QUEUED


def lost(needed: dict[int, Status]) -> str:
    """Say which of these dependencies will not be done, or nothing."""
    ended = [f"{other} ({status})" for other, status in needed.items() if status in ENDED - {Status.DONE}]
    return f"depends on what did not succeed: task {listed(ended)}" if ended else ""


def title(spec: TaskSpec) -> str:
    """The first line of a description, short enough for a list."""
    line = spec.description.split("\n", 1)[0]
    return line if len(line) <= 100 else line[:99] + "…"


def _differing(stored: TaskSpec, sent: TaskSpec) -> tuple[str, ...]:
    """The fields in which two tasks differ, as they are stored."""
    sent = decode(TaskSpec, encode(sent))
    names = (field.name for field in fields(TaskSpec))
    return tuple(name for name in names if getattr(stored, name) != getattr(sent, name))
