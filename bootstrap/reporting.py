"""Writes weekly reports, at checkpoints and when they are asked for."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from bootstrap.store import Store
from config import Settings
from core.clock import Clock
from server.desk import Busy


class Reporter:
    """Writes reports on one database. Thread-safe; blocks while it reads.

    Args:
        settings: say where reports go.
        store: the database, and what masks its texts.
        clock: the time.
    """

    def __init__(self, settings: Callable[[], Settings], store: Store, clock: Clock) -> None:
        self._settings, self._store, self._clock = settings, store, clock
        self._lock = threading.Lock()

    def of_span(self, since: datetime, until: datetime) -> Path:
        """Write the report of a span, since ≤ t < until; gives the path of its Markdown.

        Raises:
            OSError: the folder cannot be written.
            StoreError: the database cannot be read.
        """
        from weekly_summary import summarise, write_report  # noqa: PLC0415  needed once a week

        with self._lock:
            summary = summarise(self._store.db, since, until)
            return write_report(summary, self._settings().reports_dir, self._store.mask)

    def of_week(self, week: str) -> Path:
        """Write the report of a week such as `2026-W47`, or (empty) of the time since the last checkpoint.

        Raises:
            ValueError: there is no such week, or it has not begun.
            Busy: the folder cannot be written.
            StoreError: the database cannot be read.
        """
        from report.spans import asked_span  # noqa: PLC0415  as above

        span = asked_span(self._store.db, week, self._clock(), self._settings().checkpoint_days)
        try:
            return self.of_span(*span)
        except OSError as error:
            raise Busy(f"the report cannot be written: {error}") from error
