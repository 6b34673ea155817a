"""Lets many through at once, or one alone: those who store objects, and the one who throws old ones away."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator


class Gate:
    """A lock that is shared or exclusive; whoever wants to be alone is not overtaken by newcomers."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside, self._alone = 0, False

    @contextlib.contextmanager
    def shared(self) -> Iterator[None]:
        """Go in beside others."""
        with self._changed:
            self._changed.wait_for(lambda: not self._alone)
            self._inside += 1
        try:
            yield
        finally:
            with self._changed:
                self._inside -= 1
                self._changed.notify_all()

    @contextlib.contextmanager
    def exclusive(self) -> Iterator[None]:
        """Go in when all others have left, and keep newcomers out."""
        with self._changed:
            self._changed.wait_for(lambda: not self._alone)
            self._alone = True
            self._changed.wait_for(lambda: not self._inside)
        try:
            yield
        finally:
            with self._changed:
                self._alone = False
                self._changed.notify_all()
