"""What other threads call to have a worker begin anew."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future

from core.errors import UnknownWorker
from core.status import Restart
from task_executor import TaskExecutor


def restarts(
    executor: Callable[[], TaskExecutor | None], loop: asyncio.AbstractEventLoop
) -> Callable[[str], Future[Restart]]:
    """Takes a worker's name; the future fails like `TaskExecutor.restart`, also while there are no workers yet."""

    async def restart(name: str) -> Restart:
        pool = executor()
        if pool is None:
            raise UnknownWorker(name, ())
        return await pool.restart(name)

    return lambda name: asyncio.run_coroutine_threadsafe(restart(name), loop)
