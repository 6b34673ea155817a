"""Outbox of this node: requests to the hub about this node's tasks that the hub has not received yet.

A task that is submitted here and may run on any node gets the status `shared` at once, with an entry in the outbox. So
it is safe on this node's disk while the hub is unreachable, and no worker claims it before the hub assigns it to a
node. The owner's requests about tasks that the hub has also go through the outbox.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from nightshift.core.tasks.states import Status
from nightshift.core.tasks.task import TaskSpec, whole_of
from nightshift.queue import store
from nightshift.queue.store import Transaction
from nightshift.storage.db.sqlite import Connection


class Wish(StrEnum):
    """Kinds of requests to the hub about a task."""

    SUBMIT = "submit"
    RETRY = "retry"
    CANCEL = "cancel"
    WITHDRAW = "withdraw"
    PRIORITISE = "prioritise"
    REVISE = "revise"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outgoing:
    """An entry of the outbox. `value` is the priority for `PRIORITISE`, and unused for other requests."""

    id: int
    task_id: int
    wish: Wish
    value: int | None


def may_be_shared(conn: Connection, spec: TaskSpec) -> bool:
    """Check whether the hub can schedule a task: it is no subtask, and all its dependencies are done or shared."""
    if whole_of(spec.key) is not None:
        return False
    tasks = [store.read(conn, needed).task for needed in spec.depends_on]
    return all(task.status is Status.DONE or task.status is Status.SHARED or task.hub_id for task in tasks)


def note(tx: Transaction, task_id: int, wish: Wish, value: int | None = None) -> None:
    """Add a request to the outbox; it replaces an earlier request of the same kind for the task."""
    tx.conn.execute("DELETE FROM hub_outbox WHERE task_id = ? AND what = ?", (task_id, wish))
    tx.conn.execute("INSERT INTO hub_outbox (task_id, what, value) VALUES (?, ?, ?)", (task_id, wish, value))


def is_noted(conn: Connection, task_id: int, wish: Wish) -> bool:
    """Check whether a request of this kind for the task has still to be sent."""
    query = "SELECT 1 FROM hub_outbox WHERE task_id = ? AND what = ?"
    return conn.execute(query, (task_id, wish)).fetchone() is not None


def outbox(conn: Connection, limit: int = 200) -> list[Outgoing]:
    """List the requests that have still to be sent, oldest first."""
    rows = conn.execute("SELECT id, task_id, what, value FROM hub_outbox ORDER BY id LIMIT ?", (limit,))
    return [Outgoing(id=number, task_id=task_id, wish=Wish(what), value=value) for number, task_id, what, value in rows]


def remove(tx: Transaction, number: int) -> None:
    """Remove a request that was sent."""
    tx.conn.execute("DELETE FROM hub_outbox WHERE id = ?", (number,))


def forget(tx: Transaction, task_id: int) -> None:
    """Remove all requests about a task that has ended."""
    tx.conn.execute("DELETE FROM hub_outbox WHERE task_id = ?", (task_id,))
