"""Submits tasks and changes their status. Each change is one guarded update and its event, in one transaction.

The end of a task affects its dependants, its subtasks and its parent. All of them are changed in the same transaction
as the ended task, so no task ever waits for a task that has ended.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any

from nightshift.core.clock import to_text
from nightshift.core.errors import IllegalMove, InvalidTask, StaleFence
from nightshift.core.events import Kind, Level, MoveData
from nightshift.core.tasks.forking import NOTHING, Amendment, Fork, amend
from nightshift.core.tasks.queueing import RetryPolicy, Submitted
from nightshift.core.tasks.states import ENDED, OPEN, Ending, Status, may_move
from nightshift.core.tasks.task import Spent, SubtaskSpec, Task, TaskSpec, part_key, whole_of
from nightshift.core.text.faults import name_first
from nightshift.core.text.formats import duration
from nightshift.queue import outbox, store
from nightshift.queue.outbox import Wish
from nightshift.queue.store import Transaction, Value
from nightshift.storage.db import spending
from nightshift.storage.db.codec import decode, encode
from nightshift.storage.db.sqlite import Connection
from nightshift.storage.db.state_store import read_draft

NO_COLUMNS: Mapping[str, Value] = MappingProxyType({})
_NO_OWNER: dict[str, Value] = {"worker": None, "lease_until": None, "cancel_requested": 0}
_FOR_LATER = frozenset({"not_before", "resume"})
_SUCCESS = frozenset({Ending.COMMITTED, Ending.NO_CHANGE})
_HAS_STEPS = "SELECT 1 FROM steps WHERE task_id = ? AND attempt = ? LIMIT 1"
_REPLACEABLE = frozenset({Status.QUEUED, Status.SCHEDULED, Status.BLOCKED})
_RETRIED = frozenset({Ending.ERROR, Ending.CRASHED, Ending.TIMEOUT})


def submit(tx: Transaction, spec: TaskSpec, *, stays: bool = False, instead_of: int | None = None) -> Submitted:
    """Store a new task, or find the earlier task with its key. With `stays`, the task is never given to a hub.

    `instead_of` is a task that the new task replaces if it has not begun; its dependants then wait for the new task.

    Raises:
        InvalidTask: a dependency does not exist or can no longer be met.
    """
    earlier_id = None if spec.key is None else store.id_of_key(tx.conn, spec.key)
    old = _read_replaced(tx, instead_of) if earlier_id in {None, instead_of} else None
    if earlier_id is not None and old is None:
        status, submitted = store.read(tx.conn, earlier_id).task.status, store.read_submitted(tx.conn, earlier_id)
        return Submitted(task_id=earlier_id, status=status, created=False, differs=_differing(submitted, spec))
    needed = store.statuses(tx.conn, spec.depends_on)
    if unknown := [str(other) for other in spec.depends_on if other not in needed]:
        raise InvalidTask({"depends_on": f"there is no task {name_first(unknown)}"})
    if fault := _unmet(needed):
        raise InvalidTask({"depends_on": fault})
    if old and (circle := store.waiting_for(tx.conn, old.id) & needed.keys()):
        fault = f"task {min(circle)} waits for task {old.id}, which this one would replace"
        raise InvalidTask({"depends_on": fault})
    if old:
        store.free_key(tx.conn, old.id)
    shared = not stays and tx.shares(spec) and outbox.may_be_shared(tx.conn, spec)
    status = Status.SHARED if shared else _first_status(needed, spec.not_before, tx.now)
    task_id = store.insert(tx.conn, spec, status, tx.now)
    if shared:
        outbox.note(tx, task_id, Wish.SUBMIT)
    data: dict[str, Any] = {"from": None, "to": status, "priority": spec.priority, "key": spec.key}
    tx.emitter.bind(task_id=task_id).emit(Kind.TASK_SUBMITTED, title(spec), **data)
    if old:
        store.hand_over_dependants(tx.conn, old.id, task_id)
        end(tx, old, Status.CANCELLED, Ending.USER, f"task {task_id} replaces it")
    return Submitted(task_id=task_id, status=status, created=True, replaces=old.id if old else None)


def _read_replaced(tx: Transaction, task_id: int | None) -> Task | None:
    """Return the task that a new task may replace; None if that task has begun, or if another node may have it."""
    entry = None if task_id is None else store.find_one(tx.conn, task_id)
    is_waiting = entry and not entry.task.attempt and entry.task.status in _REPLACEABLE
    return entry.task if entry and is_waiting else None


def submit_fork(tx: Transaction, spec: TaskSpec, fork: Fork, state: str) -> Submitted:
    """Store a fork, which begins at the attempt's state with the digest `state`."""
    sent = submit(tx, spec, stays=True)
    store.insert_fork(tx.conn, sent.task_id, fork, state)
    return sent


