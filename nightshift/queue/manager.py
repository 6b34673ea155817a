"""The only writer of tasks: submit, claim, move, park, cancel, recover.

A claim hands out a lease and a fence. Whoever holds them renews the lease by heartbeats and shows the fence with every
write; a task whose lease ran out goes to somebody else under a higher fence, and what the first one still sends is
refused. Every change of status is one guarded update and its event in one transaction (`queue.transitions`), and
the database itself refuses a move that `core.tasks.states.MOVES` does not have. Writing methods return a future that
resolves when the change is on the disk: threads call `.result()`, coroutines await `asyncio.wrap_future` of it. An
accepted write cannot be withdrawn, so a coroutine that is cancelled while it waits for a claim may own a task: shield
it.
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
from nightshift.core.tasks.amending import NOTHING, Amendment
from nightshift.core.tasks.change_checks import Approval, Ask
from nightshift.core.tasks.forking import Fork
from nightshift.core.tasks.language_choice import choose_language
from nightshift.core.tasks.messages import OwnerMessage
from nightshift.core.tasks.queueing import BY_OWNER, Heartbeat, PauseSource, PauseState, RetryPolicy, Submitted
from nightshift.core.tasks.states import Ending, Status
from nightshift.core.tasks.subtasks import Family, SubtaskSpec, whole_of
from nightshift.core.tasks.task import Language, Spent, Task, TaskSpec
from nightshift.core.text.masking import Masker
from nightshift.queue import approvals, leases, listing, messages, pauses, store, transitions
from nightshift.queue.listing import Listed, Order, Place, TaskFilter
from nightshift.queue.store import Journal, Store, Transaction, Value
from nightshift.storage.db.sqlite import Connection

__all__ = ["Heartbeat", "PauseState", "QueueManager", "RetryPolicy", "Submitted"]

T = TypeVar("T")


class QueueManager:
    """The queue; thread-safe.

    Args:
        db: where the tasks are kept.
        events: gets an event for each move, in the move's transaction.
        clock: the time, for leases and due times.
        mask: takes secrets out of reasons, questions and answers.
        retry: how often and when failed attempts are tried again; may be changed, as `policy`.
        check_new: raises InvalidTask for a new task that could only fail here; may be changed.
        shares: whether a hub gives turns to a new task; set where this node belongs to one.
        choose_language: the language of a new task whose owner does not say it; set where repositories can be read.
        lease_s: how long a claim or heartbeat holds, in seconds.
        max_crashes: a task that was running at so many deaths of its daemon without progress in between is failed.
    """

    def __init__(
        self,
        db: Store,
        events: Journal,
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
        """Return the context of a change inside a transaction of the database that holds the queue."""
        return Transaction(conn=conn, events=self._events, mask=self._mask, now=self._clock(), shares=self.shares)

    def apply(self, change: Callable[[Transaction], T]) -> Future[T]:
        """Make a change of `queue.shared` or `queue.outbox`; it waits where the database takes no writes."""
        return self._write_retrying(change)

    def read(self, query: Callable[[Connection], T]) -> T:
        """Run a reading function of this package and return its result."""
        return query(self._db.reader())

    def _write(self, change: Callable[[Transaction], T]) -> Future[T]:
        return self._db.write(lambda conn: change(self.transaction(conn)))

    def _write_retrying(self, change: Callable[[Transaction], T]) -> Future[T]:
        """Write as `_write`, for a worker: the write waits where the database takes no writes for now."""
        return self._db.write_retrying(lambda conn: change(self.transaction(conn)))

    # Submitting

    def submit(self, spec: TaskSpec, *, instead_of: int | None = None) -> Future[Submitted]:
        """Store a task. A key that was seen before gives the task it made then, whatever became of it.

        `check_new` looks at a new one first, on the caller's thread. The future fails with `InvalidTask` when that
        refuses it, and when a dependency does not exist or cannot be met any more. `instead_of` is a task that ends for
        this one, unless it has begun; it may have the same key.
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

    def submit_many(self, specs: Sequence[TaskSpec]) -> Future[list[Submitted]]:
        """Store several tasks, all or none; `InvalidTask` names the fault as `<position>.depends_on`."""
        return self._write(
            lambda tx: [transitions.submit(tx, spec, f"{number}.depends_on") for number, spec in enumerate(specs)]
        )

    def submit_forks(self, forks: Sequence[tuple[TaskSpec, Fork]], state: str) -> Future[list[Submitted]]:
        """Store several forks of one step, all or none.

        Raises:
            InvalidTask: one is refused before it is stored.
        """
        for spec, _ in forks:
            self.check_new(spec)
        return self._write(lambda tx: [transitions.submit_fork(tx, spec, fork, state) for spec, fork in forks])

    # Working

    def claim(self, worker: str, *, only: int | None = None) -> Future[Task | None]:
        """Hand the next task to a worker: highest priority first, then the oldest. None when there is none, or paused.

        A task that was interrupted goes on with its attempt, any other begins a new one. `only` asks for one task by
        its id, paused or not.
        """

        def change(tx: Transaction) -> Task | None:
            if only is None and pauses.active(tx.conn):
                return None
            return transitions.claim(tx, worker, self._lease, only)

        return self._write_retrying(change)

    def heartbeat(self, owned: Sequence[tuple[int, int]]) -> Future[Heartbeat]:
        """Renew the leases of (task id, fence) pairs."""
        return self._write(lambda tx: leases.renew(tx, owned, self._lease))

    def progress(
        self, task_id: int, fence: int, *, iterations: int, spent: Spent, project: str | None = None
    ) -> Future[None]:
        """Note how far a running task is, and where it works; `spent` is the task's total.

        Earlier crashes are forgiven: it gets ahead.
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
        """End an attempt. What can be mended by trying again is scheduled for another one while tries are left.

        The future fails with `StaleFence` when the task is no longer this worker's. None leaves a value as it is.
        """
        facts = _facts(commit_id=commit, branch=branch, iterations=iterations, spent=spent)
        return self._write_retrying(
            lambda tx: transitions.finish(tx, (task_id, fence), ending, reason, facts, self.policy)
        )

    def requeue(self, task_id: int, fence: int, reason: str) -> Future[Task]:
        """Give a running task back, for instance at shutdown; its attempt goes on with the next claim."""
        return self._write_retrying(lambda tx: transitions.put_back(tx, (task_id, fence), Status.QUEUED, reason, {}))

    def park(self, task_id: int, fence: int, reason: str, until: datetime | None) -> Future[Task]:
        """Put a running task off until a time, or `models_back` at the latest without one; its attempt goes on then."""
        due: dict[str, Value] = {"not_before": to_text(until) if until else None}
        return self._write_retrying(
            lambda tx: transitions.put_back(tx, (task_id, fence), Status.SCHEDULED, reason, due)
        )

    def split(self, task_id: int, fence: int, reason: str, subtasks: Sequence[SubtaskSpec]) -> Future[Task]:
        """Submit the subtasks of a running task, those that are not there yet, and let it wait for them.

        Its attempt goes on when all of them have ended; it ends with `dependency` when one is cancelled.
        """
        return self._write_retrying(lambda tx: transitions.split(tx, (task_id, fence), reason, subtasks))

    def wait_for_owner(self, task_id: int, fence: int, message: str, asks: Sequence[Ask] = ()) -> Future[Task]:
        """Let a running task wait for its owner's decisions; without `asks` the message is a question.

        What the owner has decided on is not asked again; a task that has nothing else to ask goes back to the queue.
        """
        return self._write_retrying(lambda tx: approvals.wait(tx, (task_id, fence), message, asks))

    # What the owner does

    def decide(self, approval_id: int, granted: bool, answer: str = "") -> Future[Approval]:
        """Answer one ask; with the last open one its task goes back to the queue and on with its attempt.

        The future fails with `UnknownApproval`, or with `IllegalMove` when it was decided or its task has ended.
        """
        return self._write(lambda tx: approvals.decide(tx, approval_id, granted, answer))

    def answer(self, approval_id: int, text: str) -> Future[Approval]:
        """Answer a question, as `decide`; fails with `IllegalMove` where the ask is a decision."""
        return self._write(lambda tx: approvals.answer(tx, approval_id, text))

    def assume(self, asked_before: datetime) -> Future[int]:
        """Answer questions that nobody has answered since then with their defaults; returns how many."""
        return self._write(lambda tx: approvals.assume(tx, asked_before))

    def integrate(self, conn: Connection, task_id: int, commit: str, reason: str) -> tuple[int, ...]:
        """Note, within a transaction, that the owner integrated a task's commit; gives the forks that ended for it."""
        return transitions.integrate(self.transaction(conn), task_id, commit, reason)

    def list_held_beside(self, task_id: int) -> list[int]:
        """The other held forks of the task that a held fork came from."""
        return store.list_held_beside(self._db.reader(), task_id)

    def cancel(self, task_id: int) -> Future[Task]:
        """Cancel a task at once, or ask the worker that runs it to. Fails with `UnknownTask` or `IllegalMove`."""
        return self._write(lambda tx: transitions.cancel(tx, task_id))

    def retry(self, task_id: int, amendment: Amendment = NOTHING, *, from_draft: bool = False) -> Future[Task]:
        """Queue a failed or cancelled task again, with all its tries, a fresh budget, and what its owner adds to it.

        One that waits for a time, whatever for, goes on now instead, as far as it is.
        What it used before stays in all totals. What failed because of it stays failed. With `from_draft` it begins
        with the change of its draft. The future fails with `UnknownTask`, with `IllegalMove` when it is open,
        depends on what failed or has no such draft, or with `InvalidTask` when it cannot take what is added.
        """
        return self._write(lambda tx: transitions.retry(tx, task_id, amendment, from_draft=from_draft))

    def revise(self, task_id: int, spec: TaskSpec) -> Future[Task]:
        """Let a task be another one as long as it has not begun; later the new words become a note to the old ones.

        One that is done stays as it is. Key and dependencies stay. The future fails with `UnknownTask`, or with
        `InvalidTask` where the new one could only fail here, or words and note are too long together.
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
        """Cancel a task that has not begun; any other is left as it is, and returned so. Fails with `UnknownTask`."""
        return self._write(lambda tx: transitions.withdraw(tx, task_id, reason))

    def prioritise(self, task_id: int, priority: int) -> Future[Task]:
        """Let a task be claimed sooner (higher) or later; one that runs goes on, and is claimed so if it comes back.

        The future fails with `UnknownTask`, or with `IllegalMove` when the task is done.
        """
        return self._write(lambda tx: transitions.prioritise(tx, task_id, priority))

    def say(self, task_id: int, text: str, *, interrupts: bool = True) -> Future[OwnerMessage]:
        """Say something to a task that is open; it stands in all requests to models from the next one on.

        With `interrupts` a request that is under way is not waited for. The future fails with `UnknownTask`, with
        `IllegalMove` when the task has ended, or with `InvalidTask` when the text cannot be taken.
        """
        return self._write(lambda tx: messages.add(tx, task_id, text, interrupts=interrupts))

    # Time, crashes and models

    def recover(self) -> Future[list[Task]]:
        """Give back what a dead daemon left running. Only under the single-instance lock, before any claim."""
        return self._write(lambda tx: leases.recover(tx, self._max_crashes))

    def sweep(self, owned: Sequence[tuple[int, int]] = ()) -> Future[list[Task]]:
        """Give back tasks whose lease is over; `owned` (id, fence) pairs are renewed: a suspend makes all look old."""

        def change(tx: Transaction) -> list[Task]:
            leases.renew(tx, owned, self._lease)
            return leases.sweep(tx, self._max_crashes)

        return self._write(change)

    def clock_jumped(self, by: timedelta, also: Callable[[Connection, int], None]) -> Future[None]:
        """Make good that the clock jumped: renew all leases; after a jump back let nothing rest longer for it.

        Times that owners set stand as they are. `also` is called in the same transaction with its connection and the
        number of tasks that are due sooner.
        """
        return self._write(lambda tx: also(tx.conn, leases.shift(tx, by, self._lease)))

    def tick(self) -> Future[int]:
        """Queue scheduled tasks that are due, at most 500 at once; returns how many. Costs a read when none is."""
        due = self.next_due()
        if due is None or due > self._clock():
            nothing: Future[int] = Future()
            nothing.set_result(0)
            return nothing
        return self._write_retrying(leases.promote)

    def unpark(self) -> Future[int]:
        """Queue all tasks that were parked, also those with a time: after new settings it may not hold any more."""
        return self._write_retrying(leases.unpark)

    def release(self, reason: str) -> Future[int]:
        """Queue the tasks that are put off for this very reason; returns how many."""
        return self._write_retrying(lambda tx: leases.release(tx, reason))

    def models_back(self) -> Future[int]:
        """Queue what may go on now that a backend has come up, whatever time it waits for; returns how many."""
        return self._write_retrying(leases.models_back)

    # Pauses

    def add_pause(self, source: PauseSource, reason: str) -> Future[PauseState]:
        """Let no task begin, also after a restart; what runs goes on. Doing so again only renews the reason."""
        return self._write(lambda tx: pauses.add(tx, source, reason))

    def remove_pause(self, source: PauseSource) -> Future[PauseState]:
        """Take away the reason of one source; claims go on when no other pauses them."""
        return self._write(lambda tx: pauses.remove(tx, (source,)))

    def pause(self, reason: str = "") -> Future[PauseState]:
        """Let no task begin for the owner, until `resume`."""
        return self.add_pause(PauseSource.OWNER, reason)

    def resume(self) -> Future[PauseState]:
        """Take away the owner's own pause and a checkpoint's; what else pauses claims stands, and is returned."""
        return self._write(lambda tx: pauses.remove(tx, BY_OWNER))

    def pause_state(self) -> PauseState:
        """Read the pauses of claims."""
        return pauses.read(self._db.reader())

    # Reading, on any thread

    def get(self, task_id: int) -> Task:
        """Read a task.

        Raises:
            UnknownTask: there is none with that id.
        """
        return store.read(self._db.reader(), task_id).task

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
        return store.find(self._db.reader(), status, limit, after, text)

    def counts(self) -> dict[Status, int]:
        """Count the tasks of each status."""
        return store.counts(self._db.reader())

    def list_tasks(self, wanted: TaskFilter, order: Order, limit: int, after: Place | None = None) -> Listed:
        """List the next tasks of a sorted list, and their number in all; `get` reads the tasks."""
        return listing.read_page(self._db.reader(), wanted, order, limit, after)

    def statuses(self, ids: Iterable[int]) -> dict[int, Status]:
        """The status of each of these tasks that exists."""
        return store.statuses(self._db.reader(), ids)

    def keys(self, ids: Sequence[int]) -> dict[str, int]:
        """The tasks among these that have a key, by it."""
        return store.keys(self._db.reader(), ids)

    def standings(self, ids: Iterable[int]) -> dict[int, store.Standing]:
        """Read the standing of each of these tasks that exists."""
        return store.standings(self._db.reader(), ids)

    def waits_for(self, task_id: int) -> list[int]:
        """The tasks that this one depends on and that are not done yet."""
        statuses = store.dependencies(self._db.reader(), task_id)
        return sorted(each for each, status in statuses.items() if status is not Status.DONE)

    def answers(self, task_id: int) -> list[tuple[str, str | None]]:
        """List the task's questions to its owner, each with the answer (None: not yet), oldest first."""
        asked = self.approvals(open_only=False, task_id=task_id)
        return [(each.ask.question, None if each.granted is None else each.answer) for each in asked]

    def list_messages(self, task_id: int) -> tuple[OwnerMessage, ...]:
        """List the owner's messages to a task, oldest first."""
        return messages.of_task(self._db.reader(), task_id)

    def approvals(self, *, open_only: bool = True, task_id: int | None = None, limit: int = 500) -> list[Approval]:
        """List questions to the owner, oldest first.

        Args:
            open_only: only what a waiting task waits for.
            task_id: only what this task asked.
            limit: how many at most; the newest ones.
        """
        return approvals.find(self._db.reader(), open_only, task_id, limit)

    def repository_decisions(self, task_id: int) -> dict[str | None, dict[str, bool]]:
        """Read the owner's decisions on packages and environments for each project of the task's repository.

        The key None is a repository without projects.
        The values are subject to whether he granted it; `core.tasks.change_checks.holding` says what holds where.
        """
        return approvals.of_repository(self._db.reader(), task_id)

    def decision(self, subject: str) -> bool | None:
        """Read the owner's last decision on a subject, for whichever task; None where there is none."""
        return approvals.latest(self._db.reader(), subject)

    def decisions(self, limit: int, before: int | None = None) -> list[Approval]:
        """List answered questions, newest question first; `before` is the last id of a page."""
        return approvals.decisions(self._db.reader(), before, limit)

    def subtasks(self, task_id: int, attempt: int) -> list[Task]:
        """List the subtasks that an attempt of a task was split into, oldest first."""
        return [entry.task for entry in store.subtasks(self._db.reader(), task_id, attempt)]

    def family(self, task: Task) -> Family:
        """Read the task that a task is a subtask of, and its own subtasks."""
        conn, parent = self._db.reader(), whole_of(task.spec.key)
        return Family(
            parent_id=parent and parent[0], subtasks=tuple(entry.task for entry in store.subtasks(conn, task.id))
        )

    def sum_spent_on_subtasks(self, task_id: int) -> Spent:
        """Sum the use of models by the subtasks of a task since its owner last asked for it."""
        return transitions.sum_spent_on_subtasks(self._db.reader(), task_id)

    def next_due(self) -> datetime | None:
        """Return when the next scheduled task falls due; tasks that wait for a model have no such time."""
        return store.next_due(self._db.reader())

    def on_wake(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback` after commits that give workers or the ticker something to do; returns what ends that.

        It is called on the writer's thread: let it do no more than wake a loop.
        """
        return self._events.subscribe(lambda events: callback() if any(map(_wakes, events)) else None)


def _wakes(event: Event) -> bool:
    if event.kind in {Kind.RESUMED, Kind.LET_GO, Kind.TASK_CANCEL_REQUESTED, Kind.OWNER_SAID}:
        return True
    return event.data.get("to") in {Status.QUEUED, Status.SCHEDULED, Status.SHARED}


def _facts(*, spent: Spent | None, **columns: Value) -> dict[str, Value]:
    """The columns that were given a value."""
    columns["spent"] = store.write_spent(spent) if spent else None
    return {name: value for name, value in columns.items() if value is not None}
