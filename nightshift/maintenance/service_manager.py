"""Reports to the service manager what happens, with the datagrams of `sd_notify(3)`, and feeds its watchdog.

The protocol is one datagram of `NAME=value` lines to the socket that `NOTIFY_SOCKET` names; a leading `@` means the
null byte of Linux's abstract sockets. Nothing that goes wrong here may stop the daemon: it is logged once.

The watchdog is fed from the workers' loop and only while the daemon is healthy. A thread of its own would go on feeding
while the loop is blocked, and so hide just what the watchdog is for.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import time
from collections.abc import Callable, Sequence

STATUS_S = 10.0
"""How often the status line is looked at where the manager wants no sign of life."""
SHARE = 1 / 3
"""Signs of life come three times within the manager's limit: one that is late is no reason to die."""

_log = logging.getLogger(__name__)


class ServiceManagerLink:
    """The way to the service manager. Thread-safe; a message is one datagram and never waits.

    Args:
        address: of its socket, a path or an abstract name with `@`; empty where nobody listens.
    """

    def __init__(self, address: str) -> None:
        self._address = "\0" + address[1:] if address.startswith("@") else address
        self._complained = False

    @property
    def listens(self) -> bool:
        """Whether there is a service manager."""
        return bool(self._address)

    def ready(self) -> None:
        """The daemon serves, or has taken up its new settings."""
        self._send("READY=1")

    def reloading(self) -> None:
        """The settings are read again; the time lets the manager tell this from an earlier reload."""
        microseconds = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        self._send("RELOADING=1", f"MONOTONIC_USEC={microseconds}")

    def stopping(self) -> None:
        """The daemon drains and ends."""
        self._send("STOPPING=1")

    def alive(self) -> None:
        """All is well: the watchdog's next deadline begins."""
        self._send("WATCHDOG=1")

    def status(self, text: str) -> None:
        """Send the line that `systemctl status` shows."""
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
    """Reports to the service manager that all is well, and what the daemon does.

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
        self._reported = ""

    async def run(self) -> None:
        """Look again and again, until cancelled; ends at once where nobody listens."""
        while self._link.listens:
            self.look()
            await asyncio.sleep(self._every_s)

    def look(self) -> None:
        """Feed the watchdog if all is well, and report what has changed."""
        faults = self._faults()
        if not faults:
            self._link.alive()
        text = f"unhealthy: {'; '.join(faults)}" if faults else self._describe()
        if text != self._reported:
            self._reported = text
            self._link.status(text)
            if faults:
                _log.error("the watchdog is not fed: %s", "; ".join(faults))