def move(
    tx: Transaction,
    task: Task,
    to: Status,
    columns: Mapping[str, Value] = NO_COLUMNS,
    *,
    kind: Kind = Kind.TASK_MOVED,
    ending: Ending | None = None,
    reason: str = "",
    level: Level = Level.INFO,
) -> Task:
    """Change a task's status and the given `columns`, if the row is unchanged; return the changed task.

    Raises:
        IllegalMove: the table of legal moves does not contain this change of status.
        StaleFence: the row has changed since it was read.
    """
    if not may_move(task.status, to):
        raise IllegalMove(f"task {task.id} is {task.status} and cannot become {to}")
    owner = _NO_OWNER if task.status is Status.RUNNING else {}
    ended_at = to_text(tx.now) if to in ENDED else None
    facts = {"status": to, "ending": ending, "reason": tx.clean(reason), "ended_at": ended_at}
    moved = store.update(tx.conn, task, {**owner, **columns, **facts})
    if moved is None:
        raise StaleFence
    if task.ended_at:
        store.keep_end(tx.conn, task, task.ended_at)
    _report_move(tx, task, moved, kind, level)
    return moved


def _report_move(tx: Transaction, before: Task, after: Task, kind: Kind, level: Level) -> None:
    by = f" ({after.worker})" if after.worker else ""
    why = f": {after.reason}" if after.reason else ""
    about = tx.emitter.bind(
        task_id=after.id,
        attempt=after.attempt or None,
        iteration=after.iterations or None,
        worker=after.worker or before.worker,
    )
    data = MoveData({"from": before.status, "to": after.status, "ending": after.ending, "reason": after.reason})
    about.emit(kind, f"{before.status} → {after.status}{by}{why}", level=level, **data)


# The following functions are actions of workers.


def claim(tx: Transaction, worker: str, lease: timedelta, only: int | None) -> Task | None:
    """Give the next queued task, or the task `only`, to a worker under a new fence; an interrupted attempt continues.

    A task whose specification cannot be read fails, and the next task is tried.
    """
    while (entry := store.next_ready(tx.conn, only)) is not None:
        task, new = entry.task, 0 if entry.resume else 1
        if entry.fault:
            end(tx, task, Status.FAILED, Ending.ERROR, entry.fault)
            continue
        columns: dict[str, Value] = {
            "worker": worker,
            "fence": task.fence + 1,
            "lease_until": to_text(tx.now + lease),
            "attempt": task.attempt + new,
            "tries": entry.tries + new,
            "resume": 0,
            "started_at": to_text(task.started_at or tx.now),
            "project": task.spec.project if new else task.project,  # the plan of a new attempt decides the project
        }
        return move(tx, task, Status.RUNNING, columns, kind=Kind.TASK_CLAIMED)
    return None


def progress(tx: Transaction, task_id: int, fence: int, facts: Mapping[str, Value]) -> None:
    """Store the progress of a running task, and reset its count of crashes.

    Raises:
        StaleFence: the task no longer belongs to this worker.
    """
    if store.update(tx.conn, store.read_owned(tx.conn, task_id, fence).task, {**facts, "crashes": 0}) is None:
        raise StaleFence


