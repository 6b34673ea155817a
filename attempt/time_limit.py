"""The time of an attempt: it stands still while a model is waited for.

A local model may take minutes for a reply, and a busy server has it waited for; both have limits of their own
(`models.budgets.CallPolicy`). What `limits.wall_s` is there to end is work of ours that does not come to an end.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from core.dialogue import Completion, ModelRequest
from core.ports import Model


class PausableTimeLimit:
    """A time limit that can be stopped; one for each run of an attempt.

    Args:
        wall_s: how long it may run, in seconds, without what it was stopped for; None is for ever.
    """

    def __init__(self, wall_s: float | None) -> None:
        self._limit = asyncio.timeout(wall_s)
        self._left_s: float | None = None
        self._stopped = 0

    @asynccontextmanager
    async def limited(self) -> AsyncIterator[None]:
        """Run under the limit.

        Raises:
            TimeoutError: it is over.
        """
        async with self._limit:
            yield

    def late_s(self, now: float) -> float:
        """By how much it is over, 0 while it is not or stands still; `now` is the loop's time, which is monotonic."""
        ends_at = self._limit.when()
        return 0.0 if ends_at is None or self._stopped else max(0.0, now - ends_at)

    @asynccontextmanager
    async def stopped(self) -> AsyncIterator[None]:
        """What happens in here takes no time; may be nested."""
        if not self._stopped and (ends_at := self._limit.when()) is not None:
            self._left_s = ends_at - asyncio.get_running_loop().time()
            self._limit.reschedule(None)
        self._stopped += 1
        try:
            yield
        finally:
            self._stopped -= 1
            if not self._stopped and self._left_s is not None:
                self._limit.reschedule(asyncio.get_running_loop().time() + self._left_s)
                self._left_s = None


class TimedModel:
    """A model whose replies are waited for without time going by."""

    def __init__(self, model: Model, time: PausableTimeLimit) -> None:
        self._model, self._time = model, time

    async def complete(self, request: ModelRequest) -> Completion:
        """See `core.ports.Model.complete`."""
        async with self._time.stopped():
            return await self._model.complete(request)
