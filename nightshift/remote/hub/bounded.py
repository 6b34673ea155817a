"""A PostgreSQL connection with a timeout for every answer; libpq itself has a timeout only for connecting."""

from __future__ import annotations

import math
import time
from collections.abc import Generator
from typing import Any, ClassVar

import psycopg
from psycopg.rows import DictRow

_RESUMED_S = 0.1
"""Seconds between two checks of the timeout while waiting for an answer."""


class Bounded(psycopg.Connection[DictRow]):
    """A connection that waits at most `answer_s` seconds for an answer, then closes and raises `OperationalError`."""

    answer_s: ClassVar[float]
    answered_at = -math.inf
    """Time of the last answer, by `time.monotonic`."""

    def wait(self, gen: Generator[Any, Any, Any], interval: float = _RESUMED_S, timeout: float | None = None) -> Any:
        """See `psycopg.Connection.wait`.

        A caller that listens for notifications passes its own timeout. The expiry of that timeout is not an error.
        """
        if timeout is not None:
            return super().wait(gen, interval, timeout)
        try:
            result = super().wait(_until(gen, time.monotonic() + self.answer_s), interval)
        except _NoAnswer:
            self.pgconn.finish()  # a late answer must not be read as the answer to another query
            raise psycopg.OperationalError(f"no answer for {self.answer_s:g} s") from None
        self.answered_at = time.monotonic()
        return result


def bound_wait(answer_s: float) -> type[Bounded]:
    """Return a connection class with this timeout in seconds.

    The timeout is an attribute of a class, because a pool creates its connections from a class.
    """
    return type("Bounded", (Bounded,), {"answer_s": answer_s})


class _NoAnswer(Exception):
    """No answer came within the timeout."""


def _until(gen: Generator[Any, Any, Any], end: float) -> Generator[Any, Any, Any]:
    """Wrap a generator of psycopg so that it raises `_NoAnswer` when it waits beyond the time `end`."""
    try:
        wanted = next(gen)
        while True:
            ready = yield wanted
            if not ready and time.monotonic() >= end:
                raise _NoAnswer
            wanted = gen.send(ready)
    except StopIteration as over:
        return over.value
