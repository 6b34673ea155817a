"""An event loop in virtual time: when it has nothing to do, its clock jumps to the next timer. Hours pass at once.

Use it for code that waits only through the event loop. A wait for a socket or a thread does not work in it.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

_T = TypeVar("_T")


class _Selector(selectors.DefaultSelector):
    """A selector that never waits: it adds the timeout to `now_s` instead."""

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
    """Run a coroutine to its end in virtual time."""
    with asyncio.Runner(loop_factory=_Loop) as runner:
        return runner.run(work)