def finish(
    tx: Transaction,
    owned: tuple[int, int],
    ending: Ending,
    reason: str,
    facts: Mapping[str, Value],
    policy: RetryPolicy,
) -> Task:
    """End an attempt of a running task (`owned`: id and fence), and schedule the next attempt if any are left.

    Raises:
        StaleFence: the task no longer belongs to this worker.
    """
    entry = store.read_owned(tx.conn, *owned)
    task, allowed = entry.task, entry.task.spec.limits.attempts or policy.attempts
    if ending in _SUCCESS:
        return end(tx, task, Status.DONE, ending, reason, facts)
    if ending is Ending.USER:
        return end(tx, task, Status.CANCELLED, ending, reason, facts)
    if ending not in _RETRIED or entry.tries >= allowed:
        return end(tx, task, Status.FAILED, ending, reason, facts)
    rest_s = policy.rest_s(entry.tries)
    why = f"attempt {entry.tries} of {allowed}, next in {duration(rest_s)}: {reason or ending}"
    due = {"not_before": to_text(tx.now + timedelta(seconds=rest_s))}
    return leave(tx, task, Status.SCHEDULED, why, {**facts, **due}, level=Level.WARNING)


def put_back(tx: Transaction, owned: tuple[int, int], to: Status, reason: str, columns: Mapping[str, Value]) -> Task:
    """Take a running task from its worker; the next claim continues its attempt.

    Raises:
        StaleFence: the task no longer belongs to this worker.
    """
    task = store.read_owned(tx.conn, *owned).task
    return leave(tx, task, to, reason, {**columns, "resume": 1, **make_spent_column(tx, task)})


def leave(
    tx: Transaction,
    task: Task,
    to: Status,
    reason: str,
    columns: Mapping[str, Value],
    *,
    kind: Kind = Kind.TASK_MOVED,
    level: Level = Level.INFO,
) -> Task:
    """Take a running task from its worker to continue later, or end it if its owner has cancelled it meanwhile."""
    if task.cancel_requested:
        facts = {name: value for name, value in columns.items() if name not in _FOR_LATER}
        return end(tx, task, Status.CANCELLED, Ending.USER, "cancelled by the owner", facts)
    return move(tx, task, to, columns, kind=kind, reason=reason, level=level)


def make_spent_column(tx: Transaction, task: Task) -> dict[str, Value]:
    """Return a column with the task's use of models up to the last call.

    The value comes from the ledger, which also counts replies that led to no step.
    """
    spent = replace(spending.of_task(tx.conn, task.id), suite_s=task.spent.suite_s)
    return {"spent": store.write_spent(spent)}


# The following functions are requests of the owner.


def integrate(tx: Transaction, task_id: int, commit: str, reason: str) -> tuple[int, ...]:
    """Record that the owner integrated a task's commit, and cancel the other open forks of the same task.

    Returns the ids of those forks. A task that had failed or was cancelled is done now, because the commit on its
    branch is the result.
    """
    task = store.read(tx.conn, task_id).task
    if task.status is Status.DONE:
        store.update(tx.conn, task, {"commit_id": commit, "reason": tx.clean(reason)})
    else:
        move(tx, task, Status.DONE, {"commit_id": commit}, ending=Ending.COMMITTED, reason=reason)
    beside = [store.read(tx.conn, number).task for number in store.list_held_beside(tx.conn, task_id)]
    open_ones = [each.id for each in beside if each.status in OPEN]
    for number in open_ones:
        cancel(tx, number)
    return tuple(open_ones)


def cancel(tx: Transaction, task_id: int) -> Task:
    """Cancel a task at once, or request that from the worker that runs it.

    Raises:
        UnknownTask: there is no task with that id.
        IllegalMove: the task has ended.
    """
    task = store.read(tx.conn, task_id).task
    if task.status is Status.SHARED and task.hub_id is not None:
        outbox.note(tx, task_id, Wish.CANCEL)
        return _request_cancel(tx, task)
    if task.status is not Status.RUNNING:
        return end(tx, task, Status.CANCELLED, Ending.USER, "cancelled by the owner")
    return _request_cancel(tx, task)


def _request_cancel(tx: Transaction, task: Task) -> Task:
    """Ask the worker that runs a task to cancel it; a second request is harmless."""
    if task.cancel_requested:
        return task
    tx.emitter.bind(task_id=task.id, attempt=task.attempt, worker=task.worker).emit(Kind.TASK_CANCEL_REQUESTED)
    return store.update(tx.conn, task, {"cancel_requested": 1}) or task


