"""Serves all forge connections of the daemon: polls each at its interval, sooner after a hint, and reports its state.

The daemon calls `turn` periodically. Each call polls the forges whose interval (`forge_poll_s`) is over, and the forges
for which a hint came. A hint is a webhook, whose content is not trusted. Each call also reports the progress of tasks
to the forges, which needs no polling.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence

from nightshift.core.events import Event, Kind
from nightshift.core.status import ForgeStatus
from nightshift.queue.status import FORGES
from nightshift.remote.forges.client import Client
from nightshift.remote.forges.connections import Connection
from nightshift.remote.forges.forge import Forge
from nightshift.remote.forges.sync import Services, Sync
from nightshift.storage.db.codec import to_json_value

HINT_S = 5.0
"""Minimum seconds between two looks at a forge, however many hints come."""
MOVES = frozenset({Kind.TASK_CLAIMED, Kind.TASK_MOVED, Kind.COMMIT_RECORDED, Kind.ASKED, Kind.ANSWERED})
Opener = Callable[[Connection], tuple[Forge, Client]]


class _Polled:
    """A connection and the time of its next look."""

    def __init__(self, sync: Sync, client: Client) -> None:
        self.sync, self.client = sync, client
        self.due_at: float | None = None
        self.looked_at = 0.0
        self.has_news = True


class Poller:
    """Serves all connections on the workers' loop. Only `hint` may be called from any thread.

    Args:
        connections: returns the connections that the settings currently configure.
        poll_s: returns the polling interval in seconds.
        opener: opens the forge of a connection, and its client.
        services: the daemon's services for a connection.
        monotonic: monotonic clock, in seconds.
    """

    def __init__(
        self,
        connections: Callable[[], Sequence[Connection]],
        poll_s: Callable[[], float],
        opener: Opener,
        services: Services,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._connections, self._poll_s, self._opener = connections, poll_s, opener
        self._services, self._monotonic = services, monotonic
        self._polled: dict[Connection, _Polled] = {}
        self._noted_state: list[object] | None = None

    async def turn(self) -> None:
        """Poll the forges that are due, and report progress to them."""
        await self._renew()
        await asyncio.gather(*map(self._serve, self._polled.values()))
        await self._note()

    def on_events(self, events: Sequence[Event]) -> None:
        """Mark the connections whose forges must be told about the progress in these events.

        Called on the event writer's thread.
        """
        moved = {event.task_id for event in events if event.kind in MOVES}
        for each in list(self._polled.values()):
            each.has_news |= bool(moved & each.sync.tasks)

    def hint(self) -> tuple[str, ...]:
        """Make all connections look at their forges soon, and return their addresses.

        A forge that asked for a pause is still left alone.
        """
        polled = list(self._polled.values())
        for each in polled:
            if each.due_at is not None:
                each.due_at = min(each.due_at, each.looked_at + HINT_S)
        return tuple(each.sync.connection.address for each in polled)

    def statuses(self) -> tuple[ForgeStatus, ...]:
        """Return the status of each connection."""
        return tuple(each.sync.status() for each in list(self._polled.values()))

    async def aclose(self) -> None:
        """Close the connections."""
        for each in self._polled.values():
            await each.client.aclose()

    async def _renew(self) -> None:
        """Open the connections that the settings added, and close those that the settings no longer contain."""
        wanted = self._connections()
        for gone in self._polled.keys() - set(wanted):
            await self._polled.pop(gone).client.aclose()
        for each in wanted:
            if each not in self._polled:
                forge, client = self._opener(each)
                self._polled[each] = _Polled(Sync(each, forge, self._services), client)

    async def _serve(self, polled: _Polled) -> None:
        now = self._monotonic()
        if polled.due_at is None or now >= polled.due_at:
            polled.looked_at, polled.due_at, polled.has_news = now, now + self._poll_s(), False
            await polled.sync.look()
        elif polled.has_news:
            polled.has_news = False
            await polled.sync.tell()

    async def _note(self) -> None:
        """Store the statuses if they changed, so that a command can show them while no daemon is running."""
        state: list[object] = [
            (each.address, each.fault, each.issues, each.pulls, each.notes) for each in self.statuses()
        ]
        if state != self._noted_state:
            self._noted_state = state
            rows = [to_json_value(each) for each in self.statuses()]
            await asyncio.wrap_future(self._services.state.set(FORGES, rows or None))
