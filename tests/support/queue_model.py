"""A model of the queue in plain Python: the expected effect of every operation, without a database.

Each method has the effect that the `QueueManager` method of the same name promises, or returns the error that it should
raise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from nightshift.core.errors import IllegalMove, InvalidTask, TaskError
from nightshift.core.tasks.states import Ending, Status

LEASE = timedelta(seconds=60)
TRIES, CRASHES, SUSPECT = 3, 3, 2
LOST = {Status.FAILED, Status.CANCELLED}
AGAIN = {Ending.ERROR, Ending.CRASHED, Ending.TIMEOUT}
Refusal = type[TaskError]


@dataclass
class Modelled:
    """One task of the model."""

    id: int
    priority: int
    needs: tuple[int, ...]
    not_before: datetime | None
    status: Status = Status.QUEUED
    ending: Ending | None = None
    attempt: int = 0
    tries: int = 0
    crashes: int = 0
    fence: int = 0
    resume: bool = False
    cancel: bool = False
    lease_until: datetime | None = None
    parent: tuple[int, int] | None = None
    """For a subtask: the id of the task that was split, and its attempt."""


class QueueModel:
    """All tasks, by id."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self.clock = clock
        self.tasks: dict[int, Modelled] = {}
        self.keys: dict[str, int] = {}
        self.paused = False

    def of(self, *statuses: Status) -> list[Modelled]:
        return [task for task in self.tasks.values() if task.status in statuses]

    def submit(
        self, priority: int, needs: tuple[int, ...], not_before: datetime | None, key: str | None
    ) -> int | Refusal:
        if key in self.keys:
            return self.keys[key or ""]
        if any(self.tasks[need].status in LOST for need in needs):
            return InvalidTask
        task = Modelled(len(self.tasks) + 1, priority, needs, not_before)
        self.tasks[task.id] = task
        if key:
            self.keys[key] = task.id
        self._set_open_status(task)
        return task.id

    def _set_open_status(self, task: Modelled) -> None:
        if any(self.tasks[need].status is not Status.DONE for need in task.needs):
            task.status = Status.BLOCKED
        elif task.not_before and task.not_before > self.clock():
            task.status = Status.SCHEDULED
        else:
            task.status = Status.QUEUED

    def claim(self) -> Modelled | None:
        ready = sorted(self.of(Status.QUEUED), key=lambda task: (-task.priority, task.id))
        if self.paused or not ready:
            return None
        task = ready[0]
        task.status, task.fence, task.lease_until = Status.RUNNING, task.fence + 1, self.clock() + LEASE
        if not task.resume:
            task.attempt, task.tries = task.attempt + 1, task.tries + 1
        task.resume = False
        return task

    def finish(self, task: Modelled, ending: Ending) -> None:
        if ending in {Ending.COMMITTED, Ending.NO_CHANGE}:
            self._end(task, Status.DONE, ending)
        elif ending is Ending.USER:
            self._end(task, Status.CANCELLED, ending)
        elif ending in AGAIN and task.tries < TRIES:
            self.leave(task, Status.SCHEDULED, resume=False)
        else:
            self._end(task, Status.FAILED, ending)

    def leave(
        self, task: Modelled, to: Status, *, resume: bool = True, until: datetime | None = None, parked: bool = False
    ) -> None:
        if task.cancel:
            self._end(task, Status.CANCELLED, Ending.USER)
            return
        task.status, task.resume = to, task.resume or resume
        if parked:
            task.not_before = until

    def split(self, task: Modelled, after: list[tuple[int, ...]]) -> None:
        """Split a task into one part per entry of `after`.

        Each entry lists the positions of the earlier parts that it needs.
        """
        self.leave(task, Status.BLOCKED)
        if task.status is not Status.BLOCKED:
            return
        parts = self.parts(task)
        for number, needs in enumerate(after):
            if number >= len(parts):
                ids = tuple(parts[at].id for at in needs)
                part = Modelled(len(self.tasks) + 1, task.priority + 1, ids, None, parent=(task.id, task.attempt))
                parts.append(part)
                self.tasks[part.id] = part
                self._set_open_status(part)
        if self._settle(task):
            self._end(task, Status.FAILED, Ending.DEPENDENCY)

    def parts(self, task: Modelled) -> list[Modelled]:
        return [other for other in self.tasks.values() if other.parent == (task.id, task.attempt)]

    def _end(self, task: Modelled, to: Status, ending: Ending) -> None:
        ended = [self._set(task, to, ending)]
        for cause in ended:  # The list grows during the loop, because an ended task may end others
            ended += self._end_dependants(cause) + self._end_parts(cause)
            if cause.parent and (parent := self.tasks[cause.parent[0]]).attempt == cause.parent[1]:
                ended += self._settle(parent)

    @staticmethod
    def _set(task: Modelled, to: Status, ending: Ending) -> Modelled:
        task.status, task.ending, task.cancel = to, ending, False
        return task

    def _end_dependants(self, cause: Modelled) -> list[Modelled]:
        waiting = [other for other in self.of(Status.BLOCKED) if cause.id in other.needs]
        if cause.status is not Status.DONE:
            return [self._set(other, Status.FAILED, Ending.DEPENDENCY) for other in waiting]
        for other in waiting:
            self._set_open_status(other)
        return []

    def _end_parts(self, cause: Modelled) -> list[Modelled]:
        parts = [part for part in self.parts(cause) if cause.status in LOST and part.status not in {*LOST, Status.DONE}]
        for part in parts:
            part.cancel |= part.status is Status.RUNNING
        return [self._set(part, Status.CANCELLED, Ending.USER) for part in parts if not part.cancel]

    def _settle(self, parent: Modelled) -> list[Modelled]:
        """Queue a split task again if all of its parts have ended, or end it if one of them was cancelled."""
        parts = self.parts(parent)
        if parent.status is not Status.BLOCKED or not parts:
            return []
        if any(part.status is Status.CANCELLED for part in parts):
            return [self._set(parent, Status.FAILED, Ending.DEPENDENCY)]
        if all(part.status in {*LOST, Status.DONE} for part in parts):
            parent.status = Status.QUEUED
        return []

    def cancel(self, task: Modelled) -> Refusal | None:
        if task.status is Status.RUNNING:
            task.cancel = True
        elif task.status in {*LOST, Status.DONE}:
            return IllegalMove
        else:
            self._end(task, Status.CANCELLED, Ending.USER)
        return None

    def retry(self, task: Modelled) -> Refusal | None:
        if task.status is Status.SCHEDULED:
            task.status, task.not_before, task.crashes = Status.QUEUED, None, 0
            return None
        if task.status not in LOST or any(self.tasks[need].status in LOST for need in task.needs):
            return IllegalMove
        task.ending, task.not_before, task.resume = None, None, False
        task.tries = task.crashes = 0
        self._set_open_status(task)
        return None

    def survive(self, tasks: list[Modelled]) -> None:
        for task in tasks:
            task.crashes += 1
            if task.crashes >= CRASHES and not task.cancel:
                self._end(task, Status.FAILED, Ending.CRASHED)
            elif task.crashes >= 2:
                until = self.clock() + timedelta(seconds=2**task.crashes)
                self.leave(task, Status.SCHEDULED, until=until, parked=True)
            else:
                self.leave(task, Status.QUEUED)

    def tick(self) -> int:
        due = [t for t in self.of(Status.SCHEDULED) if t.not_before and t.not_before <= self.clock()]
        for task in due:
            task.status = Status.QUEUED
        return len(due)

    def models_back(self) -> int:
        waiting = [
            task
            for task in self.of(Status.SCHEDULED)
            if task.not_before is None or (task.resume and task.crashes < SUSPECT)
        ]
        for task in waiting:
            task.status = Status.QUEUED
        return len(waiting)
