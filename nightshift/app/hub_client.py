"""The hub for the server's threads: a pool of its own; few of them wait for it, and none while it is known as away."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from nightshift.app.hub import STATE_KEY, node_name
from nightshift.config.load import Settings
from nightshift.core.errors import HubAway
from nightshift.remote.hub.connection import HubConnections
from nightshift.server.hub_port import OwnNode
from nightshift.storage.db.state_store import StateStore

AWAY_S = 5.0
"""So long after a failure others are told of it at once; then one of them tries again."""
AT_ONCE, WAIT_S = 4, 1.0
"""So many questions may be open at the hub; others wait so long for their turn."""
ANSWER_S = 12.0
"""So long an answer is waited for: longer than a new connection may take, and less than a node waits."""
_T = TypeVar("_T")


class HubClient:
    """See `server.hub_port.HubPort`.

    Args:
        url: of the hub.
        own: this machine as a node.
        away_s: how long a failure is believed.
        answer_s: how long an answer is waited for.
    """

    def __init__(
        self, url: str, own: Callable[[], OwnNode], *, away_s: float = AWAY_S, answer_s: float = ANSWER_S
    ) -> None:
        self._url, self.own, self._away_s, self._answer_s = url, own, away_s, answer_s
        self._lock, self._turns = threading.Lock(), threading.Semaphore(AT_ONCE)
        self._connections: HubConnections | None = None
        self._reason, self._failed_at = "", 0.0

    def ask(self, question: Callable[[HubConnections], _T]) -> _T:
        """Ask the hub a question and return the answer.

        Raises:
            ExtraMissing: the packages that speak with the hub are not installed.
            HubAway: it cannot be reached, or could not some seconds ago, or others wait for it already.
            HubRefused: it refuses.
        """
        if not self._turns.acquire(timeout=WAIT_S):
            raise HubAway("the hub is slow to answer; others wait for it already")
        answer: Future[_T] = Future()
        # A thread of its own, which may wait for a hub that hangs for longer than a page does.
        threading.Thread(target=self._answer, args=(question, answer), name="hub-question", daemon=True).start()
        try:
            return answer.result(self._answer_s)
        except TimeoutError:
            reason = f"the hub has not answered for {self._answer_s:g} s"
            self._note_away(reason)
            raise HubAway(reason) from None

    def _answer(self, question: Callable[[HubConnections], _T], answer: Future[_T]) -> None:
        try:
            answer.set_result(self._asked(question))
        except BaseException as error:  # noqa: BLE001  it is raised where it is waited for
            answer.set_exception(error)
        finally:
            self._turns.release()

    def _asked(self, question: Callable[[HubConnections], _T]) -> _T:
        with self._lock:
            now = time.monotonic()
            if self._reason and now - self._failed_at < self._away_s:
                raise HubAway(self._reason)
            self._failed_at = now  # who comes while this one tries again is told at once, too
            connections = self._connections = self._connections or HubConnections(self._url, AT_ONCE)
        try:
            found = question(connections)
        except HubAway as error:
            self._note_away(str(error))
            raise
        with self._lock:
            self._reason = ""
        return found

    def _note_away(self, reason: str) -> None:
        with self._lock:
            self._reason, self._failed_at = reason, time.monotonic()

    def close(self) -> None:
        """Close its connections."""
        with self._lock:
            if self._connections:
                self._connections.close()


def hub_client(settings: Settings, state: StateStore) -> HubClient | None:
    """The hub that the settings name; None where they name none."""
    if settings.hub_url is None:
        return None
    name = node_name(settings)

    def own() -> OwnNode:
        known = state.get(STATE_KEY)
        return OwnNode(id=None if known is None else str(known), name=name)

    return HubClient(settings.hub_url.get_secret_value(), own)
