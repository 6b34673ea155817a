"""Starts side threads again that ended by an error: a daemon that looks alive and hears nothing is worse than none."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from nightshift.core.clock import Clock
from nightshift.core.events import Emitter, Kind, Level
from nightshift.core.ports import Sink

# Seconds between two looks.
LOOK_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SideThread:
    """A thread beside the workers' loop; `name` is what it does, and `revive` blocks until it runs again."""

    name: str
    is_alive: Callable[[], bool]
    revive: Callable[[], None]


class SideThreads:
    """Watches the side threads of a daemon.

    Args:
        emit: takes an event for each that was started again.
        clock: says when that was.
    """

    def __init__(self, emit: Sink, clock: Clock) -> None:
        self._events, self._clock = Emitter(emit), clock
        self._threads: list[SideThread] = []
        self._notices: dict[str, str] = {}

    def add(self, thread: SideThread) -> None:
        """Watch one more from now on."""
        self._threads.append(thread)

    @property
    def notices(self) -> tuple[str, ...]:
        """Sentences for the status: what was started again, and when for the last time."""
        return tuple(self._notices.values())

    async def look(self) -> None:
        """Look once, and start what has ended.

        Raises:
            Exception: whatever a thread raises that cannot be started.
        """
        for thread in self._threads:
            if not thread.is_alive():
                self._notices[thread.name] = f"{thread.name} has ended by an error, and cannot be started again."
                await asyncio.to_thread(thread.revive)
                text = f"{thread.name} had ended by an error and was started again"
                self._notices[thread.name] = f"{text} at {self._clock():%Y-%m-%d %H:%M} UTC; the log has the error."
                self._events.emit(Kind.WORKER_ERROR, text, level=Level.ERROR)
