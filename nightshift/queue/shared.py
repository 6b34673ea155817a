"""Tasks that a hub schedules: how this node gets tasks, and how it follows the tasks of other nodes.

A task that the hub assigns to this node is queued here with the hub's fence. The task then belongs to this node, until
the hub has assigned it to another node and `take_back` gives it up.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from nightshift.core.events import Kind, Level
from nightshift.core.hub import HubTask
from nightshift.core.tasks.states import ENDED, OPEN, Ending, Status
from nightshift.core.tasks.task import Task, TaskSpec
from nightshift.queue import outbox, store, transitions
from nightshift.queue.outbox import Outgoing, Wish
from nightshift.queue.store import Transaction, Value
from nightshift.storage.db.sqlite import Connection

KEY = "hub:"
"""Prefix of the keys of tasks that were submitted on other nodes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Adopted:
    """A task that the hub assigned to this node. `spec` is the specification, adapted to this node."""

    hub_id: int
    fence: int
    spec: TaskSpec
    created_at: datetime
    own_task: int | None
    """The task's id on this node, if it was submitted here; else None."""


def note_submitted(tx: Transaction, entry: Outgoing, hub_id: int) -> None:
    """Store the number that the hub gave to a task."""
    tx.conn.execute("UPDATE tasks SET hub_id = ? WHERE id = ?", (hub_id, entry.task_id))
    outbox.remove(tx, entry.id)


def refuse(tx: Transaction, entry: Outgoing, reason: str) -> None:
    """Drop a request that the hub refuses; if the request was to submit or retry a shared task, the task fails."""
    task = store.read(tx.conn, entry.task_id).task
    if entry.wish in {Wish.SUBMIT, Wish.RETRY} and task.status is Status.SHARED:
        transitions.end(tx, task, Status.FAILED, Ending.DEPENDENCY, reason)
    outbox.remove(tx, entry.id)


def cancel_unknown(tx: Transaction, entry: Outgoing) -> None:
    """Cancel a task that the hub does not know and whose cancellation was requested."""
    task = store.read(tx.conn, entry.task_id).task
    if task.status is Status.SHARED:
        transitions.end(tx, task, Status.CANCELLED, Ending.USER, "cancelled by the owner; the hub does not know it")
    outbox.remove(tx, entry.id)


def take_words_back(tx: Transaction, entry: Outgoing, hub_spec: TaskSpec, reason: str) -> None:
    """Restore the hub's specification of a task after the hub refused a newer one, and report the refusal."""
    take_words(tx, entry.task_id, hub_spec)
    about = tx.emitter.bind(task_id=entry.task_id)
    about.emit(Kind.HUB_TASK, f"the new description was not accepted: {reason}", level=Level.WARNING)
    outbox.remove(tx, entry.id)


def take_words(tx: Transaction, task_id: int, hub_spec: TaskSpec) -> None:
    """Apply the hub's specification to a task.

    The task's repository, its base and its dependencies on this node stay unchanged.
    """
    own = store.read(tx.conn, task_id).task.spec
    spec = replace(
        hub_spec, key=own.key, depends_on=own.depends_on, repo=own.repo, base=own.base, not_before=own.not_before,
        priority=own.priority,
    )  # fmt: skip
    if spec != own:
        store.amend(tx.conn, task_id, spec)


def share_waiting(tx: Transaction) -> None:
    """Share the tasks that have not begun and were submitted before there was a hub."""
    waiting = "status IN ('queued', 'scheduled', 'blocked') AND attempt = 0 AND hub_id IS NULL"
    query = f"SELECT id FROM tasks WHERE {waiting} ORDER BY id"  # noqa: S608  a constant
    for row in tx.conn.execute(query).fetchall():
        entry = store.read(tx.conn, row["id"])
        if entry.fault or not (tx.shares(entry.task.spec) and outbox.may_be_shared(tx.conn, entry.task.spec)):
            continue
        transitions.move(tx, entry.task, Status.SHARED, reason="the hub gives turns from now on")
        outbox.note(tx, entry.task.id, Wish.SUBMIT)


def keep_what_stays(tx: Transaction) -> None:
    """Queue on this node the shared tasks that the hub does not have yet and cannot accept."""
    query = "SELECT id FROM tasks WHERE status = 'shared' AND hub_id IS NULL ORDER BY id"
    for row in tx.conn.execute(query).fetchall():
        task = store.read(tx.conn, row["id"]).task
        if not tx.shares(task.spec):
            outbox.forget(tx, task.id)
            transitions.settle_status(tx, task, "it stays on this node")


def adopt(tx: Transaction, given: Adopted) -> Task:
    """Queue a task that the hub assigned to this node."""
    own = None if given.own_task is None else store.find_one(tx.conn, given.own_task)
    if own and own.task.hub_id in {None, given.hub_id}:  # otherwise this node's database was replaced meanwhile
        task_id = own.task.id
    else:
        task_id = _of_hub(tx.conn, given.hub_id) or _insert(tx, given)
    task = store.read(tx.conn, task_id).task
    if task.hub_fence == given.fence:
        return task
    if not outbox.is_noted(tx.conn, task_id, Wish.REVISE):  # otherwise the hub lacks this node's newer specification
        take_words(tx, task_id, given.spec)
        task = store.read(tx.conn, task_id).task
    columns: dict[str, Value] = {"hub_id": given.hub_id, "hub_fence": given.fence, "priority": given.spec.priority}
    columns |= {"cancel_requested": 0, "crashes": 0}
    if task.status is Status.DONE:  # the hub refused the result because the lease had expired; now it can be reported
        return store.update(tx.conn, task, {"hub_fence": given.fence}) or task
    if task.status in ENDED:
        columns |= {"tries": 0, "resume": 0}
    if task.status is Status.QUEUED:
        return store.update(tx.conn, task, columns) or task
    return transitions.move(tx, task, Status.QUEUED, columns, reason="the hub gave it to this node")