def retry(tx: Transaction, task_id: int, amendment: Amendment = NOTHING, *, from_draft: bool = False) -> Task:
    """Queue an ended task again with its number of tries reset, a fresh budget, and the owner's amendment.

    A task scheduled for a later time is started now if there is no amendment. With `from_draft`, its attempts begin
    with the change in its draft.

    Raises:
        UnknownTask: there is no task with that id.
        IllegalMove: the task has not ended, depends on a failed task, or has no usable draft.
        InvalidTask: the amendment is not possible.
    """
    task, needed = store.read(tx.conn, task_id).task, store.dependencies(tx.conn, task_id)
    if task.status is Status.SCHEDULED and amendment == NOTHING and not from_draft:
        return move(tx, task, Status.QUEUED, {"not_before": None, "crashes": 0}, reason="started now by its owner")
    if task.status not in ENDED:
        raise IllegalMove(f"task {task_id} is {task.status}; only a task that ended or waits for a time can be retried")
    if fault := _unmet(needed):
        raise IllegalMove(f"{fault}; retry that one first")
    shared = tx.shares(task.spec) and outbox.may_be_shared(tx.conn, task.spec)
    status = Status.SHARED if shared else _first_status(needed, None, tx.now)
    before = store.write_spent(spending.of_task(tx.conn, task_id))
    anew: dict[str, Value] = {"tries": 0, "crashes": 0, "resume": 0, "not_before": None, "spent_before": before}
    anew["draft_attempt"] = _attempt_of_draft(tx, task, shared=shared) if from_draft else 0
    if amendment != NOTHING:
        store.amend(tx.conn, task_id, amend(task.spec, amendment))
        _tell_words(tx, task)
    if shared:
        outbox.note(tx, task_id, Wish.SUBMIT if task.hub_id is None else Wish.RETRY)
    return move(tx, task, status, anew, reason="retried by the owner")


def _attempt_of_draft(tx: Transaction, task: Task, *, shared: bool) -> int:
    """Return the attempt that left the task's draft; the next attempts begin with that attempt's last state."""
    draft = read_draft(tx.conn, task.id)
    if draft is None:
        raise IllegalMove(f"task {task.id} has no draft; retry it without --from-draft (`from_draft`)")
    if shared:
        raise IllegalMove(
            f"the hub may give task {task.id} to any node, and its draft is only on this one, on {draft.branch}"
        )
    if not tx.conn.execute(_HAS_STEPS, (task.id, draft.attempt)).fetchone():
        raise IllegalMove(
            f"the steps of attempt {draft.attempt} of task {task.id} were pruned, so no attempt can begin with its "
            f"draft; it stays on {draft.branch}"
        )
    return draft.attempt


def revise(tx: Transaction, task_id: int, spec: TaskSpec) -> Task:
    """Replace the specification of a task that has not begun; otherwise add the new description as a note.

    A description that the task already contains is not added again, and a task that is done is not changed. If another
    node works on the task meanwhile, the hub refuses the new specification, and the hub's specification is restored.

    Raises:
        UnknownTask: there is no task with that id.
        InvalidTask: the description and the note together are too long, or the hub has the task and could not assign a
            task with the new specification to other nodes.
    """
    task = store.read(tx.conn, task_id).task
    if task.status is Status.DONE:
        return task
    if not task.attempt:
        if task.hub_id is not None and not tx.shares(spec):
            raise InvalidTask({"description": "the hub has the task, and only this machine could do the changed one"})
        store.amend(tx.conn, task_id, replace(spec, key=task.spec.key, depends_on=task.spec.depends_on))
        _tell_words(tx, task)
        return prioritise(tx, task_id, spec.priority)
    if spec.description not in task.spec.description:
        store.amend(tx.conn, task_id, amend(task.spec, Amendment(note=spec.description)))
        _tell_words(tx, task)
    return store.read(tx.conn, task_id).task


def _tell_words(tx: Transaction, task: Task) -> None:
    """Send the new specification to the hub, if the hub has the task."""
    if task.hub_id is not None:
        outbox.note(tx, task.id, Wish.REVISE)


def withdraw(tx: Transaction, task_id: int, reason: str) -> Task:
    """Cancel a task that has not begun, and return any other task unchanged.

    Raises:
        UnknownTask: there is no task with that id.
    """
    task = store.read(tx.conn, task_id).task
    waits = not task.attempt and task.status not in ENDED
    if waits and task.status is Status.SHARED and task.hub_id is not None:
        outbox.note(tx, task_id, Wish.WITHDRAW)
        return task
    return end(tx, task, Status.CANCELLED, Ending.USER, reason) if waits else task


