"""When the database takes no writes: what is wrong, since when, and who is told.

Trouble that may pass (a full disk, a lock, a disk that is read-only for now) ends with the first write that goes well.
Damage does not end: nothing more is written, and the next start restores what can be restored.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

from core.errors import StoreDamaged, StoreError, StoreUnready

FIRST_REST_S, MAX_REST_S = 1.0, 30.0
"""How long a write that can wait rests before it is tried again; the rest doubles."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """Why nothing can be written, since a moment of monotonic time; `over` once that has passed."""

    error: StoreError
    since: float
    over: bool = False

    @property
    def damage(self) -> bool:
        """Whether it is of the kind that does not pass."""
        return isinstance(self.error, StoreDamaged)

    @property
    def lasted_s(self) -> float:
        """For how long, in seconds."""
        return time.monotonic() - self.since


class TroubleWatch:
    """Remembers trouble, and tells of its beginning and its end, on the writer's thread."""

    def __init__(self) -> None:
        self.now: Trouble | None = None
        self._listeners: list[Callable[[Trouble], None]] = []

    def listen(self, listener: Callable[[Trouble], None]) -> None:
        """Call `listener` whenever trouble begins or is over; it must not wait for a write."""
        self._listeners.append(listener)

    def found(self, error: BaseException) -> None:
        """A write failed; only what concerns the database as a whole is trouble."""
        if isinstance(error, StoreUnready | StoreDamaged) and (self.now is None or not self.now.damage):
            begins = self.now is None or isinstance(error, StoreDamaged)
            self.now = Trouble(error=error, since=self.now.since if self.now else time.monotonic())
            if begins:
                self._tell(self.now)

    def went_well(self) -> None:
        """A write is on the disk."""
        if self.now is not None and not self.now.damage:
            past, self.now = self.now, None
            self._tell(Trouble(error=past.error, since=past.since, over=True))

    def _tell(self, trouble: Trouble) -> None:
        for listener in tuple(self._listeners):
            try:
                listener(trouble)
            except Exception:
                log.exception("a listener of the database's trouble raised")
