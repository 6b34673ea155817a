"""A connection to PostgreSQL whose every answer has a bound: libpq has one for connecting alone."""

from __future__ import annotations

import math
import time
from collections.abc import Generator
from typing import Any, ClassVar

import psycopg
from psycopg.rows import DictRow

_RESUMED_S = 0.1
"""How often one that waits is resumed, in seconds."""


class Bounded(psycopg.Connection[DictRow]):
    """Waits so long for an answer, in seconds, then closes and raises `OperationalError`."""

    answer_s: ClassVar[float]
    answered_at = -math.inf
    """When the last answer came, by `time.monotonic`."""

    def wait(self, gen: Generator[Any, Any, Any], interval: float = _RESUMED_S, timeout: float | None = None) -> Any:
        """See `psycopg.Connection.wait`; who listens brings a bound of their own, after which all is well."""
        if timeout is not None:
            return super().wait(gen, interval, timeout)
        try:
            result = super().wait(_until(gen, time.monotonic() + self.answer_s), interval)
        except _NoAnswer:
            self.pgconn.finish()  # what the server may still say belongs to no question any more
            raise psycopg.OperationalError(f"no answer for {self.answer_s:g} s") from None
        self.answered_at = time.monotonic()
        return result


def bound_wait(answer_s: float) -> type[Bounded]:
    """The class of those that wait so many seconds: a pool makes its connections by class."""
    return type("Bounded", (Bounded,), {"answer_s": answer_s})


class _NoAnswer(Exception):
    """The bound has passed."""


def _until(gen: Generator[Any, Any, Any], end: float) -> Generator[Any, Any, Any]:
    """A generator of psycopg's that fails where it has to wait longer."""
    try:
        wanted = next(gen)
        while True:
            ready = yield wanted
            if not ready and time.monotonic() >= end:
                raise _NoAnswer
            wanted = gen.send(ready)
    except StopIteration as over:
        return over.value
