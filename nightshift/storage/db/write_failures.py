"""State of a database that accepts no writes: the error and its start, with listeners for its beginning and end.

A failure that may pass (a full disk, a lock, a disk that is read-only for now) ends with the first write that succeeds.
Damage does not end: nothing more is written, and the next start restores what can be restored.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

from nightshift.core.errors import StoreDamaged, StoreError, StoreUnready

FIRST_REST_S, MAX_REST_S = 1.0, 30.0
"""Seconds that a write which can wait pauses before it is retried: the first pause, doubled up to the second value."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteFailure:
    """A failure of the database to write: its error, its start, and whether it has ended."""

    error: StoreError
    """Error that the failed write raised."""
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
    """Remembers the current failure, and calls listeners at its beginning and end, on the writer's thread."""

    def __init__(self) -> None:
        self.now: WriteFailure | None = None
        self._listeners: list[Callable[[WriteFailure], None]] = []

    def listen(self, listener: Callable[[WriteFailure], None]) -> None:
        """Call `listener` when a failure begins or ends; it must not wait for a write."""
        self._listeners.append(listener)

    def record(self, error: BaseException) -> None:
        """Record that a write failed; only an error of the database as a whole counts."""
        if isinstance(error, StoreUnready | StoreDamaged) and (self.now is None or not self.now.damage):
            begins = self.now is None or isinstance(error, StoreDamaged)
            self.now = WriteFailure(error=error, since=self.now.since if self.now else time.monotonic())
            if begins:
                self._notify(self.now)

    def clear(self) -> None:
        """Record that a write is on the disk."""
        if self.now is not None and not self.now.damage:
            past, self.now = self.now, None
            self._notify(WriteFailure(error=past.error, since=past.since, over=True))

    def _notify(self, failure: WriteFailure) -> None:
        for listener in tuple(self._listeners):
            try:
                listener(failure)
            except Exception:
                log.exception("a listener of the database's write failures raised")
