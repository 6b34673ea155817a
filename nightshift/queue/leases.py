"""Changes of tasks that time causes: expired leases, due times, and tasks of a daemon that died."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta

from nightshift.core.clock import to_text
from nightshift.core.events import Kind, Level
from nightshift.core.tasks.queueing import Heartbeat
from nightshift.core.tasks.states import Ending, Status
from nightshift.core.tasks.task import Task
from nightshift.queue import messages, store
from nightshift.queue.store import Entry, Transaction, Value
from nightshift.queue.transitions import end, leave, move

SUSPECT = 2
"""Minimum number of crashes without progress after which a task is suspected to cause them.

Such a task waits 2^crashes seconds before its next try. A smaller number of crashes may have other causes.
"""
PROMOTED_AT_ONCE = 500
"""Maximum number of due tasks that one transaction queues, because other writes must not wait for thousands of tasks.
"""


def renew(tx: Transaction, owned: Sequence[tuple[int, int]], lease: timedelta) -> Heartbeat:
    """Renew the leases of tasks, given as pairs of task id and fence."""
    until = tx.now + lease
    answers = {task_id: store.extend_lease(tx.conn, task_id, fence, until) for task_id, fence in owned}
    return Heartbeat(
        lost=frozenset(task_id for task_id, answer in answers.items() if answer is None),
        cancelled=frozenset(task_id for task_id, answer in answers.items() if answer),
        newest_messages=messages.interrupting(tx.conn, answers),
    )


def recover(tx: Transaction, max_crashes: int) -> list[Task]:
    """Return all running tasks to the queue, because the daemon that ran them is dead."""
    return [_give_back(tx, entry.task, "its daemon died", max_crashes) for entry in store.running(tx.conn)]


def sweep(tx: Transaction, max_crashes: int) -> list[Task]:
    """Return running tasks whose lease has expired to the queue."""
    expired = store.running(tx.conn, expired_at=tx.now)
    return [_give_back(tx, entry.task, "its lease ran out", max_crashes) for entry in expired]


def _give_back(tx: Transaction, task: Task, what: str, max_crashes: int) -> Task:
    crashes = task.crashes + 1
    if crashes >= max_crashes and not task.cancel_requested:
        reason = f"set aside: {what} {crashes} times while it ran, without progress in between"
        return end(tx, task, Status.FAILED, Ending.CRASHED, reason, {"crashes": crashes})
    rest = to_text(tx.now + timedelta(seconds=2**crashes)) if crashes >= SUSPECT else None
    columns: dict[str, Value] = {"resume": 1, "crashes": crashes, "not_before": rest}
    to = Status.SCHEDULED if rest else Status.QUEUED
    return leave(tx, task, to, what, columns, kind=Kind.TASK_RECOVERED, level=Level.WARNING)


def shift(tx: Transaction, by: timedelta, lease: timedelta) -> int:
    """Correct leases and due times after the clock jumped.

    All leases are renewed. After a jump back, scheduled tasks become due sooner. Returns the number of tasks that are
    due sooner.
    """
    store.renew_all(tx.conn, tx.now + lease)
    return store.bring_forward(tx.conn, -by) if by < timedelta(0) else 0


def promote(tx: Transaction) -> int:
    """Queue due tasks, at most `PROMOTED_AT_ONCE`; return how many were queued."""
    return _queue(tx, store.due(tx.conn, tx.now, PROMOTED_AT_ONCE), "due")


def models_back(tx: Transaction) -> int:
    """Queue the tasks that wait for a model, or for a budget that the available model may not need.

    Returns how many were queued.
    """
    return _queue(tx, store.without_model(tx.conn, SUSPECT), "a backend has come up")


def unpark(tx: Transaction) -> int:
    """Queue all parked tasks, whatever they wait for, except tasks that may have caused their daemon to crash."""
    return _queue(tx, store.list_parked(tx.conn, SUSPECT), "what it waited for may have changed")


def release(tx: Transaction, reason: str) -> int:
    """Queue the tasks that were postponed for this reason; return how many were queued."""
    return _queue(tx, store.put_off_for(tx.conn, tx.clean(reason)), "what it waited for is over")


def _queue(tx: Transaction, entries: Iterable[Entry], reason: str) -> int:
    return len([move(tx, entry.task, Status.QUEUED, reason=reason) for entry in entries])
