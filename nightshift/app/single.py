"""Runs one task in the foreground: the daemon's services with one worker, without the server and the inbox."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

from nightshift.app.services import Services
from nightshift.app.store import StoreServices, open_store
from nightshift.attempt.pool import TICK_S, TaskExecutor
from nightshift.attempt.recovery import finish_landed
from nightshift.config.load import Settings
from nightshift.core.clock import utc_now
from nightshift.core.errors import SandboxError
from nightshift.core.events import Event
from nightshift.core.tasks.states import ENDED, Status
from nightshift.core.tasks.task import Task, TaskSpec
from nightshift.maintenance.instance_lock import InstanceLock


@dataclass(frozen=True, slots=True, kw_only=True)
class PutDown:
    """Conditions under which a task is interrupted after its last finished step, so that it can be continued later.

    Attributes:
        asked: set to request the interruption.
        patience_s: seconds that the task may wait in total for a model or a package index.
    """

    asked: asyncio.Event = field(default_factory=asyncio.Event)
    patience_s: float


async def run_single(
    spec: TaskSpec,
    settings: Settings,
    on_event: Callable[[Event], None],
    put_down: PutDown | None = None,
    owner: Settings | None = None,
) -> Task:
    """Submit the task, or continue the earlier task with the same key, and work on it alone; return its final state.

    Args:
        spec: the task.
        settings: settings of the home in which the task is done.
        on_event: called with each event of the task, on another thread.
        put_down: interrupts the task, which then stays queued or scheduled; without it, Ctrl-C cancels the task.
        owner: settings of another home, whose environments and decisions on setup scripts are used.

    Raises:
        AlreadyRunning: a daemon works on this home; that daemon must do the task.
        InvalidTask: the task could only fail here.
    """
    with ExitStack() as stack:
        settings.make_folders()
        stack.enter_context(InstanceLock(settings.lock_file, settings.db_lock_file))
        store = open_store(settings, stack)
        services = Services(settings, store, stack, utc_now, owner)
        await finish_landed(services.recovery())
        await asyncio.wrap_future(store.queue.recover())
        unsplit_spec = replace(spec, split=False)  # no other worker exists that could work on subtasks
        task_id = (await asyncio.wrap_future(store.queue.submit(unsplit_spec))).task_id
        if store.queue.get(task_id).status in {*ENDED, Status.WAITING}:
            return store.queue.get(task_id)  # the key belonged to a task that has ended or is waiting
        if put_down:
            await asyncio.wrap_future(store.queue.unpark())

        def relay(events: Sequence[Event]) -> None:
            for event in events:
                if event.task_id == task_id:
                    on_event(event)

        stack.callback(store.events.subscribe(relay))
        attempt_services = await services.prepare()
        if attempt_services is None:
            raise SandboxError(services.notices[0])
        executor = TaskExecutor(attempt_services, workers=1, lease_s=settings.lease_s, only=task_id)
        loop = asyncio.get_running_loop()
        stack.callback(store.queue.on_wake(executor.wake_from(loop)))
        watch = asyncio.create_task(services.models.watch(store.queue.models_back))
        try:
            async with _putting_down(put_down, executor, store, task_id) if put_down else _cancelling(store, task_id):
                await executor.run()
        finally:
            watch.cancel()
            await services.aclose()
        return store.queue.get(task_id)


@contextlib.asynccontextmanager
async def _cancelling(store: StoreServices, task_id: int) -> AsyncIterator[None]:
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, lambda: store.queue.cancel(task_id))
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)


@contextlib.asynccontextmanager
async def _putting_down(
    put_down: PutDown, executor: TaskExecutor, store: StoreServices, task_id: int
) -> AsyncIterator[None]:
    async def look() -> None:
        left_s = put_down.patience_s
        while not put_down.asked.is_set() and left_s > 0:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(put_down.asked.wait(), TICK_S)
            task = store.queue.get(task_id)
            if task.status is Status.SCHEDULED:
                left_s -= TICK_S
                if task.not_before and (task.not_before - utc_now()).total_seconds() > left_s:
                    break
        await executor.stop(0)

    looking = asyncio.create_task(look())
    try:
        yield
    finally:
        looking.cancel()
