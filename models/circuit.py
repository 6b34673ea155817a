"""The circuit breaker of one backend (M. Nygard, Release It!): one that fails and fails is left alone for a while.

closed ─ too many failures in a row ─> open ─ pause over ─> half open ─ one probe succeeds ─> closed
                                        ^                      │
                                        └── it fails: twice the pause

A pause that the provider asked for (a limit that resets at a stated time) opens it as well, and outlives what ends the
others: that the server goes away and comes back, or that the daemon is started again (`restore`).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from core.clock import Clock

CLOCK_SLACK = timedelta(minutes=5)
"""A pause that begins further in the future than this was begun under a wrong clock, and does not hold."""


class State(StrEnum):
    """Where the circuit stands."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """From when to when a backend is left alone, aware UTC."""

    since: datetime
    until: datetime

    def holds(self, now: datetime) -> bool:
        """Whether it is not over yet."""
        return self.since - CLOCK_SLACK <= now < self.until


class Circuit:
    """Counts failures in a row and says whether the backend may be asked.

    Args:
        clock: the time.
        failures: how many in a row open it.
        pause_s: the first pause; it doubles up to `pause_max_s` as long as the probes fail.
        pause_max_s: the longest pause.

    Attributes:
        pause_s: the next pause, in seconds.
        asked: the pause that the provider asked for, if it did.
    """

    def __init__(self, clock: Clock, *, failures: int, pause_s: float, pause_max_s: float) -> None:
        self._clock, self._failures, self._first_s, self._max_s = clock, failures, pause_s, pause_max_s
        self._in_a_row = 0
        self.pause_s = pause_s
        self._probing = False
        self._own: Pause | None = None
        self.asked: Pause | None = None

    @property
    def opens_at(self) -> datetime | None:
        """When the last pause ends or ended; None while it is closed."""
        return max((pause.until for pause in self._pauses()), default=None)

    @property
    def state(self) -> State:
        """Closed, open, or half open once the pause is over."""
        pauses, now = self._pauses(), self._clock()
        if not pauses:
            return State.CLOSED
        return State.OPEN if any(pause.holds(now) for pause in pauses) else State.HALF_OPEN

    def enter(self) -> bool:
        """Whether the backend may be asked now; half open lets one caller through at a time.

        A caller that was let through reports with `succeeded`, `failed` or `left`.
        """
        if self.state is State.HALF_OPEN and not self._probing:
            self._probing = True
            return True
        return self.state is State.CLOSED

    def succeeded(self) -> None:
        """It answered: all is forgiven. What its provider asked of another call meanwhile still holds."""
        self.asked = self.asked if self.asked and self.asked.holds(self._clock()) else None
        self.came_up()

    def came_up(self) -> None:
        """It is there again: what was held against it is forgotten, but not what its provider asked for."""
        self._in_a_row, self.pause_s, self._own, self._probing = 0, self._first_s, None, False

    def failed(self) -> None:
        """It failed; enough of that opens the circuit, and a failing probe opens it for longer."""
        self._in_a_row += 1
        if self.state is State.HALF_OPEN:
            self.pause_s = min(2 * self.pause_s, self._max_s)
        if self._in_a_row >= self._failures:
            self.open_for(self.pause_s)
        self._probing = False

    def open_for(self, pause_s: float, *, asked: bool = False) -> None:
        """Leave it alone for at least so long, as it asked itself or because only its owner can mend it."""
        now, before = self._clock(), self.asked if asked else self._own
        until = now + timedelta(seconds=pause_s)
        pause = Pause(since=now, until=max(until, before.until) if before and before.holds(now) else until)
        if asked:
            self.asked = pause
        else:
            self._own = pause
        self._probing = False

    def restore(self, pause: Pause) -> None:
        """Keep to a pause that the provider asked an earlier process for."""
        if pause.holds(self._clock()):
            self.asked = pause

    def left(self) -> None:
        """The caller went away before there was an answer; nothing was learnt."""
        self._probing = False

    def _pauses(self) -> list[Pause]:
        return [pause for pause in (self._own, self.asked) if pause]
