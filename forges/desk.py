"""All connections of the daemon: looks at each at its pace, sooner where something happened, and tells how they stand.

A turn is a short periodic job. A look at a forge is due every `forge_poll_s`, or at once after a hint: a webhook, whose
content is not believed, only that it came. What a task did is told at the next turn without a look.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence

from core.events import Event, Kind
from core.status import ForgeStatus
from db.codec import plain
from forges.client import Client
from forges.connections import Connection
from forges.port import Forge
from forges.sync import Services, Sync
from taskqueue.status import FORGES

HINT_S = 5.0
"""Whatever comes in between, a forge is not looked at sooner after the last look than this."""
MOVES = frozenset({Kind.TASK_CLAIMED, Kind.TASK_MOVED, Kind.COMMIT_RECORDED, Kind.ASKED, Kind.ANSWERED})
Opener = Callable[[Connection], tuple[Forge, Client]]


class _Seat:
    """A connection with when it is due."""

    def __init__(self, sync: Sync, client: Client) -> None:
        self.sync, self.client = sync, client
        self.due_at: float | None = None
        self.looked_at = 0.0
        self.has_news = True


class Desk:
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
        self._seats: dict[Connection, _Seat] = {}
        self._told: list[object] | None = None

    async def turn(self) -> None:
        """Do what is due."""
        await self._renew()
        await asyncio.gather(*map(self._serve, self._seats.values()))
        await self._note()

    def on_events(self, events: Sequence[Event]) -> None:
        """Note what happened to tasks that a forge is told of; called on the writer's thread."""
        moved = {event.task_id for event in events if event.kind in MOVES}
        for seat in list(self._seats.values()):
            seat.has_news |= bool(moved & seat.sync.tasks)

    def hint(self) -> tuple[str, ...]:
        """Have a look at all connections soon; their addresses. A forge that rests goes on resting."""
        seats = list(self._seats.values())
        for seat in seats:
            if seat.due_at is not None:
                seat.due_at = min(seat.due_at, seat.looked_at + HINT_S)
        return tuple(seat.sync.connection.address for seat in seats)

    def statuses(self) -> tuple[ForgeStatus, ...]:
        """How each connection stands."""
        return tuple(seat.sync.status() for seat in list(self._seats.values()))

    async def aclose(self) -> None:
        """Close the connections."""
        for seat in self._seats.values():
            await seat.client.aclose()

    async def _renew(self) -> None:
        """Open what the settings ask for, and close what they do not any more."""
        wanted = self._connections()
        for gone in self._seats.keys() - set(wanted):
            await self._seats.pop(gone).client.aclose()
        for each in wanted:
            if each not in self._seats:
                forge, client = self._opener(each)
                self._seats[each] = _Seat(Sync(each, forge, self._services), client)

    async def _serve(self, seat: _Seat) -> None:
        now = self._monotonic()
        if seat.due_at is None or now >= seat.due_at:
            seat.looked_at, seat.due_at, seat.has_news = now, now + self._poll_s(), False
            await seat.sync.look()
        elif seat.has_news:
            seat.has_news = False
            await seat.sync.tell()

    async def _note(self) -> None:
        """Keep how it stands for a status without a daemon, where that is new."""
        found: list[object] = [
            (each.address, each.fault, each.issues, each.pulls, each.notes) for each in self.statuses()
        ]
        if found != self._told:
            self._told = found
            kept = [plain(each) for each in self.statuses()]
            await asyncio.wrap_future(self._services.state.set(FORGES, kept or None))
