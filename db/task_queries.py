"""What may be asked about tasks without changing any."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from core.gates import Approval
from core.queueing import PauseState
from core.states import Status
from core.subtasks import Family, whole_of
from core.tasks import Spent, Task
from db import approval_rows, holds, task_list, task_parts
from db import task_rows as rows
from db.database import Database
from db.task_list import Listed, Order, Place, TaskFilter


class TaskQueries:
    """Readers of the queue, for any thread."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def get(self, task_id: int) -> Task:
        """One task.

        Raises:
            UnknownTask: there is none with that id.
        """
        return rows.read(self._db.reader(), task_id).task

    def by_key(self, key: str) -> Task | None:
        """The task that was submitted under an idempotency key."""
        known = rows.id_of_key(self._db.reader(), key)
        return None if known is None else self.get(known)

    def find(
        self, status: Status | None = None, limit: int = 50, after: int | None = None, text: str | None = None
    ) -> list[Task]:
        """Tasks, the newest first.

        Args:
            status: only those with this status.
            limit: how many at most.
            after: the last id of the page before; older ones follow.
            text: only those whose description holds it, in any case.
        """
        return rows.find(self._db.reader(), status, limit, after, text)

    def counts(self) -> dict[Status, int]:
        """How many tasks have each status."""
        return rows.counts(self._db.reader())

    def listed(self, wanted: TaskFilter, order: Order, limit: int, after: Place | None = None) -> Listed:
        """Which tasks come next in a list, and how many there are; `get` has them."""
        return task_list.listed(self._db.reader(), wanted, order, limit, after)

    def statuses(self, ids: Iterable[int]) -> dict[int, Status]:
        """The status of each of these tasks that exists."""
        return rows.statuses(self._db.reader(), ids)

    def answers(self, task_id: int) -> list[tuple[str, str | None]]:
        """What the task asked its owner and what he answered (None: not yet), oldest first."""
        asked = self.approvals(open_only=False, task_id=task_id)
        return [(each.ask.question, None if each.granted is None else each.answer) for each in asked]

    def approvals(self, *, open_only: bool = True, task_id: int | None = None, limit: int = 500) -> list[Approval]:
        """What was asked of the owner, oldest first.

        Args:
            open_only: only what a waiting task waits for.
            task_id: only what this task asked.
            limit: how many at most; the newest ones.
        """
        return approval_rows.find(self._db.reader(), open_only, task_id, limit)

    def decisions(self, limit: int, before: int | None = None) -> list[Approval]:
        """What the owner was asked and what was answered, newest asks first; `before` is the last id of a page."""
        return approval_rows.decisions(self._db.reader(), before, limit)

    def open_approvals(self) -> int:
        """How many decisions wait for the owner."""
        return approval_rows.open_count(self._db.reader())

    def parts(self, task_id: int, attempt: int) -> list[Task]:
        """What an attempt of a task was split into, oldest first."""
        return [entry.task for entry in rows.parts(self._db.reader(), task_id, attempt)]

    def family(self, task: Task) -> Family:
        """What a task is a part of, and its own parts."""
        conn, known = self._db.reader(), whole_of(task.spec.key)
        return Family(whole=known and known[0], parts=tuple(entry.task for entry in rows.parts(conn, task.id)))

    def spent_on_parts(self, task_id: int) -> Spent:
        """What models were used for on the parts of a task since its owner last asked for it."""
        return task_parts.spent(self._db.reader(), task_id)

    def next_due(self) -> datetime | None:
        """When the next scheduled task falls due; those that wait for a model have no such time."""
        return rows.next_due(self._db.reader())

    def pause_state(self) -> PauseState:
        """What holds claims back."""
        return holds.read(self._db.reader())
