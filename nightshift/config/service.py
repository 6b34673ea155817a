"""The protocol between a service manager and a process that it starts: `sd_notify(3)` and `sd_watchdog_enabled(3)`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

VARIABLES = ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "FDSTORE", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES")
"""Environment variables that are meant for this process alone. With them, a child process could notify the service
manager in the name of this process.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceManager:
    """How to notify the service manager.

    `socket` receives notifications; empty means that there is no service manager. `watchdog_s` is the interval of the
    watchdog's signs of life in seconds; None means that none are needed.
    """

    socket: str = ""
    watchdog_s: float | None = None


def service_manager_in(environ: Mapping[str, str], pid: int) -> ServiceManager:
    """Read the environment variables. The watchdog's variables apply only to the process that they name.

    Args:
        environ: The environment variables.
        pid: The id of this process.
    """
    microseconds = environ.get("WATCHDOG_USEC", "")
    meant = environ.get("WATCHDOG_PID", str(pid)) == str(pid)
    watched = meant and microseconds.isascii() and microseconds.isdigit() and int(microseconds) > 0
    return ServiceManager(
        socket=environ.get("NOTIFY_SOCKET", ""), watchdog_s=int(microseconds) / 1e6 if watched else None
    )
