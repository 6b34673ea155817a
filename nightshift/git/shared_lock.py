"""A lock that threads share while they store objects, and that a thread holds alone while it deletes old objects."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator


class SharedLock:
    """A lock that is shared or exclusive. A request for the exclusive lock makes all later requests wait behind it."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._holders, self._exclusive = 0, False

    @contextlib.contextmanager
    def share(self) -> Iterator[None]:
        """Hold the lock together with other threads."""
        with self._changed:
            self._changed.wait_for(lambda: not self._exclusive)
            self._holders += 1
        try:
            yield
        finally:
            with self._changed:
                self._holders -= 1
                self._changed.notify_all()

    @contextlib.contextmanager
    def exclusive(self) -> Iterator[None]:
        """Hold the lock alone, after all other threads have released it; new requests wait."""
        with self._changed:
            self._changed.wait_for(lambda: not self._exclusive)
            self._exclusive = True
            self._changed.wait_for(lambda: not self._holders)
        try:
            yield
        finally:
            with self._changed:
                self._exclusive = False
                self._changed.notify_all()
