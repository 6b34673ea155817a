"""Notices when the clock jumps: it was set, was wrong after a dead battery, or moved on while the machine slept.

Three clocks are compared. The wall clock may be set, by hand or by NTP. Monotonic time counts the time that the machine
was awake, and boot time counts all time, asleep or awake. If the wall clock gains on boot time, it was set. If boot
time gains on monotonic time, the machine slept. Time really passes while the machine sleeps, but not when the clock is
set. Therefore times that are measured with the wall clock (back-off, the next checkpoint) are corrected only when the
clock is set, and leases are corrected in both cases. While no daemon runs, the only reference is the last time seen. A
clock that is behind that time was set back by at least the difference.

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
"""Minimum length of a jump. Smaller jumps are ignored, because they delay nothing by more than this."""
LONG_JUMP = timedelta(days=1)
STEADY_S = 300.0
"""Seconds for which the clock must be steady after a long jump before a checkpoint trusts the clock."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The values of the three clocks at one moment: wall clock, monotonic time, and boot time."""

    wall: datetime
    awake_s: float
    passed_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Jump:
    """An unexpected change of the wall clock.

    Attributes:
        was_set: the part of the change that came from setting the clock.
        slept: the part that came from sleep of the machine.
        expected: the time that the clock would show without the change.
    """

    was_set: timedelta
    slept: timedelta
    expected: datetime

    @property
    def total(self) -> timedelta:
        """The wall clock minus the expected time."""
        return self.was_set + self.slept

    @property
    def is_notable(self) -> bool:
        """True if the jump is long enough to be corrected."""
        return max(abs(self.was_set), self.slept) >= JUMP


class ClockWatch:
    """Compares the clocks, reports jumps and corrects for them.

    Args:
        db: stores the last time seen.
        queue: contains the leases and due times that are corrected.
        events: gets an event for each jump.
        clocks: all clocks of the machine.
    """

    def __init__(self, db: Database, queue: QueueManager, events: EventLog, clocks: Clocks) -> None:
        self._db, self._queue, self._events = db, queue, events
        self._clock, self._monotonic, self._passed = clocks.wall, clocks.monotonic, clocks.passed
        self._since = self._read()
        self._believed_from = self._since.awake_s

    def steady(self) -> bool:
        """Check whether the clock can be trusted: no long jump was recent, and no jump waits for its correction."""
        return self._monotonic() >= self._believed_from and not _between(self._since, self._read()).is_notable

    async def begin(self) -> None:
        """Compare the clock with the last time seen by an earlier run, before anything uses the clock.

        If the clock is far ahead of that time, usually no daemon has run for long. But if the clock was set back by
        about as much before that time, it has now been set right again.
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
        """Compare the clocks with the last reading, and correct for a jump if there was one."""
        now = self._read()
        if (jump := _between(self._since, now)).is_notable:
            if abs(jump.total) > LONG_JUMP:
                self._doubt()
            await self._make_good(jump)
            self._since = now

    async def note(self) -> None:
        """Store the current time, with which the next start compares its clock."""
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
        """Read the three clocks at almost the same moment.

        If the process is stopped between two readings, they are repeated, because they would look like a jump.
        """
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
        message += f"; {sooner} resting tasks start that much sooner"
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
