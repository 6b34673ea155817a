"""One task in the foreground: the daemon's services with one worker, without server and inbox."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace

from bootstrap.services import Services
from bootstrap.store import open_store
from config import Settings
from core.clock import utc_now
from core.errors import SandboxError
from core.events import Event
from core.states import ENDED
from core.tasks import Task, TaskSpec
from maintenance.instance_lock import InstanceLock
from task_executor import TaskExecutor


async def run_single(spec: TaskSpec, settings: Settings, on_event: Callable[[Event], None]) -> Task:
    """Submit the task, work on it alone, and return it as it ended.

    Raises:
        AlreadyRunning: a daemon works on this home; give the task to it.
        InvalidTask: the task could only fail here.
    """
    with ExitStack() as stack:
        settings.make_folders()
        stack.enter_context(InstanceLock(settings.lock_file, settings.db_lock_file))
        store = open_store(settings, stack)
        services = Services(settings, store, stack, utc_now)
        await asyncio.wrap_future(store.queue.recover())
        whole = replace(spec, split=False)  # nobody else is here who could work on parts of it
        task_id = (await asyncio.wrap_future(store.queue.submit(whole))).task_id
        if store.queue.get(task_id).status in ENDED:
            return store.queue.get(task_id)  # its key was known

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
        loop.add_signal_handler(signal.SIGINT, lambda: store.queue.cancel(task_id))
        watch = asyncio.create_task(services.models.watch(store.queue.models_back))
        try:
            await executor.run()
        finally:
            watch.cancel()
            loop.remove_signal_handler(signal.SIGINT)
            await services.aclose()
        return store.queue.get(task_id)
