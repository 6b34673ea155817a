"""An event loop whose time jumps to the next timer when nothing is left to do: hours pass at once, and exactly.

For code that waits by the loop alone; whoever waits for a socket or a thread waits for nothing here.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

_T = TypeVar("_T")


class _Selector(selectors.DefaultSelector):
    """Waits for nothing: the time that would have been waited is told to `now_s`."""

    now_s = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise AssertionError("waits for ever")
        ready: list[tuple[selectors.SelectorKey, int]] = super().select(0)
        if not ready:
            self.now_s += timeout
        return ready


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._virtual = _Selector()
        super().__init__(self._virtual)

    def time(self) -> float:
        return self._virtual.now_s


def run(work: Coroutine[Any, Any, _T]) -> _T:
    """Run to the end in virtual time."""
    with asyncio.Runner(loop_factory=_Loop) as runner:
        return runner.run(work)
