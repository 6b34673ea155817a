"""Tells the service manager what happens: the datagrams of `sd_notify(3)`, without its library.

The protocol is one datagram of `NAME=value` lines to the socket that `NOTIFY_SOCKET` names; a leading `@` means the
null byte of Linux's abstract sockets. Nothing that goes wrong here may stop the daemon: it is told once, in the log.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import time

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
        """Tell whether there is anybody to tell."""
        return bool(self._address)

    def ready(self) -> None:
        """The daemon serves, or has taken up its new settings."""
        self._tell("READY=1")

    def reloading(self) -> None:
        """The settings are read again; the time lets the manager tell this from an earlier reload."""
        microseconds = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        self._tell("RELOADING=1", f"MONOTONIC_USEC={microseconds}")

    def stopping(self) -> None:
        """The daemon drains and ends."""
        self._tell("STOPPING=1")

    def alive(self) -> None:
        """All is well: the watchdog's next deadline begins."""
        self._tell("WATCHDOG=1")

    def status(self, text: str) -> None:
        """What `systemctl status` shows, in a line."""
        self._tell("STATUS=" + " ".join(text.split()))

    def _tell(self, *lines: str) -> None:
        if not self._address:
            return
        try:
            with contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)) as way:
                way.sendto("\n".join(lines).encode(), self._address)
        except OSError as error:
            if not self._complained:
                _log.warning("the service manager cannot be told: %s", error)
            self._complained = True
