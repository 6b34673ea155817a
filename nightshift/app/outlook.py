"""Forecasts the cost and duration of the open tasks for the status."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

from nightshift.app.store import StoreServices
from nightshift.config.load import Settings
from nightshift.core.clock import Clocks
from nightshift.core.tasks.forecast import WorkSettings
from nightshift.core.tasks.states import ENDED, Status
from nightshift.report.outlook import Outlook, read

FRESH_S, LEAST_S = 10.0, 1.0
"""Seconds for which a forecast is cached: `FRESH_S` normally, and `LEAST_S` if the number of open tasks has changed.
The status is read at every event, and a forecast of many tasks takes some hundredths of a second.
"""


class OutlookWatch:
    """Makes forecasts and caches them for some seconds; may be called from any thread.

    Args:
        settings: returns the current settings.
        store: the database.
        clocks: give the current time.
    """

    def __init__(self, settings: Callable[[], Settings], store: StoreServices, clocks: Clocks) -> None:
        self._settings, self._store, self._clocks = settings, store, clocks
        self._lock = threading.Lock()
        self._outlook, self._made_at = Outlook(), float("-inf")
        self._open: int | None = None

    def __call__(self, queue: Mapping[Status, int] | None = None) -> Outlook:
        """Return the forecast.

        It is at most `FRESH_S` old, or at most `LEAST_S` if the number of open tasks in `queue` has changed.
        """
        still_open = self._open if queue is None else sum(n for status, n in queue.items() if status not in ENDED)
        with self._lock:
            fresh_s = FRESH_S if still_open == self._open else LEAST_S
            if self._clocks.monotonic() - self._made_at >= fresh_s:
                self._open = still_open
                work = work_settings(self._settings())
                _, self._outlook = read(self._store.db.reader(), work, self._clocks.wall())
                self._made_at = self._clocks.monotonic()
            return self._outlook


def work_settings(settings: Settings) -> WorkSettings:
    """Return the settings that a forecast depends on."""
    return WorkSettings(
        workers=settings.worker_count,
        quiet_hours=tuple(settings.quiet_hours),
        day_cost_usd=settings.day_cost_usd,
    )
