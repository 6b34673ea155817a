"""The way to the API: over the network where the daemon of a home runs, else to the same application in process.

Whether a daemon runs is known from the lock that it holds, not from its port: another home's daemon, or another
program, may answer there. So an answer counts only if it has the shape of the daemon's. The status is asked for
often, by scripts and status bars, so nothing here imports pydantic, Flask or the settings until it must
(`tests/client/test_connection.py`).
"""

from __future__ import annotations

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlencode

from nightshift.client.errors import DaemonGone, NotAllowed, NotFound, Stranger
from nightshift.config.access import Access
from nightshift.core.errors import IllegalMove, InvalidTask, NightshiftError
from nightshift.core.status import DaemonStatus
from nightshift.core.text.from_plain import from_plain

if TYPE_CHECKING:
    pass

PROBE_WALL_S = 2.0
ANSWER_WALL_S = 30.0
MAX_ANSWER_BYTES = 50_000_000
TOO_SOON_TRIES = 10
A = TypeVar("A")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request; `path` has its query already."""

    method: str
    path: str
    content: bytes | None = None
    wall_s: float = ANSWER_WALL_S


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An answer that is not looked into yet; after `retry_after_s` a request that came too soon may come again."""

    status: int
    content: bytes
    retry_after_s: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """The content of `server.schemas.Failed`."""

    error: str
    fields: Mapping[str, str] = field(default_factory=dict)
    more: int = 0


class Connection(ABC):
    """Sends requests and tells what their failures mean; for one thread.

    `ask` and `status` raise `DaemonGone` where the daemon went away, `NotAllowed` where it refuses, `NotFound` where
    what is named is not there, `IllegalMove` where it may not be done, and `InvalidTask` with the fields that are
    wrong.

    Args:
        where: it leads to, as an address.
        why_offline: why no daemon is behind it; empty where one is.
    """

    def __init__(self, where: str, why_offline: str = "") -> None:
        self._where, self.why_offline = where, why_offline

    @property
    def live(self) -> bool:
        """Whether a daemon is behind it."""
        return not self.why_offline

    @abstractmethod
    def status(self, wall_s: float = ANSWER_WALL_S) -> DaemonStatus:
        """The daemon as a whole."""

    @abstractmethod
    def close(self) -> None:
        """Let go of sockets and databases; it may not be used again."""

    @abstractmethod
    def _send_once(self, request: Request) -> Reply: ...

    def send(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        query: Mapping[str, Any] | None = None,
        wall_s: float = ANSWER_WALL_S,
    ) -> Reply:
        """Send one request, and send it again where the daemon answers that it came too soon and had no effect."""
        content = None if body is None else json.dumps(body).encode()
        whole = f"{path}?{urlencode(query)}" if query else path
        request = Request(method=method, path=whole, content=content, wall_s=wall_s)
        for _ in range(TOO_SOON_TRIES):
            reply = self._send_once(request)
            if reply.status != HTTPStatus.TOO_MANY_REQUESTS:
                break
            time.sleep(min(reply.retry_after_s, wall_s))
        return reply

    def read(self, reply: Reply, made: Callable[[bytes], A]) -> A:
        """Return the content of a reply; `made` raises ValueError where the reply is of another shape."""
        if not HTTPStatus(200) <= reply.status < HTTPStatus(300):
            raise self._error(reply)
        try:
            return made(reply.content)
        except (ValueError, RecursionError):
            raise self._stranger("something that is not Nightshift answers, or one of another version") from None

    def failure(self, reply: Reply) -> Failure:
        """Read the failure from a reply that is no success."""
        try:
            return from_plain(Failure, json.loads(reply.content))
        except (ValueError, RecursionError):
            raise self._stranger(f"something that is not Nightshift answers (HTTP {reply.status})") from None

    def _error(self, reply: Reply) -> NightshiftError:
        failed = self.failure(reply)
        match reply.status:
            case HTTPStatus.BAD_REQUEST | HTTPStatus.UNPROCESSABLE_ENTITY:
                return InvalidTask(dict(failed.fields) or {"task": failed.error}, failed.more)
            case HTTPStatus.UNAUTHORIZED:
                return NotAllowed(
                    "the daemon asks for its token: set API_TOKEN here as it was set where the daemon started"
                )
            case HTTPStatus.FORBIDDEN:
                return NotAllowed(failed.error)
            case HTTPStatus.NOT_FOUND:
                return NotFound(failed.error)
            case HTTPStatus.CONFLICT:
                return IllegalMove(failed.error)
            case status if self.live:
                return NightshiftError(f"the daemon answered with HTTP {status}: {failed.error}")
            case _:
                return NightshiftError(failed.error)

    def _stranger(self, what: str) -> Stranger:
        return Stranger(f"{what} at {self._where}")


class NetworkConnection(Connection):
    """To the daemon. No redirect is followed and no proxy taken from the environment: either would get the token.

    Each request has a socket of its own: a kept one may be closed just when it is needed.
    """

    def __init__(self, access: Access) -> None:
        self._host, self._port = access.host, access.port
        token = access.token
        self._headers = {"Accept": "application/json"} | (
            {"Authorization": f"Bearer {token}".encode()} if token else {}
        )
        super().__init__(f"{self._host}:{self._port}")

    def status(self, wall_s: float = ANSWER_WALL_S) -> DaemonStatus:
        """The daemon as a whole."""
        return self.read(self.send("GET", "/api/status", wall_s=wall_s), _status)

    def close(self) -> None:
        """There is nothing to let go of."""

    def _send_once(self, request: Request) -> Reply:
        import http.client  # noqa: PLC0415  # a fiftieth of a second, which a home without a daemon is spared

        headers = self._headers | ({} if request.content is None else {"Content-Type": "application/json"})
        connection = http.client.HTTPConnection(self._host, self._port, timeout=request.wall_s)
        try:
            connection.request(request.method, request.path, request.content, headers)
            response = connection.getresponse()
            content = response.read(MAX_ANSWER_BYTES + 1)
        except TimeoutError:
            raise self._stranger(f"something listens but gave no answer in {request.wall_s:g} s") from None
        except (http.client.HTTPException, ValueError):
            raise self._stranger("something that does not speak HTTP answers") from None
        except OSError as error:
            raise DaemonGone(f"no daemon answers: {error.strerror or error} at {self._where}") from None
        finally:
            connection.close()
        if len(content) > MAX_ANSWER_BYTES:
            raise self._stranger("something answers without an end")
        wait = response.headers.get("Retry-After", "")
        return Reply(status=response.status, content=content, retry_after_s=float(wait) if wait.isdigit() else 1.0)


def _status(content: bytes) -> DaemonStatus:
    return from_plain(DaemonStatus, json.loads(content))
