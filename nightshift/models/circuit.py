"""The circuit breaker of a backend: leaves alone for a while what fails again and again (M. Nygard, Release It!).

closed ─ too many failures in a row ─> open ─ pause over ─> half open ─ one probe succeeds ─> closed
                                        ^                      │
                                        └── it fails: twice the pause

A pause that the provider asked for (a limit that resets at a stated time) opens it as well. That one outlives what ends
the others: that the server goes away and comes back, or that the daemon is started again.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from nightshift.core.clock import Clock
from nightshift.core.tasks.states import CircuitState

CLOCK_SLACK = timedelta(minutes=5)
"""A pause that begins further in the future than this was begun under a wrong clock, and does not hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """From when to when a backend is left alone, aware UTC."""

    since: datetime
    until: datetime

    def holds(self, now: datetime) -> bool:
        """Whether it is not over yet."""
        return self.since - CLOCK_SLACK <= now < self.until


class CircuitBreaker:
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
        self._in_a_row, self.pause_s, self._is_probing = 0, pause_s, False
        self._own: Pause | None = None
        self.asked: Pause | None = None

    @property
    def opens_at(self) -> datetime | None:
        """When the last pause ends or ended; None while it is closed."""
        return max((pause.until for pause in (self._own, self.asked) if pause), default=None)

    @property
    def state(self) -> CircuitState:
        """Closed, open, or half open once the pause is over."""
        pauses = [pause for pause in (self._own, self.asked) if pause]
        is_open = any(pause.holds(self._clock()) for pause in pauses)
        return CircuitState.OPEN if is_open else CircuitState.HALF_OPEN if pauses else CircuitState.CLOSED

    def enter(self) -> bool:
        """Whether the backend may be asked now; half open lets one caller through at a time.

        A caller that was let through reports with `succeed`, `fail` or `leave`.
        """
        if self.state is CircuitState.HALF_OPEN and not self._is_probing:
            self._is_probing = True
            return True
        return self.state is CircuitState.CLOSED

    def succeed(self) -> None:
        """It answered: the circuit closes. A pause that its provider asked another call for meanwhile still holds."""
        self.asked = self.asked if self.asked and self.asked.holds(self._clock()) else None
        self.come_up()

    def come_up(self) -> None:
        """It is available again: failures are forgotten, but not a pause that its provider asked for."""
        self._in_a_row, self.pause_s, self._own, self._is_probing = 0, self._first_s, None, False

    def fail(self) -> None:
        """It failed; enough of that opens the circuit, and a failing probe opens it for longer."""
        self._in_a_row += 1
        if self.state is CircuitState.HALF_OPEN:
            self.pause_s = min(2 * self.pause_s, self._max_s)
        if self._in_a_row >= self._failures:
            self.open_for(self.pause_s)
        self._is_probing = False

    def open_for(self, pause_s: float) -> None:
        """Leave it alone for at least so long, because it fails or only its owner can mend it."""
        self._own = self._extend(self._own, pause_s)

    def open_as_asked(self, pause_s: float) -> Pause:
        """Leave it alone for at least so long, as its provider asked."""
        self.asked = self._extend(self.asked, pause_s)
        return self.asked

    def _extend(self, before: Pause | None, pause_s: float) -> Pause:
        now, self._is_probing = self._clock(), False
        until = now + timedelta(seconds=pause_s)
        return Pause(since=now, until=max(until, before.until) if before and before.holds(now) else until)

    def restore(self, pause: Pause) -> None:
        """Keep to a pause that the provider asked an earlier process for."""
        if pause.holds(self._clock()):
            self.asked = pause

    def leave(self) -> None:
        """The caller went away before there was an answer; nothing was learnt."""
        self._is_probing = False