def prioritise(tx: Transaction, task_id: int, priority: int) -> Task:
    """Change the priority of a task.

    Raises:
        UnknownTask: there is no task with that id.
        IllegalMove: the task is done.
    """
    task = store.read(tx.conn, task_id).task
    before = task.spec.priority
    if task.status is Status.DONE:
        raise IllegalMove(f"task {task_id} is done; its priority has no effect any more")
    if before == priority:
        return task
    if task.hub_id is not None and task.status not in ENDED:
        outbox.note(tx, task_id, Wish.PRIORITISE, priority)
    about, text = tx.emitter.bind(task_id=task_id), f"priority {before} → {priority}"
    about.emit(Kind.TASK_PRIORITISED, text, priority=priority, before=before)
    return store.update(tx.conn, task, {"priority": priority}) or task


# The following functions apply the effects that the end of a task has on other tasks.


def end(
    tx: Transaction,
    task: Task,
    to: Status,
    ending: Ending,
    reason: str,
    columns: Mapping[str, Value] = NO_COLUMNS,
) -> Task:
    """End a task. If it is done, its dependants may begin; otherwise its dependants fail.

    Unless the task is done, its open subtasks end too. If the task is the last open subtask of a parent, the parent
    continues.
    """
    level = Level.INFO if to is Status.DONE else Level.WARNING
    ended = move(tx, task, to, columns, ending=ending, reason=reason, level=level)
    outbox.forget(tx, task.id)
    _spread(tx, ended)
    return ended


def _spread(tx: Transaction, ended: Task) -> None:
    """Change all tasks that the end of a task affects.

    This does not recurse, because a chain of dependants may be longer than Python's stack.
    """
    waiting = deque([ended])
    while waiting:
        cause = waiting.popleft()
        if cause.status is Status.DONE:
            _unblock(tx, cause)
        else:
            waiting += _fail_dependants(tx, cause)
            waiting += _end_parts(tx, cause)
        waiting += _resume_whole(tx, cause)


def _unblock(tx: Transaction, done: Task) -> None:
    for waiting in store.list_blocked_by(tx.conn, done.id):
        needed = store.dependencies(tx.conn, waiting.task.id)
        status = _first_status(needed, waiting.task.not_before, tx.now)
        if status is not Status.BLOCKED:
            move(tx, waiting.task, status, reason="all that it depends on is done")


def _fail_dependants(tx: Transaction, cause: Task) -> list[Task]:
    became = "was cancelled" if cause.status is Status.CANCELLED else "failed"
    reason = f"task {cause.id}, on which it depends, {became} ({title(cause.spec)})"
    return [_fail_by_dependency(tx, entry.task, reason) for entry in store.list_blocked_by(tx.conn, cause.id)]


def _fail_by_dependency(tx: Transaction, task: Task, reason: str) -> Task:
    return move(tx, task, Status.FAILED, ending=Ending.DEPENDENCY, reason=reason, level=Level.WARNING)


def _end_parts(tx: Transaction, parent: Task) -> list[Task]:
    """Cancel the subtasks of a task that was not done at its end; running subtasks are asked to end."""
    ended = list[Task]()
    reason = f"task {parent.id}, of which it is a part, has ended"
    for part in (entry.task for entry in store.subtasks(tx.conn, parent.id, parent.attempt)):
        if part.status is Status.RUNNING:
            _request_cancel(tx, part)
        elif part.status in OPEN:
            ended.append(move(tx, part, Status.CANCELLED, ending=Ending.USER, reason=reason))
    return ended


def _resume_whole(tx: Transaction, part: Task) -> list[Task]:
    """Let the parent continue if its last open subtask has ended; return the parent if it has ended too."""
    if (parent_key := whole_of(part.spec.key)) is None or (entry := store.find_one(tx.conn, parent_key[0])) is None:
        return []
    parent = entry.task
    if parent.status is not Status.BLOCKED or not entry.resume:
        return []  # the parent does not wait for subtasks
    resumed = _with_parts(tx, parent)
    return [resumed] if resumed.status in ENDED else []


# The following functions split a task into subtasks.


