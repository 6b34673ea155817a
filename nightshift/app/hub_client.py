"""Access to the hub for the server's threads.

Only a few threads may wait for the hub at once, and no thread waits while the hub is known to be down.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

from nightshift.app.hub import STATE_KEY, node_name
from nightshift.config.load import Settings
from nightshift.core.errors import HubAway
from nightshift.core.hub import HubAct, HubTask, NodeStatus, Overview, OwnNode, Signed
from nightshift.core.tasks.states import Status
from nightshift.storage.db.state_store import StateStore

if TYPE_CHECKING:
    from nightshift.remote.hub.connection import HubConnection

AWAY_S = 5.0
"""Seconds after a failure during which requests fail at once; after that, one request tries to reach the hub again."""
AT_ONCE, WAIT_S = 4, 1.0
"""Maximum number of concurrent requests, and the seconds that any further request waits for a free slot."""
ANSWER_S = 12.0
"""Timeout of an answer in seconds: longer than opening a connection may take, and shorter than a node's timeout."""
_T = TypeVar("_T")


class HubClient:
    """Implements `core.hub.Hub`.

    Args:
        url: address of the hub.
        own: returns this machine as a node.
        away_s: seconds for which a failure is remembered.
        answer_s: timeout of an answer in seconds.
    """

    def __init__(
        self, url: str, own: Callable[[], OwnNode], *, away_s: float = AWAY_S, answer_s: float = ANSWER_S
    ) -> None:
        self._url, self.own, self._away_s, self._answer_s = url, own, away_s, answer_s
        self._lock, self._turns = threading.Lock(), threading.Semaphore(AT_ONCE)
        self._connection: HubConnection | None = None
        self._reason, self._failed_at = "", 0.0

    def overview(self) -> Overview:
        """Return the nodes, the counts and the pause of the hub; see `core.hub.Hub`."""
        return self.ask(_overview)

    def tasks(self, status: Status | None, limit: int, after: int | None) -> Sequence[tuple[HubTask, Signed | None]]:
        """Return tasks of the hub, each with the check of its signature; see `core.hub.Hub`."""
        return self.ask(lambda hub: _tasks(hub, status, limit, after))

    def act(self, act: HubAct, task_id: int, priority: int = 0) -> Status:
        """Act on a task of the hub; see `core.hub.Hub`."""
        return self.ask(lambda hub: _act(hub, act, task_id, priority))

    def pause(self, reason: str | None) -> None:
        """Pause the hub for a reason, or resume it with None; see `core.hub.Hub`."""
        self.ask(lambda hub: _pause(hub, reason))

    def drain(self, node: str, *, draining: bool) -> NodeStatus:
        """Drain a node, or let it accept work again; see `core.hub.Hub`."""
        return self.ask(lambda hub: _drain(hub, node, draining=draining))

    def ask(self, question: Callable[[HubConnection], _T]) -> _T:
        """Call a function with the connection to the hub, and return its result.

        Raises:
            ExtraMissing: the packages for the hub are not installed.
            HubAway: the hub cannot be reached, could not be reached some seconds ago, or too many requests wait for it.
            HubRefused: the hub refuses the request.
        """
        if not self._turns.acquire(timeout=WAIT_S):
            raise HubAway("the hub is slow to answer; other requests already wait for it")
        answer: Future[_T] = Future()
        # Use a separate thread: a call to a hub that hangs may take longer than a page waits.
        threading.Thread(target=self._answer, args=(question, answer), name="hub-question", daemon=True).start()
        try:
            return answer.result(self._answer_s)
        except TimeoutError:
            reason = f"the hub has not answered for {self._answer_s:g} s"
            self._note_away(reason)
            raise HubAway(reason) from None

    def _answer(self, question: Callable[[HubConnection], _T], answer: Future[_T]) -> None:
        try:
            answer.set_result(self._asked(question))
        except BaseException as error:  # noqa: BLE001  it is raised where it is waited for
            answer.set_exception(error)
        finally:
            self._turns.release()

    def _asked(self, question: Callable[[HubConnection], _T]) -> _T:
        with self._lock:
            now = time.monotonic()
            if self._reason and now - self._failed_at < self._away_s:
                raise HubAway(self._reason)
            self._failed_at = now  # other requests fail at once while this one tries to reach the hub
            if self._connection is None:
                from nightshift.remote.hub.connection import HubConnection  # noqa: PLC0415  an extra

                self._connection = HubConnection(self._url, self._answer_s)
            connection = self._connection
        try:
            answer = question(connection)
        except HubAway as error:
            self._note_away(str(error))
            raise
        with self._lock:
            self._reason = ""
        return answer

    def _note_away(self, reason: str) -> None:
        with self._lock:
            self._reason, self._failed_at = reason, time.monotonic()

    def close(self) -> None:
        """Close the connection to the hub."""
        with self._lock:
            if self._connection:
                self._connection.close()


def hub_client(settings: Settings, state: StateStore) -> HubClient | None:
    """Return a client of the hub that the settings name, or None if they name none."""
    if settings.hub_url is None:
        return None
    name, ui = node_name(settings), ui_of(settings.hub_url)

    def own() -> OwnNode:
        node_id = state.get(STATE_KEY)
        return OwnNode(id=None if node_id is None else str(node_id), name=name, ui=ui)

    return HubClient(settings.hub_url, own)


# The functions below import Temporal's SDK, an optional package, only when they are called.


def _overview(hub: HubConnection) -> Overview:
    from nightshift.remote.hub.nodes import overview  # noqa: PLC0415

    return overview(hub)


def _tasks(
    hub: HubConnection, status: Status | None, limit: int, after: int | None
) -> list[tuple[HubTask, Signed | None]]:
    from nightshift.remote.hub.nodes import keys  # noqa: PLC0415
    from nightshift.remote.hub.queue import HubQueue  # noqa: PLC0415
    from nightshift.remote.hub.signing import result_is_signed  # noqa: PLC0415

    public = keys(hub)
    return [(task, result_is_signed(task, public)) for task in HubQueue(hub).find(status, limit, after)]


def _act(hub: HubConnection, act: HubAct, task_id: int, priority: int) -> Status:
    from nightshift.remote.hub.queue import HubQueue  # noqa: PLC0415

    queue = HubQueue(hub)
    match act:
        case HubAct.CANCEL:
            return queue.cancel(task_id)
        case HubAct.RETRY:
            return queue.retry(task_id)
        case HubAct.PRIORITISE:
            return queue.prioritise(task_id, priority)


def _pause(hub: HubConnection, reason: str | None) -> None:
    from nightshift.remote.hub.control import pause  # noqa: PLC0415

    pause(hub, reason)


def _drain(hub: HubConnection, node: str, *, draining: bool) -> NodeStatus:
    from nightshift.remote.hub.nodes import drain  # noqa: PLC0415

    return drain(hub, node, draining=draining)


def ui_of(url: str) -> str:
    """Return the address of Temporal's web page.

    This is the page of the hosted service, or the default port of a self-hosted server.
    """
    parts = urlsplit(url)
    namespace = parts.path.strip("/") or "default"
    if (parts.hostname or "").endswith((".tmprl.cloud", ".temporal.io")):
        return f"https://cloud.temporal.io/namespaces/{namespace}/workflows"
    return f"http://{parts.hostname}:{(parts.port or 7233) + 1000}/namespaces/{namespace}/workflows"
