"""The worker pool: claims tasks, runs each attempt to its end, and reports the ending to the queue.

Everything runs on the main thread's event loop. Each idle worker waits for its own event. New work is announced by
`wake` (from other threads through `loop.call_soon_threadsafe`), so an idle pool costs next to nothing. One side task
renews the leases of running tasks and learns which tasks were cancelled. Another notices due tasks and the writes of
other processes. If a side task dies, the pool ends with its error: a daemon that looks alive but no longer works is
worse than one that stops.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import time
import traceback
from collections.abc import Callable
from dataclasses import replace

from nightshift.attempt.attempt import Attempt, AttemptResult
from nightshift.attempt.services import AttemptServices
from nightshift.attempt.trouble import Troubles, find_trouble
from nightshift.attempt.workers import Running, Worker, wait
from nightshift.core.errors import (
    CancelledByUser,
    Interruption,
    LeaseLost,
    ModelRefused,
    NeedsApproval,
    NeedsSettings,
    NightshiftError,
    Parked,
    ShuttingDown,
    Split,
    StaleFence,
    StoreDamaged,
    StoreUnready,
    UnknownWorker,
    WorkerRestarted,
)
from nightshift.core.events import Emitter, ErrorData, Kind, Level
from nightshift.core.status import Restart, WorkerStatus
from nightshift.core.tasks.queueing import WAITING_FOR
from nightshift.core.tasks.states import ENDED, Ending, Status
from nightshift.core.tasks.task import Task

TICK_S = 1.0
"""Seconds between checks for due tasks and for the writes of other processes."""


class TaskExecutor:
    """A pool of workers on one event loop.

    Args:
        services: the services of an attempt.
        workers: the number of tasks that run at once.
        lease_s: seconds that a claim lasts; it is renewed after a third of that.
        only: id of the only task to run, after which the pool ends; None for all tasks.
    """

    def __init__(self, services: AttemptServices, *, workers: int, lease_s: float, only: int | None = None) -> None:
        self.services, self.lease_s, self._only = services, lease_s, only
        self.renewed_at = time.monotonic()
        self._beat = asyncio.Event()
        self._stopping = False
        self._group: asyncio.TaskGroup | None = None
        self._serving: set[asyncio.Task[None]] = set()
        self._workers: list[Worker] = []
        self._troubles = Troubles()
        self.resize(workers)

    def wake(self) -> None:
        """Wake all workers, because a task may be claimed or was cancelled. Must be called on the loop's own thread."""
        self._beat.set()
        for worker in self._workers:
            worker.woken.set()

    def wake_from(self, loop: asyncio.AbstractEventLoop) -> Callable[[], None]:
        """Return a function with which other threads can wake this pool; `loop` is the pool's event loop."""

        def wake() -> None:
            loop.call_soon_threadsafe(self.wake)

        return wake

    def statuses(self) -> tuple[WorkerStatus, ...]:
        """List each worker's current work. A worker that is leaving is listed while it still has a task."""
        return tuple(worker.seen for worker in self._workers if worker.running or not worker.leaving)

    @property
    def busy(self) -> bool:
        """True if any worker has a task."""
        return any(worker.running for worker in self._workers)

    def overdue(self, now: float) -> tuple[str, ...]:
        """Return the names of workers whose attempts should have ended long ago; `now` is monotonic."""
        return tuple(w.status.name for w in tuple(self._workers) if w.running and w.running.is_overdue(now))

    def resize(self, count: int) -> None:
        """Change the number of workers.

        New workers begin at once. Surplus workers leave when their tasks end. Idle workers leave first, and otherwise
        the newest.
        """
        for worker in self._workers:
            worker.leaving = False
        spare = len(self._workers) - count
        for worker in sorted(self._workers, key=lambda w: w.running is None)[count:]:
            worker.leaving = True
            worker.woken.set()
        taken = {worker.status.name for worker in self._workers}
        names = (name for n in itertools.count(1) if (name := f"worker-{n}") not in taken)
        for name in itertools.islice(names, max(0, -spare)):
            self._workers.append(worker := Worker(WorkerStatus(name=name)))
            self._start(worker)

    async def restart(self, name: str) -> Restart:
        """Restart a worker: its task is interrupted, returned to the queue, and claimed again.

        Returns as soon as the task is back in the queue.

        Raises:
            UnknownWorker: there is no worker of that name.
        """
        by_name = {worker.status.name: worker for worker in self._workers}
        if name not in by_name:
            raise UnknownWorker(name, tuple(by_name))
        self._report_restart(by_name[name])
        return await by_name[name].restart()

    def _report_restart(self, worker: Worker) -> None:
        status = worker.status
        rest = (
            "it was idle" if status.task_id is None else f"task {status.task_id} resumes after its last finished step"
        )
        events = Emitter(self.services.events.emit).bind(
            task_id=status.task_id, attempt=status.attempt or None, worker=status.name
        )
        events.emit(Kind.WORKER_RESTARTED, f"{status.name} was restarted by the owner: {rest}")

    def _start(self, worker: Worker) -> None:
        if self._group is not None:
            task = self._group.create_task(self._serve_forever(worker))
            self._serving.add(task)
            task.add_done_callback(self._serving.discard)

    async def run(self) -> None:
        """Serve until `stop` was called and every worker has ended or returned its task."""
        self.renewed_at = time.monotonic()
        async with asyncio.TaskGroup() as group:
            self._group = group
            side = [group.create_task(self._renew_leases()), group.create_task(self._watch_the_clock())]
            for worker in self._workers:
                self._start(worker)
            while self._serving:
                await asyncio.wait(self._serving, return_when=asyncio.FIRST_COMPLETED)
            self._group = None
            for task in side:
                task.cancel()

    async def stop(self, drain_s: float) -> None:
        """Claim nothing more; give running tasks `drain_s` seconds to end, then return them to the queue."""
        self._stopping = True
        self.services.db.hurry()
        self.wake()
        jobs = [worker.running.job for worker in self._workers if worker.running]
        if jobs and drain_s > 0:
            await asyncio.wait(jobs, timeout=drain_s)
        for worker in self._workers:
            if worker.running:
                worker.running.interrupt(ShuttingDown())

    # Serving tasks.

    async def _serve_forever(self, worker: Worker) -> None:
        while not (self._stopping or worker.leaving):
            worker.woken.clear()
            try:
                again, worker.again = worker.again, None
                task = await worker.claim(self.services.queue.claim(worker.status.name, only=self._only or again))
            except (StoreUnready, StoreDamaged):  # A busy database only delays a claim; this error is worse.
                self._stopping = True
                break
            if task is None:
                if again is None:  # otherwise the task to resume is taken or has ended: claim any other at once
                    await worker.woken.wait()
            elif self._stopping:
                await asyncio.wrap_future(self.services.queue.requeue(task.id, task.fence, str(ShuttingDown())))
            else:
                await self._serve(worker, task)
            self._stopping |= self._only_one_ended()
        if worker.leaving:
            self._workers.remove(worker)

    def _only_one_ended(self) -> bool:
        return self._only is not None and self.services.queue.get(self._only).status in {*ENDED, Status.WAITING}

    async def _serve(self, worker: Worker, task: Task) -> None:
        worker.status = replace(
            worker.status,
            task_id=task.id,
            attempt=task.attempt,
            description=task.spec.description[:200],
            since=self.services.clock(),
        )
        attempt = Attempt(task, self.services, worker.status.name)
        worker.running = Running(attempt, asyncio.create_task(attempt.run()))
        try:
            await self._conclude(task, worker.running)
        except StaleFence as stale:
            attempt.events.emit(Kind.WORKER_ERROR, str(stale), level=Level.WARNING)
        except (StoreUnready, StoreDamaged) as trouble:
            text = f"its end could not be stored, the next start continues it: {trouble}"
            attempt.events.emit(Kind.WORKER_ERROR, text, level=Level.WARNING)
        finally:
            worker.running.put_down.set()
            worker.running = None
            worker.status = self._count_ended(worker.status, task.id)
            await self._release(task.id)

    async def _release(self, task_id: int) -> None:
        """Release the tasks that wait while this task checks for a trouble, unless this task itself still waits."""
        if self.services.queue.get(task_id).reason.startswith(WAITING_FOR):
            return
        for why in self._troubles.leave(task_id):
            await asyncio.wrap_future(self.services.queue.release(f"{WAITING_FOR}{why}"))

    def _count_ended(self, was: WorkerStatus, task_id: int) -> WorkerStatus:
        """Return the worker's status after a task; the task is counted if it was done or failed."""
        end = self.services.queue.get(task_id).status
        return WorkerStatus(
            name=was.name, done=was.done + (end is Status.DONE), failed=was.failed + (end is Status.FAILED)
        )

    async def _conclude(self, task: Task, running: Running) -> None:
        """Wait for the attempt, and update the task according to its ending."""
        events = running.attempt.events
        try:
            result = await running.job
        except asyncio.CancelledError:
            if running.why is None:
                raise
            await self._conclude_interrupted(task, running)
        except LeaseLost as lost:
            events.emit(Kind.WORKER_ERROR, str(lost), level=Level.WARNING)
        except (Parked, NeedsApproval, Split, StoreUnready) as later:
            if self._only is not None and isinstance(later, NeedsSettings):  # a one-task pool cannot wait for settings
                await self._finish_with_draft(running.attempt, running.attempt.ended(later.ending, str(later)))
            else:
                await self._put_off(task, later)
        except (Interruption, ModelRefused) as end:
            ending = end.ending if isinstance(end, Interruption) else Ending.REFUSED
            await self._finish_with_draft(running.attempt, running.attempt.ended(ending or Ending.ERROR, str(end)))
        except (StaleFence, StoreDamaged):
            raise
        except Exception as error:  # noqa: BLE001 - whatever a part throws ends this task, not the worker
            await self._fail_or_wait(running.attempt, error)
        else:
            await self._finish_with_draft(running.attempt, result)

    async def _fail_or_wait(self, attempt: Attempt, error: Exception) -> None:
        """End an attempt with an error; if the cause is outside the task and may pass, let the task wait instead."""
        repository_path = self.services.git.place_of(attempt.task.spec.repo)
        exchanged = "" if isinstance(error, NightshiftError) else self.services.exchanged()
        if not (why := exchanged or await asyncio.to_thread(find_trouble, error, repository_path)):
            await self._finish(attempt.task, attempt.ended(Ending.ERROR, _report(attempt.events, error)))
            return
        until, is_new = self._troubles.enter(attempt.task.id, why, self.services.clock())
        if is_new:
            attempt.events.emit(Kind.WAITING, f"{WAITING_FOR}{why}", level=Level.WARNING)
        await asyncio.wrap_future(
            self.services.queue.park(attempt.task.id, attempt.task.fence, f"{WAITING_FOR}{why}", until)
        )

    async def _put_off(self, task: Task, later: Parked | NeedsApproval | Split | StoreUnready) -> None:
        """Let the task wait. If the database is in trouble, requeue the task, which then continues at its last step."""
        queue, why = self.services.queue, (task.id, task.fence, str(later))
        match later:
            case NeedsApproval():
                await asyncio.wrap_future(queue.wait_for_owner(*why, later.asks))
            case Split():
                await asyncio.wrap_future(queue.split(*why, later.subtasks))
            case Parked():
                await asyncio.wrap_future(queue.park(*why, later.until))
            case StoreUnready():
                await asyncio.wrap_future(queue.requeue(*why))

    async def _conclude_interrupted(self, task: Task, running: Running) -> None:
        why = running.why
        standing = running.attempt.standing
        if isinstance(why, CancelledByUser):
            await self._finish(task, running.attempt.ended(Ending.USER, str(why)))
        elif isinstance(why, ShuttingDown | WorkerRestarted) and standing and standing.integrated:
            await self._finish(task, running.attempt.ended(Ending.COMMITTED, standing.reason))
        elif isinstance(why, ShuttingDown | WorkerRestarted):
            await asyncio.wrap_future(self.services.queue.requeue(task.id, task.fence, str(why)))
        else:
            running.attempt.events.emit(Kind.WORKER_ERROR, str(why), level=Level.WARNING)

    async def _finish_with_draft(self, attempt: Attempt, result: AttemptResult) -> None:
        try:
            result = await attempt.with_draft(result)
        except (StoreUnready, StoreDamaged):
            raise
        except Exception as error:  # noqa: BLE001 - the task has ended, and whatever a draft throws changes nothing
            why = f"no draft could be left: {_report(attempt.events, error)}"
            result = replace(result, reason=f"{result.reason}; {why}")
        await self._finish(attempt.task, result)

    async def _finish(self, task: Task, result: AttemptResult) -> None:
        await asyncio.wrap_future(
            self.services.queue.finish(
                task.id,
                task.fence,
                result.ending,
                reason=result.reason,
                commit=result.commit,
                branch=result.branch,
                iterations=result.iterations,
                spent=result.spent,
            )
        )

    # The pool's side tasks.

    async def _renew_leases(self) -> None:
        while True:
            await wait(self._beat, self.lease_s / 3)
            self._beat.clear()
            running = {w.running.attempt.task.id: w.running for w in self._workers if w.running}
            owned = [(r.attempt.task.id, r.attempt.task.fence) for r in running.values()]
            with contextlib.suppress(StoreUnready, StoreDamaged):  # reported elsewhere; no task can be claimed
                beating = self.services.queue.heartbeat(owned) if owned else None
                claiming = any(worker.claiming for worker in self._workers)
                swept = None if claiming else self.services.queue.sweep(owned)  # same transaction as the heartbeat
                if beating:
                    beat = await asyncio.wrap_future(beating)
                    for task_id in beat.cancelled:
                        running[task_id].interrupt(CancelledByUser())
                    for task_id, message in beat.newest_messages.items():
                        self.services.models.interrupt(task_id, message)
                    for task_id in beat.lost:
                        running[task_id].interrupt(LeaseLost())
                if swept:
                    await asyncio.wrap_future(swept)
            self.renewed_at = time.monotonic()

    async def _watch_the_clock(self) -> None:
        db, queue = self.services.db, self.services.queue
        version = db.data_version()
        while True:
            await asyncio.sleep(TICK_S)
            due = queue.next_due()
            if due is not None and due <= self.services.clock():
                await asyncio.wrap_future(queue.tick())
            if (now := db.data_version()) != version:
                version = now
                await asyncio.wrap_future(self.services.events.catch_up())
                self.wake()


def _report(events: Emitter, error: Exception) -> str:
    """Log an unexpected exception with its traceback; return it as text."""
    text = f"{type(error).__name__}: {error}"
    data = ErrorData(trace="".join(traceback.format_exception(error)))
    events.emit(Kind.WORKER_ERROR, text, level=Level.ERROR, **data)
    return text
