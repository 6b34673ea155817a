"""The circuit breaker of a backend: a backend that keeps failing receives no requests for a while.

The pattern is described by M. Nygard, Release It!.

    closed ─ too many failures in a row ─> open ─ pause over ─> half open ─ one probe succeeds ─> closed
                                             ^                      │
                                             └── the probe fails: twice the pause

A pause that the provider asked for (a limit that resets at a stated time) opens the circuit as well. Other pauses end
early when the server becomes available again or the daemon restarts; a pause that the provider asked for does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from nightshift.core.clock import Clock
from nightshift.core.tasks.states import CircuitState

CLOCK_SLACK = timedelta(minutes=5)
"""Tolerance for the beginning of a stored pause. If a pause begins later than this from now, it was stored while the
clock was wrong, and is ignored.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """The period during which a backend is left alone, in aware UTC times."""

    since: datetime
    until: datetime

    def holds(self, now: datetime) -> bool:
        """Check whether the backend must still be left alone at the time `now`."""
        return self.since - CLOCK_SLACK <= now < self.until


class CircuitBreaker:
    """Counts consecutive failures and decides whether the backend may be asked.

    Args:
        clock: returns the current time.
        failures: number of consecutive failures that opens the circuit.
        pause_s: the first pause in seconds; it doubles up to `pause_max_s` while the probes fail.
        pause_max_s: the longest pause in seconds.

    Attributes:
        pause_s: the next pause, in seconds.
        asked: the pause that the provider asked for, or None.
    """

    def __init__(self, clock: Clock, *, failures: int, pause_s: float, pause_max_s: float) -> None:
        self._clock, self._failures, self._first_s, self._max_s = clock, failures, pause_s, pause_max_s
        self._in_a_row, self.pause_s, self._is_probing = 0, pause_s, False
        self._own: Pause | None = None
        self.asked: Pause | None = None

    @property
    def opens_at(self) -> datetime | None:
        """The time at which the current or last pause ends; None while the circuit is closed."""
        return max((pause.until for pause in (self._own, self.asked) if pause), default=None)

    @property
    def state(self) -> CircuitState:
        """The state: closed; open during a pause; or half open after the pause."""
        pauses = [pause for pause in (self._own, self.asked) if pause]
        is_open = any(pause.holds(self._clock()) for pause in pauses)
        return CircuitState.OPEN if is_open else CircuitState.HALF_OPEN if pauses else CircuitState.CLOSED

    def enter(self) -> bool:
        """Check whether the backend may be asked now. A half-open circuit admits one caller at a time.

        An admitted caller must then call `succeed`, `fail` or `leave`.
        """
        if self.state is CircuitState.HALF_OPEN and not self._is_probing:
            self._is_probing = True
            return True
        return self.state is CircuitState.CLOSED

    def succeed(self) -> None:
        """Record a success, which closes the circuit.

        If the provider asked a concurrent call for a pause in the meantime, that pause stays in force.
        """
        self.asked = self.asked if self.asked and self.asked.holds(self._clock()) else None
        self.come_up()

    def come_up(self) -> None:
        """Record that the backend is available again.

        Its failures are forgotten; a pause that its provider asked for remains.
        """
        self._in_a_row, self.pause_s, self._own, self._is_probing = 0, self._first_s, None, False

    def fail(self) -> None:
        """Record a failure. Enough consecutive failures open the circuit, and a failed probe doubles the pause."""
        self._in_a_row += 1
        if self.state is CircuitState.HALF_OPEN:
            self.pause_s = min(2 * self.pause_s, self._max_s)
        if self._in_a_row >= self._failures:
            self.open_for(self.pause_s)
        self._is_probing = False

    def open_for(self, pause_s: float) -> None:
        """Open the circuit for at least `pause_s` seconds.

        The reason is that the backend keeps failing, or that only the owner can fix it.
        """
        self._own = self._extend(self._own, pause_s)

    def open_as_asked(self, pause_s: float) -> Pause:
        """Leave the backend alone for at least `pause_s` seconds, because its provider asked for a pause."""
        self.asked = self._extend(self.asked, pause_s)
        return self.asked

    def _extend(self, before: Pause | None, pause_s: float) -> Pause:
        now, self._is_probing = self._clock(), False
        until = now + timedelta(seconds=pause_s)
        return Pause(since=now, until=max(until, before.until) if before and before.holds(now) else until)

    def restore(self, pause: Pause) -> None:
        """Restore a pause that the provider had asked for before the daemon restarted."""
        if pause.holds(self._clock()):
            self.asked = pause

    def leave(self) -> None:
        """Record that the caller stopped waiting before an answer came, so nothing was learned about the backend."""
        self._is_probing = False
