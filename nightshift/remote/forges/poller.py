"""All connections of the daemon: looks at each at its pace, sooner where something happened, and tells how they stand.

A turn is a short periodic job. A look at a forge is due every `forge_poll_s`, or at once after a hint: a webhook, whose
content is not believed, only that it came. What a task did is told at the next turn without a look.
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
from nightshift.remote.forges.port import Forge
from nightshift.remote.forges.sync import Services, Sync
from nightshift.storage.db.codec import to_json_value

HINT_S = 5.0
"""The least time between two looks at a forge, whatever comes in between."""
MOVES = frozenset({Kind.TASK_CLAIMED, Kind.TASK_MOVED, Kind.COMMIT_RECORDED, Kind.ASKED, Kind.ANSWERED})
Opener = Callable[[Connection], tuple[Forge, Client]]


class _Polled:
    """A connection with when it is due."""

    def __init__(self, sync: Sync, client: Client) -> None:
        self.sync, self.client = sync, client
        self.due_at: float | None = None
        self.looked_at = 0.0
        self.has_news = True


class Poller:
    """Looks after all connections; on the workers' loop, but `hint` may be called from any thread.

    Args:
        connections: what the settings ask for now.
        poll_s: how often a forge is looked at, in seconds.
        opener: makes what speaks to a forge.
        services: what a connection needs of the daemon.
        monotonic: seconds that never jump.
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
        """Do what is due."""
        await self._renew()
        await asyncio.gather(*map(self._serve, self._polled.values()))
        await self._note()

    def on_events(self, events: Sequence[Event]) -> None:
        """Note what happened to tasks that a forge is told of; called on the writer's thread."""
        moved = {event.task_id for event in events if event.kind in MOVES}
        for each in list(self._polled.values()):
            each.has_news |= bool(moved & each.sync.tasks)

    def hint(self) -> tuple[str, ...]:
        """Have a look at all connections soon; their addresses. A forge that rests goes on resting."""
        polled = list(self._polled.values())
        for each in polled:
            if each.due_at is not None:
                each.due_at = min(each.due_at, each.looked_at + HINT_S)
        return tuple(each.sync.connection.address for each in polled)

    def statuses(self) -> tuple[ForgeStatus, ...]:
        """How each connection stands."""
        return tuple(each.sync.status() for each in list(self._polled.values()))

    async def aclose(self) -> None:
        """Close the connections."""
        for each in self._polled.values():
            await each.client.aclose()

    async def _renew(self) -> None:
        """Open what the settings ask for, and close what they do not any more."""
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
        """Keep how it stands for a status without a daemon, where that is new."""
        state: list[object] = [
            (each.address, each.fault, each.issues, each.pulls, each.notes) for each in self.statuses()
        ]
        if state != self._noted_state:
            self._noted_state = state
            rows = [to_json_value(each) for each in self.statuses()]
            await asyncio.wrap_future(self._services.state.set(FORGES, rows or None))
