"""Restarts threads beside the workers' loop, such as the server's, after an error has ended them.

A daemon that looks alive but does not listen is worse than none.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from nightshift.core.clock import Clock
from nightshift.core.events import Emitter, Kind, Level
from nightshift.core.ports import Sink

# Seconds between two checks of the threads.
LOOK_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SideThread:
    """A thread beside the workers' loop.

    `name` describes its work for the owner. `revive` restarts it, and blocks until it runs again.
    """

    name: str
    is_alive: Callable[[], bool]
    revive: Callable[[], None]


class SideThreads:
    """Watches a daemon's side threads, and restarts them if they end.

    Args:
        emit: gets an event for each restarted thread.
        clock: gives the times of restarts.
    """

    def __init__(self, emit: Sink, clock: Clock) -> None:
        self._events, self._clock = Emitter(emit), clock
        self._threads: list[SideThread] = []
        self._notices: dict[str, str] = {}

    def add(self, thread: SideThread) -> None:
        """Watch another thread from now on."""
        self._threads.append(thread)

    @property
    def notices(self) -> tuple[str, ...]:
        """Sentences for the status page about restarted threads, each with the time of its last restart."""
        return tuple(self._notices.values())

    async def look(self) -> None:
        """Check the threads once, and restart the ended ones.

        Raises:
            Exception: any error of a thread that cannot be restarted.
        """
        for thread in self._threads:
            if not thread.is_alive():
                self._notices[thread.name] = f"{thread.name} has stopped with an error, and cannot be restarted."
                await asyncio.to_thread(thread.revive)
                text = f"{thread.name} had stopped with an error and was restarted"
                self._notices[thread.name] = f"{text} at {self._clock():%Y-%m-%d %H:%M} UTC; the log has the error."
                self._events.emit(Kind.WORKER_ERROR, text, level=Level.ERROR)