def _insert(tx: Transaction, given: Adopted) -> int:
    spec = replace(given.spec, key=f"{KEY}{given.hub_id}", depends_on=(), not_before=None)
    task_id = store.insert(tx.conn, spec, Status.QUEUED, given.created_at)
    data: dict[str, Any] = {"from": None, "to": Status.QUEUED, "priority": spec.priority, "key": spec.key}
    tx.emitter.bind(task_id=task_id).emit(Kind.TASK_SUBMITTED, transitions.title(spec), **data)
    return task_id


def _of_hub(conn: Connection, hub_id: int) -> int | None:
    row = conn.execute("SELECT id FROM tasks WHERE hub_id = ?", (hub_id,)).fetchone()
    return None if row is None else int(row["id"])


def list_held(conn: Connection) -> list[Task]:
    """List the tasks that the hub assigned to this node, including ended ones, until `let_go` is called for them."""
    rows = conn.execute("SELECT id FROM tasks WHERE hub_fence IS NOT NULL ORDER BY id").fetchall()
    return [store.read(conn, row["id"]).task for row in rows]


def busy(conn: Connection) -> int:
    """Count the queued and running tasks of this node."""
    return int(conn.execute("SELECT count(*) FROM tasks WHERE status IN ('queued', 'running')").fetchone()[0])


def has_begun(conn: Connection, task_id: int) -> bool:
    """Check whether a task's current attempt has steps or replies."""
    query = "SELECT 1 FROM {} JOIN tasks ON tasks.id = task_id AND tasks.attempt = {}.attempt WHERE task_id = ?"
    return any(conn.execute(query.format(name, name), (task_id,)).fetchone() for name in ("steps", "replies"))


def elsewhere(conn: Connection) -> frozenset[int]:
    """Return the hub numbers of tasks that other nodes have, or that no node has yet."""
    query = "SELECT hub_id FROM tasks WHERE status = 'shared' AND hub_id IS NOT NULL"
    return frozenset(row["hub_id"] for row in conn.execute(query))


def list_followed(conn: Connection, hub_ids: Collection[int]) -> frozenset[int]:
    """Return those of the given hub numbers whose tasks this node follows but does not work on.

    These tasks exist here without a fence of the hub, and are shared, failed or cancelled.
    """
    query = "SELECT 1 FROM tasks WHERE hub_id = ? AND hub_fence IS NULL AND status IN ('shared', 'failed', 'cancelled')"
    return frozenset(number for number in hub_ids if conn.execute(query, (number,)).fetchone())


def let_go(tx: Transaction, task_id: int, fence: int) -> None:
    """Record that the hub knows how a task ended on this node."""
    tx.conn.execute("UPDATE tasks SET hub_fence = NULL WHERE id = ? AND hub_fence = ?", (task_id, fence))


def take_back(tx: Transaction, task_id: int, fence: int, reason: str) -> Task:
    """Give up a task that no longer belongs to this node; a worker that runs it notices this at its next write."""
    task = store.read(tx.conn, task_id).task
    if task.hub_fence != fence:
        return task
    if task.status in OPEN - {Status.SHARED}:
        columns: dict[str, Value] = {"fence": task.fence + 1, "resume": 0, "not_before": None}
        task = transitions.move(tx, task, Status.SHARED, columns, reason=reason)
    let_go(tx, task_id, fence)
    return store.read(tx.conn, task_id).task


def prioritise(tx: Transaction, task_id: int, priority: int) -> None:
    """Set a task's priority to the priority that it has on the hub."""
    tx.conn.execute("UPDATE tasks SET priority = ? WHERE id = ?", (priority, task_id))


def stands_elsewhere(tx: Transaction, elsewhere: HubTask, on: str) -> Task | None:
    """Apply the hub's state of another node's task, and return the task.

    Returns None if the task does not exist on this node, or belongs to this node.
    """
    if (task_id := _of_hub(tx.conn, elsewhere.id)) is None:
        return None
    task = store.read(tx.conn, task_id).task
    if task.hub_fence is not None:
        return None
    if task.spec.priority != elsewhere.priority:
        task = store.update(tx.conn, task, {"priority": elsewhere.priority}) or task
    if elsewhere.status in ENDED and task.status is Status.SHARED:
        facts: dict[str, Value] = {
            "commit_id": elsewhere.commit,
            "branch": elsewhere.branch,
            "iterations": elsewhere.iterations,
            "spent": store.write_spent(elsewhere.spent),
        }
        reason = f"{on}: {elsewhere.reason}" if elsewhere.reason else on
        task = transitions.end(tx, task, elsewhere.status, elsewhere.ending or Ending.ERROR, reason, facts)
    elif elsewhere.status not in ENDED and task.status in {Status.FAILED, Status.CANCELLED}:
        task = transitions.move(tx, task, Status.SHARED, reason="asked for again on another node")
    return task
