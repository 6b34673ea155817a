"""The circuit breaker of one backend (M. Nygard, Release It!): one that fails and fails is left alone for a while.

closed ─ too many failures in a row ─> open ─ pause over ─> half open ─ one probe succeeds ─> closed
                                        ^                      │
                                        └── it fails: twice the pause
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum

from core.clock import Clock


class State(StrEnum):
    """Where the circuit stands."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


class Circuit:
    """Counts failures in a row and says whether the backend may be asked.

    Args:
        clock: the time.
        failures: how many in a row open it.
        pause_s: the first pause; it doubles up to `pause_max_s` as long as the probes fail.
        pause_max_s: the longest pause.
    """

    def __init__(self, clock: Clock, *, failures: int, pause_s: float, pause_max_s: float) -> None:
        self._clock, self._failures, self._first_s, self._max_s = clock, failures, pause_s, pause_max_s
        self._in_a_row = 0
        self._pause_s = pause_s
        self._probing = False
        self.opens_at: datetime | None = None

    @property
    def state(self) -> State:
        """Closed, open, or half open once the pause is over."""
        if self.opens_at is None:
            return State.CLOSED
        return State.OPEN if self._clock() < self.opens_at else State.HALF_OPEN

    def enter(self) -> bool:
        """Whether the backend may be asked now; half open lets one caller through at a time.

        A caller that was let through reports with `succeeded`, `failed` or `left`.
        """
        if self.state is State.HALF_OPEN and not self._probing:
            self._probing = True
            return True
        return self.state is State.CLOSED

    def succeeded(self) -> None:
        """It answered: all is forgiven."""
        self._in_a_row, self._pause_s, self.opens_at, self._probing = 0, self._first_s, None, False

    def failed(self) -> None:
        """It failed; enough of that opens the circuit, and a failing probe opens it for longer."""
        self._in_a_row += 1
        if self.state is State.HALF_OPEN:
            self._pause_s = min(2 * self._pause_s, self._max_s)
        if self._in_a_row >= self._failures:
            self.open_for(self._pause_s)
        self._probing = False

    def open_for(self, pause_s: float) -> None:
        """Leave it alone for at least so long, as it asked itself or because only its owner can mend it."""
        until = self._clock() + timedelta(seconds=pause_s)
        self.opens_at = max(self.opens_at, until) if self.opens_at else until
        self._probing = False

    def left(self) -> None:
        """The caller went away before there was an answer; nothing was learnt."""
        self._probing = False
