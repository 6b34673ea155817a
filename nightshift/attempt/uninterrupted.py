"""Runs a coroutine to its end, even if the task that waits for it is cancelled.

`asyncio.shield` protects the inner task but does not wait for it, so the caller would continue while the work is half
done. An operation that moves a git reference and writes its record must be finished before the task's ending is
decided.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def run_to_end(work: Coroutine[Any, Any, T]) -> T:
    """Run `work` until it ends and return its result; a cancellation that arrives meanwhile is raised afterwards.

    Raises:
        CancelledError: the caller was cancelled; `work` has still ended, and its error is the cause.
    """
    job = asyncio.ensure_future(work)
    cancel: asyncio.CancelledError | None = None
    while not job.done():
        try:
            await asyncio.wait({job})
        except asyncio.CancelledError as error:
            cancel = error
    if cancel is not None:
        raise cancel from (None if job.cancelled() else job.exception())
    return job.result()
