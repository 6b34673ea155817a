"""Chooses the way to the API: over the network where the daemon of a home runs, else in this process."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from nightshift.client.connection import PROBE_WALL_S, Connection, NetworkConnection
from nightshift.client.errors import DaemonGone
from nightshift.config.access import Access
from nightshift.maintenance.instance_lock import is_held

if TYPE_CHECKING:
    from nightshift.config.load import Settings


def connect(access: Access, settings: Callable[[], Settings]) -> Connection:
    """To the daemon of this home where it answers, else to its database; chosen anew by each call.

    Args:
        access: to the home.
        settings: reads all of them; called where no daemon answers, by requests for more than the status.

    Raises:
        NotAllowed: a daemon runs, and refuses us.
    """
    if not is_held(access.places.lock_file, access.places.db_lock_file):
        return _offline(access, settings, "the daemon is not running")
    connection = NetworkConnection(access)
    try:
        connection.status(PROBE_WALL_S)
    except DaemonGone as gone:
        return _offline(access, settings, f"a process works on this home, but {gone}")
    return connection


def _offline(access: Access, settings: Callable[[], Settings], why: str) -> Connection:
    from nightshift.client.offline import OfflineConnection  # noqa: PLC0415  # a running daemon spares us the database

    return OfflineConnection(access.places.db_path, settings, why)