def split(tx: Transaction, owned: tuple[int, int], reason: str, subtasks: Sequence[SubtaskSpec]) -> Task:
    """Submit the subtasks of a running task (`owned`: id and fence), and let the task wait for the open subtasks.

    A task that its owner has cancelled meanwhile ends without subtasks. If the daemon dies before this transaction, the
    next daemon finds the plan in the attempt's state and carries it out again. If it dies after the transaction, the
    next daemon finds the subtasks by their keys.

    Raises:
        StaleFence: the task no longer belongs to this worker.
    """
    blocked = put_back(tx, owned, Status.BLOCKED, reason, NO_COLUMNS)
    if blocked.status is not Status.BLOCKED:
        return blocked
    ids = list[int]()
    for number, part in enumerate(subtasks, 1):
        key, needs = part_key(blocked.id, blocked.attempt, number), tuple(ids[at] for at in part.after)
        ids.append(submit(tx, replace(part.spec, key=key, depends_on=needs)).task_id)
    resumed = _with_parts(tx, blocked)
    if resumed.status in ENDED:
        _spread(tx, resumed)
    return resumed


def _with_parts(tx: Transaction, parent: Task) -> Task:
    """Update a split task and return it.

    It is queued if all subtasks have ended, ended if one was cancelled, and otherwise still blocked.
    """
    subtasks = [entry.task for entry in store.subtasks(tx.conn, parent.id, parent.attempt)]
    if gone := next((part for part in subtasks if part.status is Status.CANCELLED), None):
        reason = f"task {gone.id}, a part of it, was cancelled ({title(gone.spec)})"
        return _fail_by_dependency(tx, parent, reason)
    if any(part.status in OPEN for part in subtasks):
        return parent
    failed = sum(part.status is Status.FAILED for part in subtasks)
    reason = f"{failed} of its {len(subtasks)} parts failed" if failed else "all of its parts are done"
    return move(tx, parent, Status.QUEUED, reason=reason)


def sum_spent_on_subtasks(conn: Connection, task_id: int) -> Spent:
    """Sum the model use of a task's subtasks since the owner last requested the task."""
    entry = store.read(conn, task_id)
    before = entry.task.attempt - entry.tries
    subtasks = (part.task for part in store.subtasks(conn, task_id))
    counted = [part.id for part in subtasks if (whole_of(part.spec.key) or (0, 0))[1] > before]
    return sum((spending.of_task(conn, part) for part in counted), Spent())


def title(spec: TaskSpec) -> str:
    """Return the first line of a description, shortened for a list."""
    line = spec.description.split("\n", 1)[0]
    return line if len(line) <= 100 else line[:99] + "…"


def settle_status(tx: Transaction, task: Task, reason: str) -> Task:
    """Give a task of this node the status that its dependencies and its start time require.

    A task with the status SHARED gets the status QUEUED before that.
    """
    if task.status is Status.SHARED:
        task = move(tx, task, Status.QUEUED, reason=reason)
    status = _first_status(store.dependencies(tx.conn, task.id), task.spec.not_before, tx.now)
    due: dict[str, Value] = {"not_before": to_text(task.spec.not_before) if task.spec.not_before else None}
    return task if status is Status.QUEUED else move(tx, task, status, due, reason=reason)


def _first_status(needed: Mapping[int, Status], not_before: datetime | None, now: datetime) -> Status:
    """Return the status of a new or unblocked task, given the statuses of its dependencies."""
    if any(status is not Status.DONE for status in needed.values()):
        return Status.BLOCKED
    return Status.SCHEDULED if not_before and not_before > now else Status.QUEUED


def _unmet(needed: Mapping[int, Status]) -> str:
    """Return a sentence about the dependencies that can no longer be done; empty if there are none."""
    ended = [f"{other} ({status})" for other, status in needed.items() if status in ENDED - {Status.DONE}]
    return f"depends on what did not succeed: task {name_first(ended)}" if ended else ""


def _differing(stored: TaskSpec, sent: TaskSpec) -> tuple[str, ...]:
    """Return the names of the fields in which two specifications differ, compared as they are stored."""
    sent = decode(TaskSpec, encode(sent))
    names = (field.name for field in fields(TaskSpec))
    return tuple(name for name in names if getattr(stored, name) != getattr(sent, name))
