"""The state of a database that accepts no writes. Listeners are called when such a state begins and ends.

A failure that may pass (a full disk, a lock, a disk that is temporarily read-only) ends with the first write that
succeeds. Damage does not end: nothing more is written, and the next start of the daemon restores what can be restored.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

from nightshift.core.errors import StoreDamaged, StoreError, StoreUnready

FIRST_REST_S, MAX_REST_S = 1.0, 30.0
"""Seconds to pause before a write that can wait is retried. The first value is the first pause, which is doubled after
each failure. The second value is the longest pause.
"""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteFailure:
    """A period in which the database could not write."""

    error: StoreError
    """The error that the failed write raised."""
    since: float
    """Time of the first failure, in seconds of the monotonic clock."""
    over: bool = False
    """True if writes succeed again."""

    @property
    def damage(self) -> bool:
        """True if the failure is damage, which does not pass."""
        return isinstance(self.error, StoreDamaged)

    @property
    def lasted_s(self) -> float:
        """Seconds since the first failure."""
        return time.monotonic() - self.since


class WriteFailures:
    """Stores the current failure. Calls listeners on the writer's thread when a failure begins or ends."""

    def __init__(self) -> None:
        self.now: WriteFailure | None = None
        self._listeners: list[Callable[[WriteFailure], None]] = []

    def listen(self, listener: Callable[[WriteFailure], None]) -> None:
        """Call `listener` whenever a failure begins or ends. The listener must not wait for a write."""
        self._listeners.append(listener)

    def record(self, error: BaseException) -> None:
        """Record that a write failed. Only errors that concern the database as a whole count."""
        if isinstance(error, StoreUnready | StoreDamaged) and (self.now is None or not self.now.damage):
            begins = self.now is None or isinstance(error, StoreDamaged)
            self.now = WriteFailure(error=error, since=self.now.since if self.now else time.monotonic())
            if begins:
                self._notify(self.now)

    def clear(self) -> None:
        """Record that a write succeeded, which ends a failure that is not damage."""
        if self.now is not None and not self.now.damage:
            past, self.now = self.now, None
            self._notify(WriteFailure(error=past.error, since=past.since, over=True))

    def _notify(self, failure: WriteFailure) -> None:
        for listener in tuple(self._listeners):
            try:
                listener(failure)
            except Exception:
                log.exception("a listener of the database's write failures raised")
