"""Feeds the service manager's watchdog, from the workers' loop and only while the daemon is healthy.

A thread of its own would go on feeding while the loop is blocked, and so hide just what the watchdog is for.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

from maintenance.service_manager import ServiceManagerLink

STATUS_S = 10.0
"""How often the status line is looked at where the manager wants no sign of life."""
SHARE = 1 / 3
"""Signs of life come three times within the manager's limit: one that is late is no reason to die."""

_log = logging.getLogger(__name__)


class Watchdog:
    """Tells the service manager that all is well, and what the daemon does.

    Args:
        link: to the manager.
        limit_s: after which the manager takes the daemon for dead; None where it does not look.
        faults: what is not well (`maintenance.health.Vitals.faults`).
        describe: what the daemon does, in a line.
    """

    def __init__(
        self,
        link: ServiceManagerLink,
        limit_s: float | None,
        *,
        faults: Callable[[], Sequence[str]],
        describe: Callable[[], str],
    ) -> None:
        self._link, self._every_s = link, limit_s * SHARE if limit_s else STATUS_S
        self._faults, self._describe = faults, describe
        self._told = ""

    async def run(self) -> None:
        """Look again and again, until cancelled; ends at once where nobody listens."""
        while self._link.listens:
            self.look()
            await asyncio.sleep(self._every_s)

    def look(self) -> None:
        """Feed the watchdog if all is well, and tell what has changed."""
        faults = self._faults()
        if not faults:
            self._link.alive()
        text = f"unhealthy: {'; '.join(faults)}" if faults else self._describe()
        if text != self._told:
            self._told = text
            self._link.status(text)
            if faults:
                _log.error("the watchdog is not fed: %s", "; ".join(faults))
