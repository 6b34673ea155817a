"""Reports the daemon's state to the service manager, as `sd_notify(3)` does, and keeps its watchdog satisfied.

The protocol is one datagram of `NAME=value` lines to the socket that `NOTIFY_SOCKET` names; a leading `@` stands for
the null byte of Linux's abstract sockets. No error here may stop the daemon; the first one is logged.

The watchdog's signals are sent from the workers' loop, and only while the daemon is healthy. A separate thread would
continue to send them while the loop is blocked, and so hide the very fault that the watchdog should notice.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import time
from collections.abc import Callable, Sequence

STATUS_S = 10.0
"""Seconds between updates of the status line if the manager has no watchdog."""
SHARE = 1 / 3
"""Interval between watchdog signals, as a share of the service manager's limit, so that one late signal does no harm.
"""

_log = logging.getLogger(__name__)


class ServiceManagerLink:
    """The connection to the service manager. Thread-safe; a message is one datagram, and sending never blocks.

    Args:
        address: address of the manager's socket, a path or an abstract name with `@`; empty if there is no manager.
    """

    def __init__(self, address: str) -> None:
        self._address = "\0" + address[1:] if address.startswith("@") else address
        self._complained = False

    @property
    def listens(self) -> bool:
        """True if there is a service manager."""
        return bool(self._address)

    def ready(self) -> None:
        """Report that the daemon serves, or has applied its new settings."""
        self._send("READY=1")

    def reloading(self) -> None:
        """Report that the settings are being read again.

        The message contains the time, to distinguish it from earlier reloads.
        """
        microseconds = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        self._send("RELOADING=1", f"MONOTONIC_USEC={microseconds}")

    def stopping(self) -> None:
        """Report that the daemon is shutting down."""
        self._send("STOPPING=1")

    def alive(self) -> None:
        """Report that the daemon is healthy, which restarts the watchdog's deadline."""
        self._send("WATCHDOG=1")

    def status(self, text: str) -> None:
        """Send the status line that `systemctl status` shows."""
        self._send("STATUS=" + " ".join(text.split()))

    def _send(self, *lines: str) -> None:
        if not self._address:
            return
        try:
            with contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)) as way:
                way.sendto("\n".join(lines).encode(), self._address)
        except OSError as error:
            if not self._complained:
                _log.warning("the service manager does not answer: %s", error)
            self._complained = True


class Watchdog:
    """Reports periodically to the service manager that the daemon is healthy, and what it is doing.

    Args:
        link: the connection to the service manager.
        limit_s: the manager's watchdog timeout in seconds; None if it has none.
        faults: returns the daemon's faults (`maintenance.health.Vitals.faults`).
        describe: returns the daemon's current work, in one line.
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
        self._reported = ""

    async def run(self) -> None:
        """Report periodically until cancelled; return at once if there is no service manager."""
        while self._link.listens:
            self.look()
            await asyncio.sleep(self._every_s)

    def look(self) -> None:
        """Send the watchdog signal if there are no faults, and update the status line if it has changed."""
        faults = self._faults()
        if not faults:
            self._link.alive()
        text = f"unhealthy: {'; '.join(faults)}" if faults else self._describe()
        if text != self._reported:
            self._reported = text
            self._link.status(text)
            if faults:
                _log.error("the watchdog is not fed: %s", "; ".join(faults))
