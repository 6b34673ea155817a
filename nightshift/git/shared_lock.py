"""A lock that many may share, or one has alone: those who store objects, and the one who throws old ones away."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator


class SharedLock:
    """A lock that is shared or exclusive; whoever wants it alone is not overtaken by newcomers."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._holders, self._exclusive = 0, False

    @contextlib.contextmanager
    def share(self) -> Iterator[None]:
        """Hold it beside others."""
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
        """Hold it alone, when all others have let go of it; newcomers wait."""
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
