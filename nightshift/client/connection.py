"""Connects to the API of a home: over the network if its daemon runs, otherwise inside this process.

The daemon's lock shows whether it runs. Its port does not show this, because the daemon of another home, or another
program, may answer there. Answers are JSON. This module checks only that an answer is a JSON object, and that a failure
contains an error text. Commands read the fields of an answer by name, and a missing field means that another program
has answered.
"""

from __future__ import annotations

import http.client
import json
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

from nightshift.client.errors import DaemonGone, NotAllowed, NotFound, Stranger
from nightshift.config.access import Access
from nightshift.config.places import is_held
from nightshift.core.errors import IllegalMove, InvalidTask, NightshiftError

PROBE_WALL_S = 2.0
ANSWER_WALL_S = 30.0
MAX_ANSWER_BYTES = 50_000_000
TOO_SOON_TRIES = 10
_OF_A_STATUS = ("state", "version", "queue", "overall")


class Answer(dict[str, Any]):
    """A JSON object from an answer. Its fields can also be read as attributes."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise Stranger(
                f"something that is not Nightshift, or is another version of it, answers: no {name!r}"
            ) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request to the API. `path` already contains the query."""

    method: str
    path: str
    content: bytes | None = None
    wall_s: float = ANSWER_WALL_S


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A response that is not parsed yet.

    If the daemon refused the request because it came too soon, the request may be sent again after `retry_after_s`
    seconds.
    """

    status: int
    content: bytes
    retry_after_s: float = 1.0


class Connection(ABC):
    """Sends requests to the API and turns failures into exceptions. May be used by one thread only.

    Args:
        where: the address of the API, for error messages.
        why_offline: the reason why no daemon answers; empty if a daemon answers.
    """

    def __init__(self, where: str, why_offline: str = "") -> None:
        self._where, self.why_offline = where, why_offline

    @property
    def live(self) -> bool:
        """True if a daemon answers."""
        return not self.why_offline

    def close(self) -> None:  # noqa: B027  # a network connection has nothing to let go of
        """Close the databases, if the connection uses any. The connection cannot be used again."""

    @abstractmethod
    def _send_once(self, request: Request) -> Reply: ...

    def status(self, wall_s: float = ANSWER_WALL_S) -> Answer:
        """Return the daemon's status; raises as `ask` does."""
        return self.ask("GET", "/api/status", wall_s=wall_s)

    def send(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        query: Mapping[str, Any] | None = None,
        wall_s: float = ANSWER_WALL_S,
    ) -> Reply:
        """Send a request. If the daemon refuses it because it came too soon, send the request again.

        Repeating is safe, because a refused request had no effect.
        """
        content = None if body is None else json.dumps(body).encode()
        given = {name: value for name, value in (query or {}).items() if value is not None}
        address = f"{path}?{urlencode(given)}" if given else path
        request = Request(method=method, path=address, content=content, wall_s=wall_s)
        for _ in range(TOO_SOON_TRIES):
            reply = self._send_once(request)
            if reply.status != HTTPStatus.TOO_MANY_REQUESTS:
                break
            time.sleep(min(reply.retry_after_s, wall_s))
        return reply

    def ask(self, method: str, path: str, body: Mapping[str, Any] | None = None, **more: Any) -> Answer:
        """Send a request as `send` does, and return the parsed answer.

        Raises:
            DaemonGone: the daemon does not answer any more, or another program answers.
            NotAllowed: the daemon refuses the client.
            NotFound: the request names something that does not exist.
            IllegalMove: the action is not allowed now.
            InvalidTask: fields of the request are wrong. The error names them.
        """
        return self.read(self.send(method, path, body, **more))

    def read(self, reply: Reply) -> Answer:
        """Parse the content of a reply; raises as `ask` does."""
        try:
            answer = json.loads(reply.content, object_hook=Answer)
        except (ValueError, RecursionError):
            answer = None
        succeeded = HTTPStatus(200) <= reply.status < HTTPStatus(300)
        if not isinstance(answer, Answer) or not (succeeded or isinstance(answer.get("error"), str)):
            raise Stranger(f"something that is not Nightshift answers (HTTP {reply.status}) at {self._where}")
        if not succeeded:
            raise self._error(reply.status, answer)
        return answer

    def _error(self, status: int, failed: Answer) -> NightshiftError:
        match status:
            case HTTPStatus.BAD_REQUEST | HTTPStatus.UNPROCESSABLE_ENTITY:
                return InvalidTask(failed.get("fields") or {"task": failed.error}, failed.get("more", 0))
            case HTTPStatus.UNAUTHORIZED:
                return NotAllowed("the daemon asks for its token: set API_TOKEN here to the value that the daemon has")
            case HTTPStatus.FORBIDDEN:
                return NotAllowed(failed.error)
            case HTTPStatus.NOT_FOUND:
                return NotFound(failed.error)
            case HTTPStatus.CONFLICT:
                return IllegalMove(failed.error)
            case _ if self.live:
                return NightshiftError(f"the daemon answered with HTTP {status}: {failed.error}")
            case _:
                return NightshiftError(failed.error)


class NetworkConnection(Connection):
    """A connection to the daemon. It follows no redirect and uses no proxy, because either could receive the token.

    Each request opens a new socket: the daemon may close an idle socket just when the next request needs it.
    """

    def __init__(self, access: Access) -> None:
        self._host, self._port = access.host, access.port
        token = access.token
        self._headers = {"Accept": "application/json"} | (
            {"Authorization": f"Bearer {token}".encode()} if token else {}
        )
        super().__init__(f"{self._host}:{self._port}")

    def probe(self) -> None:
        """Check that the daemon answers and not another program; raises as `ask` does."""
        answer = self.status(PROBE_WALL_S)
        if any(name not in answer for name in _OF_A_STATUS):
            raise Stranger(f"something that is not Nightshift, or is another version of it, answers at {self._where}")

    def _send_once(self, request: Request) -> Reply:
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
            raise self._stranger("the answer does not end")
        wait = response.headers.get("Retry-After", "")
        return Reply(status=response.status, content=content, retry_after_s=float(wait) if wait.isdigit() else 1.0)

    def _stranger(self, what: str) -> Stranger:
        return Stranger(f"{what} at {self._where}")


def connect(access: Access, offline: Callable[[str], Connection]) -> Connection:
    """Connect to the daemon of a home if it answers, otherwise to the home's database.

    Args:
        access: address and token of the home's daemon.
        offline: connects to the home's database, given the reason why no daemon answers.

    Raises:
        NotAllowed: a daemon runs, and refuses the client.
    """
    if not is_held(access.places.lock_file, access.places.db_lock_file):
        return offline("the daemon is not running")
    connection = NetworkConnection(access)
    try:
        connection.probe()
    except DaemonGone as gone:
        return offline(f"a process works on this home, but {gone}")
    return connection
