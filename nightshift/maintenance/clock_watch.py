"""Notices a clock that jumps: set by hand or by NTP, wrong after a dead battery, or late because the machine slept.

Three clocks are compared. The wall's may be set; monotonic time counts what the machine was awake, boot time what has
passed, asleep or awake. What the wall gained on boot time was set, what boot time gained on monotonic time was slept.
Time that was slept has passed; time that was set has not. So what is counted off on the wall's clock (back-off, the
next checkpoint) follows a clock that is set, and only leases follow both. While no daemon runs there is nothing to
compare with but the last time seen: a clock that is behind it was set back by at least the difference.

The reference is kept until a jump is reported, so that many small steps cannot add up unseen.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime, timedelta

from nightshift.core.clock import Clocks, to_text
from nightshift.core.events import Event, Kind, Level
from nightshift.queue import checkpoints
from nightshift.queue.manager import QueueManager
from nightshift.storage.db import clock_seen
from nightshift.storage.db.database import Database
from nightshift.storage.db.event_log import EventLog
from nightshift.storage.db.sqlite import Connection

JUMP = timedelta(seconds=10)
"""Smaller steps are not worth a word; nothing waits longer than this for them."""
LONG_JUMP = timedelta(days=1)
STEADY_S = 300.0
"""After a long jump the clock must have held for so many seconds before a checkpoint believes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """All clocks at one moment."""

    wall: datetime
    awake_s: float
    passed_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Jump:
    """A change of the wall's clock beyond going on; `expected` is what it would show without."""

    was_set: timedelta
    slept: timedelta
    expected: datetime

    @property
    def total(self) -> timedelta:
        """By how much it is ahead of where a clock that only went on would be."""
        return self.was_set + self.slept

    @property
    def is_notable(self) -> bool:
        """Tell whether it is long enough to be made good."""
        return max(abs(self.was_set), self.slept) >= JUMP


class ClockWatch:
    """Compares the clocks, reports jumps and makes them good.

    Args:
        db: keeps the last time seen.
        queue: keeps what is counted off on the clock.
        events: gets an event for each jump.
        clocks: all clocks of the machine.
    """

    def __init__(self, db: Database, queue: QueueManager, events: EventLog, clocks: Clocks) -> None:
        self._db, self._queue, self._events = db, queue, events
        self._clock, self._monotonic, self._passed = clocks.wall, clocks.monotonic, clocks.passed
        self._since = self._read()
        self._believed_from = self._since.awake_s

    def steady(self) -> bool:
        """Tell whether the clock has held since its last long jump, and every jump until now was made good."""
        return self._monotonic() >= self._believed_from and not _between(self._since, self._read()).is_notable

    async def begin(self) -> None:
        """Compare with the last time seen, before anything is counted off.

        A long gap forward is a long absence, unless the clock had been set back by about as much: then that is undone.
        """
        conn = self._db.reader()
        seen, back, self._since = clock_seen.last_seen(conn), clock_seen.set_back(conn), self._read()
        if seen is None:
            return
        gap = self._since.wall - seen
        if abs(gap) > LONG_JUMP:
            self._doubt()
        if gap <= -JUMP:
            await self._make_good(Jump(was_set=gap, slept=timedelta(0), expected=seen))
        elif back > LONG_JUMP and gap > back - LONG_JUMP:
            there_again = min(gap, back)
            await self._make_good(
                Jump(was_set=there_again, slept=timedelta(0), expected=self._since.wall - there_again)
            )

    async def look(self) -> None:
        """Compare with the last look."""
        now = self._read()
        if (jump := _between(self._since, now)).is_notable:
            if abs(jump.total) > LONG_JUMP:
                self._doubt()
            await self._make_good(jump)
            self._since = now

    async def note(self) -> None:
        """Note the time, for the next start."""
        await asyncio.wrap_future(self._db.write(lambda conn: clock_seen.note(conn, self._clock())))

    def _doubt(self) -> None:
        self._believed_from = self._monotonic() + STEADY_S

    async def _make_good(self, jump: Jump) -> None:
        def also(conn: Connection, sooner: int) -> None:
            now = self._clock()
            checkpoints.shift(conn, jump.was_set, now)
            clock_seen.was_set(conn, jump.was_set, now)
            self._events.append(conn, _event(jump, now, sooner))

        await asyncio.wrap_future(self._queue.clock_jumped(jump.was_set, also))

    def _read(self) -> Reading:
        """Read the clocks until nothing came between: a process that is stopped there would see a jump."""
        while True:
            before, wall, passed, after = self._monotonic(), self._clock(), self._passed(), self._monotonic()
            if after - before < 1.0:
                return Reading(wall=wall, awake_s=before, passed_s=passed)


def _between(before: Reading, now: Reading) -> Jump:
    passed = timedelta(seconds=now.passed_s - before.passed_s)
    awake = timedelta(seconds=now.awake_s - before.awake_s)
    expected = before.wall + awake
    return Jump(was_set=now.wall - before.wall - passed, slept=passed - awake, expected=expected)


def _event(jump: Jump, now: datetime, sooner: int) -> Event:
    was_set = abs(jump.was_set) >= JUMP
    ways = []
    if jump.slept >= JUMP:
        ways.append(f"the machine slept for {_span(jump.slept)}")
    if was_set:
        ways.append(f"the clock was set {'forward' if jump.was_set.days >= 0 else 'back'} by {_span(jump.was_set)}")
    message = f"{' and '.join(ways)}: from {to_text(jump.expected)} to {to_text(now)}"
    if sooner:
        message += f"; {sooner} resting tasks are due as much sooner"
    data = {
        "from": to_text(jump.expected),
        "to": to_text(now),
        "set_s": jump.was_set.total_seconds(),
        "slept_s": jump.slept.total_seconds(),
        "sooner": sooner,
    }
    return Event(kind=Kind.CLOCK_JUMPED, level=Level.WARNING if was_set else Level.INFO, message=message, data=data)


def _span(time: timedelta) -> str:
    return str(timedelta(seconds=round(abs(time).total_seconds())))
