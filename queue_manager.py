"""The only writer of tasks: submit, claim, move, park, cancel, recover.

A claim hands out a lease and a fence. Whoever holds them renews the lease by heartbeats and shows the fence with every
write; a task whose lease ran out goes to somebody else under a higher fence, and what the first one still sends is
refused. Every change of status is one guarded update and its event in one transaction (`db.task_moves`), and the
database itself refuses a move that `core.states.MOVES` does not have. Writing methods return a future that resolves
when the change is on the disk: threads call `.result()`, coroutines await `asyncio.wrap_future` of it. An accepted
write cannot be withdrawn, so a coroutine that is cancelled while it waits for a claim may own a task: shield it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from datetime import datetime, timedelta

from core.clock import Clock, to_text, utc_now
from core.errors import StaleFence
from core.events import Event, Kind, Level
from core.gates import Approval, Ask
from core.queueing import BY_OWNER, Heartbeat, HoldSource, PauseState, RetryPolicy, Submitted
from core.states import Ending, Status
from core.subtasks import Part
from core.tasks import Spent, Task, TaskSpec
from db import holds, spending, task_parts
from db import task_rows as rows
from db.database import Database
from db.event_log import EventLog
from db.holds import Holds
from db.sqlite import Connection
from db.task_asks import TaskAsks
from db.task_moves import TaskMoves
from db.task_queries import TaskQueries
from db.task_rows import Value
from db.task_times import TaskTimes
from db.task_wishes import TaskWishes

__all__ = ["Heartbeat", "PauseState", "QueueManager", "RetryPolicy", "Submitted"]

GOOD = frozenset({Ending.COMMITTED, Ending.NO_CHANGE})
RETRIED = frozenset({Ending.ERROR, Ending.CRASHED, Ending.TIMEOUT})


class QueueManager(TaskQueries):
    """The queue.

    Args:
        db: where the tasks are kept.
        events: gets an event for each move, in the move's transaction.
        clock: the time, for leases and due times.
        retry: how often and when failed attempts are tried again; may be changed, as `policy`.
        lease_s: how long a claim or heartbeat holds, in seconds.
        max_crashes: a task that was running at so many deaths of its daemon without progress in between is failed.
    """

    def __init__(
        self,
        db: Database,
        events: EventLog,
        *,
        clock: Clock = utc_now,
        retry: RetryPolicy | None = None,
        lease_s: float = 60.0,
        max_crashes: int = 3,
    ) -> None:
        super().__init__(db)
        self._events, self._clock = events, clock
        self.policy = retry or RetryPolicy()
        self._lease = timedelta(seconds=lease_s)
        self._holds, self._moves = Holds(events, clock), TaskMoves(events, clock)
        self._times = TaskTimes(clock, self._moves, self._lease, max_crashes)
        self._asks, self._wishes = TaskAsks(events, clock, self._moves), TaskWishes(events, clock, self._moves)

    def submit(self, spec: TaskSpec) -> Future[Submitted]:
        """Store a task. A key that was seen before gives the task it made then, whatever became of it.

        The future fails with `InvalidTask` when a dependency does not exist or cannot be met any more.
        """
        return self._db.write(lambda conn: self._moves.admit(conn, spec, "depends_on"))

    def submit_many(self, specs: Sequence[TaskSpec]) -> Future[list[Submitted]]:
        """Store several tasks, all or none; `InvalidTask` names the fault as `<position>.depends_on`."""
        return self._db.write(
            lambda conn: [self._moves.admit(conn, spec, f"{number}.depends_on") for number, spec in enumerate(specs)]
        )

    def claim(self, worker: str, *, only: int | None = None) -> Future[Task | None]:
        """Hand the next task to a worker: highest priority first, then the oldest. None when there is none, or paused.

        A task that was interrupted goes on with its attempt, any other begins a new one. `only` asks for one task by
        its id, paused or not.
        """
        return self._db.write_patiently(lambda conn: self._claim(conn, worker, only))

    def _claim(self, conn: Connection, worker: str, only: int | None) -> Task | None:
        if only is None and holds.stand(conn):
            return None
        while (entry := rows.next_ready(conn, only)) is not None:
            if not entry.fault:
                return self._moves.claim(conn, entry, worker, self._lease)
            self._moves.end(conn, entry.task, Status.FAILED, Ending.ERROR, entry.fault)
        return None

    def heartbeat(self, owned: Sequence[tuple[int, int]]) -> Future[Heartbeat]:
        """Renew the leases of (task id, fence) pairs."""
        return self._db.write(lambda conn: self._times.renew(conn, owned))

    def progress(self, task_id: int, fence: int, *, iterations: int, spent: Spent) -> Future[None]:
        """Note how far a running task is; `spent` is the task's total. Earlier crashes are forgiven: it gets ahead."""

        def job(conn: Connection) -> None:
            facts = _facts(iterations=iterations, spent=spent)
            if rows.update(conn, rows.owned(conn, task_id, fence).task, {**facts, "crashes": 0}) is None:
                raise StaleFence

        return self._db.write_patiently(job)

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
        return self._db.write_patiently(lambda conn: self._finish(conn, task_id, fence, ending, reason, facts))

    def _finish(
        self, conn: Connection, task_id: int, fence: int, ending: Ending, reason: str, facts: dict[str, Value]
    ) -> Task:
        entry = rows.owned(conn, task_id, fence)
        task, allowed = entry.task, entry.task.spec.limits.attempts or self.policy.attempts
        if ending in GOOD:
            return self._moves.end(conn, task, Status.DONE, ending, reason, facts)
        if ending is Ending.USER:
            return self._moves.end(conn, task, Status.CANCELLED, ending, reason, facts)
        if ending not in RETRIED or entry.tries >= allowed:
            return self._moves.end(conn, task, Status.FAILED, ending, reason, facts)
        rest_s = self.policy.rest_s(entry.tries)
        why = f"attempt {entry.tries} of {allowed}, next in {rest_s:.0f} s: {reason or ending}"
        due = {"not_before": to_text(self._clock() + timedelta(seconds=rest_s))}
        return self._moves.leave(conn, task, Status.SCHEDULED, why, {**facts, **due}, level=Level.WARNING)

    def requeue(self, task_id: int, fence: int, reason: str) -> Future[Task]:
        """Give a running task back, for instance at shutdown; its attempt goes on with the next claim."""
        return self._leave(task_id, fence, Status.QUEUED, reason, {"resume": 1})

    def park(self, task_id: int, fence: int, reason: str, until: datetime | None) -> Future[Task]:
        """Put a running task off until a time (None: until `models_back`); its attempt goes on then."""
        columns: dict[str, Value] = {"resume": 1, "not_before": to_text(until) if until else None}
        return self._leave(task_id, fence, Status.SCHEDULED, reason, columns)

    def _leave(self, task_id: int, fence: int, to: Status, reason: str, columns: dict[str, Value]) -> Future[Task]:
        def job(conn: Connection) -> Task:
            task = rows.owned(conn, task_id, fence).task
            return self._moves.leave(conn, task, to, reason, {**columns, **spending.by_now(conn, task)})

        return self._db.write_patiently(job)

    def hold(self, task_id: int, fence: int, message: str, asks: Sequence[Ask] = ()) -> Future[Task]:
        """Let a running task wait for its owner's decisions; without `asks` the message is a question (`release`).

        What the owner has decided on is not asked again; a task that has nothing else to ask goes back to the queue.
        """

        def job(conn: Connection) -> Task:
            task = rows.owned(conn, task_id, fence).task
            return self._asks.hold(conn, task, message, asks, spending.by_now(conn, task))

        return self._db.write_patiently(job)

    def split(self, task_id: int, fence: int, reason: str, parts: Sequence[Part]) -> Future[Task]:
        """Submit the parts of a running task, those that are not there yet, and let it wait for them.

        Its attempt goes on when all of them have ended; it ends with `dependency` when one is cancelled.
        """
        return self._db.write_patiently(lambda c: task_parts.split(c, self._moves, (task_id, fence), reason, parts))

    def assume(self, asked_before: datetime) -> Future[int]:
        """Answer questions that nobody has answered since then with their defaults; returns how many."""
        return self._db.write(lambda conn: self._asks.assume(conn, asked_before))

    def decide(self, approval_id: int, granted: bool, answer: str = "") -> Future[Approval]:
        """Answer one ask; with the last open one its task goes back to the queue and on with its attempt.

        The future fails with `UnknownApproval`, or with `IllegalMove` when it was decided or its task has ended.
        """
        return self._db.write(lambda conn: self._asks.decide(conn, approval_id, granted, answer))

    def answer(self, approval_id: int, text: str) -> Future[Approval]:
        """Answer a question, as `decide`; fails with `IllegalMove` where the ask is a decision."""
        return self._db.write(lambda conn: self._asks.answer(conn, approval_id, text))

    def cancel(self, task_id: int) -> Future[Task]:
        """Cancel a task at once, or ask the worker that runs it to. Fails with `UnknownTask` or `IllegalMove`."""
        return self._db.write(lambda conn: self._wishes.cancel(conn, task_id))

    def retry(self, task_id: int) -> Future[Task]:
        """Queue a failed or cancelled task again, with all its tries and a fresh budget.

        What it used before stays in all totals. What failed because of it stays failed. The future fails with
        `UnknownTask`, or with `IllegalMove` when it has not ended or depends on what failed.
        """
        return self._db.write(lambda conn: self._wishes.retry(conn, task_id))

    def prioritise(self, task_id: int, priority: int) -> Future[Task]:
        """Let a task be claimed sooner (higher) or later; one that runs goes on, and is claimed so if it comes back.

        The future fails with `UnknownTask`, or with `IllegalMove` when the task is done.
        """
        return self._db.write(lambda conn: self._wishes.prioritise(conn, task_id, priority))

    def recover(self) -> Future[list[Task]]:
        """Give back what a dead daemon left running. Only under the single-instance lock, before any claim."""
        return self._db.write(self._times.recover)

    def sweep(self, owned: Sequence[tuple[int, int]] = ()) -> Future[list[Task]]:
        """Give back tasks whose lease is over; `owned` (id, fence) pairs are renewed: a suspend makes all look old."""
        return self._db.write(lambda conn: self._times.sweep(conn, owned))

    def clock_jumped(self, by: timedelta, also: Callable[[Connection, int], None]) -> Future[None]:
        """Make good that the clock jumped: renew all leases; after a jump back let nothing rest longer for it.

        Times that owners set stand as they are. `also` is told how many tasks are due sooner, in the same transaction.
        """
        return self._db.write(lambda conn: also(conn, self._times.jumped(conn, by)))

    def tick(self) -> Future[int]:
        """Queue scheduled tasks that are due, at most 500 at once; returns how many. Costs a read when none is."""
        due = self.next_due()
        if due is None or due > self._clock():
            nothing: Future[int] = Future()
            nothing.set_result(0)
            return nothing
        return self._db.write_patiently(self._times.promote)

    def unpark(self) -> Future[int]:
        """Queue all tasks that were parked, also those with a time: after new settings it may not hold any more."""
        return self._db.write_patiently(self._times.unpark)

    def models_back(self) -> Future[int]:
        """Queue the tasks that were parked until a backend comes up; returns how many."""
        return self._db.write_patiently(self._times.models_back)

    def hold_back(self, source: HoldSource, reason: str) -> Future[PauseState]:
        """Hold back all claims, also over a restart; what runs goes on. Doing so again only renews the reason."""
        return self._db.write(lambda conn: self._holds.put(conn, source, reason))

    def let_go(self, source: HoldSource) -> Future[PauseState]:
        """Take away what one source holds; claims go on when no other holds them back."""
        return self._db.write(lambda conn: self._holds.take(conn, (source,)))

    def pause(self, reason: str = "") -> Future[PauseState]:
        """Hold back all claims for the owner, until `resume`."""
        return self.hold_back(HoldSource.OWNER, reason)

    def resume(self) -> Future[PauseState]:
        """Let go of the owner's own pause and of a checkpoint; what else holds claims back stands, and is returned."""
        return self._db.write(lambda conn: self._holds.take(conn, BY_OWNER))

    def on_wake(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback` after commits that give workers or the ticker something to do; returns what ends that.

        It is called on the writer's thread: let it do no more than wake a loop.
        """
        return self._events.subscribe(lambda events: callback() if any(map(_wakes, events)) else None)


def _wakes(event: Event) -> bool:
    if event.kind in {Kind.RESUMED, Kind.LET_GO, Kind.TASK_CANCEL_REQUESTED}:
        return True
    return event.data.get("to") in {Status.QUEUED, Status.SCHEDULED}


def _facts(*, spent: Spent | None, **columns: Value) -> dict[str, Value]:
    """The columns that were given a value."""
    columns["spent"] = rows.spent_text(spent) if spent else None
    return {name: value for name, value in columns.items() if value is not None}
