"""The hub for the threads of the server: a pool of its own, and no thread waits for a hub that was away just now."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from bootstrap.hub import STATE_KEY
from config import Settings
from core.errors import HubAway
from db.state_store import StateStore
from hub.connection import HubConnections
from server.hub_port import OwnNode

AWAY_S = 5.0
"""So long after a failure others are told of it at once; then one of them tries again."""
_T = TypeVar("_T")


class HubClient:
    """See `server.hub_port.HubPort`.

    Args:
        url: of the hub.
        own: this machine as a node.
        away_s: how long a failure is believed.
    """

    def __init__(self, url: str, own: Callable[[], OwnNode], *, away_s: float = AWAY_S) -> None:
        self._url, self.own, self._away_s = url, own, away_s
        self._lock = threading.Lock()
        self._connections: HubConnections | None = None
        self._reason, self._failed_at = "", 0.0

    def ask(self, question: Callable[[HubConnections], _T]) -> _T:
        """What a question gives.

        Raises:
            ExtraMissing: the packages that speak with the hub are not installed.
            HubAway: it cannot be reached, or could not some seconds ago.
            HubRefused: it refuses.
        """
        with self._lock:
            now = time.monotonic()
            if self._reason and now - self._failed_at < self._away_s:
                raise HubAway(self._reason)
            self._failed_at = now  # who comes while this one tries again is told at once, too
            connections = self._connections = self._connections or HubConnections(self._url)
        try:
            found = question(connections)
        except HubAway as error:
            with self._lock:
                self._reason, self._failed_at = str(error), time.monotonic()
            raise
        with self._lock:
            self._reason = ""
        return found

    def close(self) -> None:
        """Close its connections."""
        with self._lock:
            if self._connections:
                self._connections.close()


def hub_client(settings: Settings, state: StateStore) -> HubClient | None:
    """The hub that the settings name; None where they name none."""
    if settings.hub_url is None:
        return None
    name = settings.node_name or socket.gethostname()[:60] or "node"

    def own() -> OwnNode:
        known = state.get(STATE_KEY)
        return OwnNode(id=None if known is None else str(known), name=name)

    return HubClient(settings.hub_url.get_secret_value(), own)
