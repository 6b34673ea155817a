"""The only writer of tasks: submits, claims, moves, parks, cancels and recovers them.

A claim gives a worker a lease and a fence (fencing token). The worker renews the lease by heartbeats and presents the
fence with every write. A task whose lease has expired is given to another worker under a higher fence, and later writes
of the first worker are refused. Every change of status is one guarded update and its event in one transaction
(`queue.transitions`), and the database itself refuses a change that is not in `core.tasks.states.MOVES`. Writing
methods return a future that resolves when the change is on the disk. Threads call `.result()`; coroutines await
`asyncio.wrap_future` of the future. An accepted write cannot be withdrawn. So a coroutine that is cancelled while it
waits for a claim may own a task, and should shield the wait.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TypeVar

from nightshift.core.clock import Clock, to_text, utc_now
from nightshift.core.errors import InvalidTask
from nightshift.core.events import Event, Kind
from nightshift.core.tasks.change_checks import Approval, Ask
from nightshift.core.tasks.forking import NOTHING, Amendment, Fork
from nightshift.core.tasks.language_choice import choose_language
from nightshift.core.tasks.queueing import BY_OWNER, Heartbeat, PauseSource, PauseState, RetryPolicy, Submitted
from nightshift.core.tasks.states import Ending, Status
from nightshift.core.tasks.task import Family, Language, OwnerMessage, Spent, SubtaskSpec, Task, TaskSpec, whole_of
from nightshift.core.text.masking import Masker
from nightshift.queue import approvals, leases, listing, messages, pauses, store, transitions
from nightshift.queue.listing import Listed, Order, Place, TaskFilter
from nightshift.queue.store import Transaction, Value
from nightshift.storage.db.database import Database
from nightshift.storage.db.event_log import EventLog
from nightshift.storage.db.sqlite import Connection

__all__ = ["Heartbeat", "PauseState", "QueueManager", "RetryPolicy", "Submitted"]

T = TypeVar("T")


class QueueManager:
    """The queue of tasks; thread-safe.

    Args:
        db: stores the tasks.
        events: receives an event for each change of status, in the same transaction.
        clock: gives the time, for leases and due times.
        mask: masks secrets in reasons, questions and answers.
        retry: says how often and when failed attempts are tried again; stored in the attribute `policy`, which may be
            changed.
        check_new: raises InvalidTask for a new task that is bound to fail here; the attribute may be changed.
        lease_s: seconds for which a claim or a heartbeat keeps the task for the worker.
        max_crashes: the number of crashes after which a task fails. Only crashes of the daemon while it ran the task
            count, and progress of the task resets the count.

    Attributes:
        shares: returns whether a hub schedules a new task; set if this node belongs to a hub.
        choose_language: returns the language of a new task that names none; set if repositories can be read.
    """

    def __init__(
        self,
        db: Database,
        events: EventLog,
        *,
        clock: Clock = utc_now,
        mask: Masker | None = None,
        retry: RetryPolicy | None = None,
        check_new: Callable[[TaskSpec], None] = lambda _: None,
        lease_s: float = 60.0,
        max_crashes: int = 3,
    ) -> None:
        self._db, self._events, self._clock = db, events, clock
        self._mask = mask or Masker()
        self.policy, self.check_new = retry or RetryPolicy(), check_new
        self._lease, self._max_crashes = timedelta(seconds=lease_s), max_crashes
        self.shares: Callable[[TaskSpec], bool] = lambda _spec: False
        self.choose_language: Callable[[TaskSpec], Language] = choose_language

    def transaction(self, conn: Connection) -> Transaction:
        """Return the context for a change of the queue inside a transaction of its database."""
        return Transaction(conn=conn, events=self._events, mask=self._mask, now=self._clock(), shares=self.shares)

    def apply(self, change: Callable[[Transaction], T]) -> Future[T]:
        """Apply a change that `queue.shared` or `queue.outbox` defines.

        The change waits while the database cannot be written.
        """
        return self._write_retrying(change)

    def read(self, query: Callable[[Connection], T]) -> T:
        """Run a reading function of this package on this thread's connection, and return its result."""
        return query(self._db.reader())

    def _write(self, change: Callable[[Transaction], T]) -> Future[T]:
        return self._db.write(lambda conn: change(self.transaction(conn)))

    def _write_retrying(self, change: Callable[[Transaction], T]) -> Future[T]:
        """Write like `_write`, but wait while the database cannot be written; used for the writes of workers."""
        return self._db.write_retrying(lambda conn: change(self.transaction(conn)))

    # The following methods submit tasks.

    def submit(self, spec: TaskSpec, *, instead_of: int | None = None) -> Future[Submitted]:
        """Store a task. If the key was used before, the earlier task is returned instead, whatever its status is.

        `check_new` checks a new task first, on the caller's thread. The future fails with `InvalidTask` if the check
        refuses the task, or if a dependency does not exist or can no longer be met. `instead_of` is a task that the new
        task replaces unless it has begun; both may have the same key.
        """
        spec = self._complete(spec)
        refused = self._refuse(spec, is_new=instead_of is not None)
        return refused or self._write(lambda tx: transitions.submit(tx, spec, instead_of=instead_of))

    def _complete(self, spec: TaskSpec) -> TaskSpec:
        return replace(spec, language=self.choose_language(spec)) if spec.language is Language.AUTO else spec

    def _refuse(self, spec: TaskSpec, *, is_new: bool = False) -> Future[Submitted] | None:
        if not is_new and spec.key is not None and store.id_of_key(self._db.reader(), spec.key) is not None:
            return None
        try:
            self.check_new(spec)
        except InvalidTask as error:
            refused: Future[Submitted] = Future()
            refused.set_exception(error)
            return refused
        return None

    def submit_forks(self, forks: Sequence[tuple[TaskSpec, Fork]], state: str) -> Future[list[Submitted]]:
        """Store several forks of one step, or none if one is refused.

        Raises:
            InvalidTask: a fork is refused; nothing was stored.
        """
        for spec, _ in forks:
            self.check_new(spec)
        return self._write(lambda tx: [transitions.submit_fork(tx, spec, fork, state) for spec, fork in forks])

    # The following methods are for workers.

    def claim(self, worker: str, *, only: int | None = None) -> Future[Task | None]:
        """Give the next task to a worker: the one with the highest priority, or the oldest of several.

        The future's result is None if there is no task, or if claims are paused. An interrupted task continues its
        attempt; any other task begins a new attempt. `only` requests one task by its id, even if claims are paused.
        """

        def change(tx: Transaction) -> Task | None:
            if only is None and pauses.active(tx.conn):
                return None
            return transitions.claim(tx, worker, self._lease, only)

        return self._write_retrying(change)

    def heartbeat(self, owned: Sequence[tuple[int, int]]) -> Future[Heartbeat]:
        """Renew the leases of tasks, given as pairs of task id and fence."""
        return self._write(lambda tx: leases.renew(tx, owned, self._lease))

    def progress(
        self, task_id: int, fence: int, *, iterations: int, spent: Spent, project: str | None = None
    ) -> Future[None]:
        """Store the progress of a running task, and its project; `spent` is the task's total.

        Earlier crashes no longer count, because the task makes progress.
        """
        facts = _facts(iterations=iterations, spent=spent, project=project)
        return self._write_retrying(lambda tx: transitions.progress(tx, task_id, fence, facts))

    def finish(
        self,
        task_id: int,
        fence: int,
        ending: Ending,
        *,
        reason: str = "",
        commit: str | None = None,
        branch: str | None = None,
        iterations: int | None = None,
        spent: Spent | None = None,
    ) -> Future[Task]:
        """End an attempt. If another attempt may help and the task has attempts left, schedule the next one.

        The future fails with `StaleFence` if the task no longer belongs to this worker. A value of None leaves the
        stored value unchanged.
        """
        facts = _facts(commit_id=commit, branch=branch, iterations=iterations, spent=spent)
        return self._write_retrying(
            lambda tx: transitions.finish(tx, (task_id, fence), ending, reason, facts, self.policy)
        )

    def requeue(self, task_id: int, fence: int, reason: str) -> Future[Task]:
        """Return a running task to the queue, for instance at shutdown; the next claim continues its attempt."""
        return self._write_retrying(lambda tx: transitions.put_back(tx, (task_id, fence), Status.QUEUED, reason, {}))

    def park(self, task_id: int, fence: int, reason: str, until: datetime | None) -> Future[Task]:
        """Postpone a running task until a time, or until a model is available (`models_back`) if the time is None.

        The attempt continues after that.
        """
        due: dict[str, Value] = {"not_before": to_text(until) if until else None}
        return self._write_retrying(
            lambda tx: transitions.put_back(tx, (task_id, fence), Status.SCHEDULED, reason, due)
        )

    def split(self, task_id: int, fence: int, reason: str, subtasks: Sequence[SubtaskSpec]) -> Future[Task]:
        """Submit the subtasks of a running task that do not exist yet, and let the task wait for all of them.

        The task's attempt continues when all subtasks have ended. If one of them is cancelled, the task ends with
        `dependency`.
        """
        return self._write_retrying(lambda tx: transitions.split(tx, (task_id, fence), reason, subtasks))

    def wait_for_owner(self, task_id: int, fence: int, message: str, asks: Sequence[Ask] = ()) -> Future[Task]:
        """Let a running task wait for its owner's decisions; without `asks`, the message itself is the question.

        Asks that the owner has already decided are not asked again. If all of them are decided, the task goes back to
        the queue.
        """
        return self._write_retrying(lambda tx: approvals.wait(tx, (task_id, fence), message, asks))

    # The following methods are actions of the owner.

    def decide(self, approval_id: int, granted: bool, answer: str = "") -> Future[Approval]:
        """Decide on one ask; if this was its last open ask, the task goes back to the queue and continues its attempt.

        The future fails with `UnknownApproval`, or with `IllegalMove` if the ask was decided before or its task has
        ended.
        """
        return self._write(lambda tx: approvals.decide(tx, approval_id, granted, answer))

    def answer(self, approval_id: int, text: str) -> Future[Approval]:
        """Answer a question, like `decide`.

        The future fails with `IllegalMove` if the ask requests a decision instead.
        """
        return self._write(lambda tx: approvals.answer(tx, approval_id, text))

    def assume(self, asked_before: datetime) -> Future[int]:
        """Answer the questions from before a time, each with its default; return how many were answered."""
        return self._write(lambda tx: approvals.assume(tx, asked_before))

    def integrate(self, conn: Connection, task_id: int, commit: str, reason: str) -> tuple[int, ...]:
        """Record, within a transaction, that the owner integrated a task's commit.

        Returns the forks that were ended by this.
        """
        return transitions.integrate(self.transaction(conn), task_id, commit, reason)

    def list_held_beside(self, task_id: int) -> list[int]:
        """List the other held forks of the task that this held fork came from."""
        return store.list_held_beside(self._db.reader(), task_id)

    def cancel(self, task_id: int) -> Future[Task]:
        """Cancel a task at once, or request that from the worker that runs it.

        Fails with `UnknownTask` or `IllegalMove`.
        """
        return self._write(lambda tx: transitions.cancel(tx, task_id))

    def retry(self, task_id: int, amendment: Amendment = NOTHING, *, from_draft: bool = False) -> Future[Task]:
        """Queue a failed or cancelled task again, with all its attempts, a new budget, and the owner's amendment.

        A task that waits for a time continues now instead, from its current state. Earlier use stays in all totals.
        Other tasks that failed because of this task stay failed. With `from_draft`, the task begins with the change of
        its draft. The future fails with `UnknownTask`, with `IllegalMove` if the task is open, depends on a failed task
        or has no draft to begin with, or with `InvalidTask` if the amendment is not possible.
        """
        return self._write(lambda tx: transitions.retry(tx, task_id, amendment, from_draft=from_draft))

    def revise(self, task_id: int, spec: TaskSpec) -> Future[Task]:
        """Replace a task's specification if the task has not begun; otherwise add the new description as a note.

        A task that is done is not changed. The key and the dependencies stay unchanged. The future fails with
        `UnknownTask`, or with `InvalidTask` if the new task could only fail here, or if the description and the note
        together are too long.
        """
        spec = self._complete(spec)
        try:
            self.check_new(spec)
        except InvalidTask as error:
            refused: Future[Task] = Future()
            refused.set_exception(error)
            return refused
        return self._write(lambda tx: transitions.revise(tx, task_id, spec))

    def withdraw(self, task_id: int, reason: str) -> Future[Task]:
        """Cancel a task that has not begun; return any other task unchanged. Fails with `UnknownTask`."""
        return self._write(lambda tx: transitions.withdraw(tx, task_id, reason))

    def prioritise(self, task_id: int, priority: int) -> Future[Task]:
        """Change a task's priority; a task with a higher priority is claimed sooner.

        If the task is running, the new priority only matters if the task is claimed again. The future fails with
        `UnknownTask`, or with `IllegalMove` if the task is done.
        """
        return self._write(lambda tx: transitions.prioritise(tx, task_id, priority))

    def say(self, task_id: int, text: str, *, interrupts: bool = True) -> Future[OwnerMessage]:
        """Add an owner's message to an open task; all later requests to models contain it.

        With `interrupts`, a request in progress is interrupted. The future fails with `UnknownTask`, with `IllegalMove`
        if the task has ended, or with `InvalidTask` if the text is not accepted.
        """
        return self._write(lambda tx: messages.add(tx, task_id, text, interrupts=interrupts))

    # The following methods react to time, crashes and models.

    def recover(self) -> Future[list[Task]]:
        """Return the running tasks of a dead daemon to the queue.

        Call this only while holding the instance lock, and before any claim.
        """
        return self._write(lambda tx: leases.recover(tx, self._max_crashes))

    def sweep(self, owned: Sequence[tuple[int, int]] = ()) -> Future[list[Task]]:
        """Return tasks with expired leases to the queue.

        The leases of the (id, fence) pairs in `owned` are renewed first, because all leases look expired after the
        machine was suspended.
        """

        def change(tx: Transaction) -> list[Task]:
            leases.renew(tx, owned, self._lease)
            return leases.sweep(tx, self._max_crashes)

        return self._write(change)

    def clock_jumped(self, by: timedelta, also: Callable[[Connection, int], None]) -> Future[None]:
        """Correct leases and due times after the clock jumped.

        All leases are renewed. After a jump back, scheduled tasks become due sooner. Times that owners set stay
        unchanged. `also` is called in the same transaction, with its connection and the number of tasks that are due
        sooner.
        """
        return self._write(lambda tx: also(tx.conn, leases.shift(tx, by, self._lease)))

    def tick(self) -> Future[int]:
        """Queue scheduled tasks that are due, at most 500 at once; return how many were queued.

        If no task is due, this costs only one read.
        """
        due = self.next_due()
        if due is None or due > self._clock():
            nothing: Future[int] = Future()
            nothing.set_result(0)
            return nothing
        return self._write_retrying(leases.promote)

    def unpark(self) -> Future[int]:
        """Queue all parked tasks, including those that wait for a time.

        New settings may have removed the reason for which they wait.
        """
        return self._write_retrying(leases.unpark)

    def release(self, reason: str) -> Future[int]:
        """Queue the tasks that were postponed for exactly this reason; return how many were queued."""
        return self._write_retrying(lambda tx: leases.release(tx, reason))

    def models_back(self) -> Future[int]:
        """Queue the tasks that can continue because a backend is available again, even if they wait for a later time.

        Returns how many were queued.
        """
        return self._write_retrying(leases.models_back)

    # The following methods add, remove and read pauses.

    def add_pause(self, source: PauseSource, reason: str) -> Future[PauseState]:
        """Let no task begin, even after a restart; running tasks continue.

        A second call for the same source only changes the reason.
        """
        return self._write(lambda tx: pauses.add(tx, source, reason))

    def remove_pause(self, source: PauseSource) -> Future[PauseState]:
        """Remove the pause of one source; claims continue if there is no other pause."""
        return self._write(lambda tx: pauses.remove(tx, (source,)))

    def pause(self, reason: str = "") -> Future[PauseState]:
        """Let no task begin until `resume`, at the owner's request."""
        return self.add_pause(PauseSource.OWNER, reason)

    def resume(self) -> Future[PauseState]:
        """Remove the owner's own pause and the pause of a checkpoint; return the pauses that remain."""
        return self._write(lambda tx: pauses.remove(tx, BY_OWNER))

    def pause_state(self) -> PauseState:
        """Return the current pauses."""
        return pauses.read(self._db.reader())

    # The following methods only read, and may be called on any thread.

    def get(self, task_id: int) -> Task:
        """Read a task.

        Raises:
            UnknownTask: there is no task with that id.
        """
        return store.read(self._db.reader(), task_id).task

    def find(
        self, status: Status | None = None, limit: int = 50, after: int | None = None, text: str | None = None
    ) -> list[Task]:
        """List tasks, newest first.

        Args:
            status: only tasks with this status.
            limit: the maximum number of tasks.
            after: the last id of the previous page; the list continues with older tasks.
            text: only tasks whose description contains this text, ignoring case.
        """
        return store.find(self._db.reader(), status, limit, after, text)

    def counts(self) -> dict[Status, int]:
        """Count the tasks of each status."""
        return store.counts(self._db.reader())

    def list_tasks(self, wanted: TaskFilter, order: Order, limit: int, after: Place | None = None) -> Listed:
        """List the next tasks of a sorted list, with the number of all matching tasks; `get` reads the tasks."""
        return listing.read_page(self._db.reader(), wanted, order, limit, after)

    def statuses(self, ids: Iterable[int]) -> dict[int, Status]:
        """Map the ids of the given tasks to their statuses, for those tasks that exist."""
        return store.statuses(self._db.reader(), ids)

    def keys(self, ids: Sequence[int]) -> dict[str, int]:
        """Map keys to task ids, for those of the given tasks that have a key."""
        return store.keys(self._db.reader(), ids)

    def standings(self, ids: Iterable[int]) -> dict[int, store.Standing]:
        """Map the ids of the given tasks to their states, for those tasks that exist."""
        return store.standings(self._db.reader(), ids)

    def waits_for(self, task_id: int) -> list[int]:
        """List the tasks that the task depends on and that are not done yet."""
        statuses = store.dependencies(self._db.reader(), task_id)
        return sorted(each for each, status in statuses.items() if status is not Status.DONE)

    def list_messages(self, task_id: int) -> tuple[OwnerMessage, ...]:
        """List the owner's messages to a task, oldest first."""
        return messages.of_task(self._db.reader(), task_id)

    def approvals(self, *, open_only: bool = True, task_id: int | None = None, limit: int = 500) -> list[Approval]:
        """List approvals, oldest first.

        Args:
            open_only: only approvals that a waiting task waits for.
            task_id: only approvals of this task.
            limit: the maximum number of approvals; if there are more, the newest are listed.
        """
        return approvals.find(self._db.reader(), open_only, task_id, limit)

    def repository_decisions(self, task_id: int) -> dict[str | None, dict[str, bool]]:
        """Read the owner's decisions on packages and environments for each project of the task's repository.

        The key None stands for a repository without projects. The value of each project maps a subject to True if the
        owner granted it; `core.tasks.change_checks.holding` decides which of these decisions apply.
        """
        return approvals.of_repository(self._db.reader(), task_id)

    def decision(self, subject: str) -> bool | None:
        """Read the owner's latest decision on a subject, for any task; None if there is no decision."""
        return approvals.latest(self._db.reader(), subject)

    def decisions(self, limit: int, before: int | None = None) -> list[Approval]:
        """List decided approvals, newest first; `before` is the last id of the previous page."""
        return approvals.decisions(self._db.reader(), before, limit)

    def subtasks(self, task_id: int, attempt: int) -> list[Task]:
        """List the subtasks that an attempt of a task was split into, oldest first."""
        return [entry.task for entry in store.subtasks(self._db.reader(), task_id, attempt)]

    def family(self, task: Task) -> Family:
        """Read a task's parent and its subtasks."""
        conn, parent = self._db.reader(), whole_of(task.spec.key)
        return Family(
            parent_id=parent and parent[0], subtasks=tuple(entry.task for entry in store.subtasks(conn, task.id))
        )

    def sum_spent_on_subtasks(self, task_id: int) -> Spent:
        """Sum the model use of a task's subtasks since the owner last requested the task."""
        return transitions.sum_spent_on_subtasks(self._db.reader(), task_id)

    def next_due(self) -> datetime | None:
        """Return when the next scheduled task is due; None if there is none.

        Tasks that only wait for a model are ignored.
        """
        return store.next_due(self._db.reader())

    def on_wake(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback` after commits that give workers or the ticker something to do.

        The returned function ends these calls. `callback` runs on the writer's thread, so it must do no more than wake
        an event loop.
        """
        return self._events.subscribe(lambda events: callback() if any(map(_wakes, events)) else None)


def _wakes(event: Event) -> bool:
    if event.kind in {Kind.RESUMED, Kind.LET_GO, Kind.TASK_CANCEL_REQUESTED, Kind.OWNER_SAID}:
        return True
    return event.data.get("to") in {Status.QUEUED, Status.SCHEDULED, Status.SHARED}


def _facts(*, spent: Spent | None, **columns: Value) -> dict[str, Value]:
    """Return the columns that have a value other than None."""
    columns["spent"] = store.write_spent(spent) if spent else None
    return {name: value for name, value in columns.items() if value is not None}
