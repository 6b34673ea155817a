"""The client of the daemon's API: over the network where the daemon runs, else with the same application in process.

Whether a daemon runs is known from the lock that it holds, not from its port: another home's daemon, or another
program, may answer there. So an answer counts only if it has the shape of the daemon's.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import quote

import httpx
from pydantic import BaseModel, ValidationError

from client.errors import DaemonGone, NotAllowed, NotFound, Stranger
from config import Settings
from core.errors import ConfigError, IllegalMove, InvalidTask, NightshiftError
from core.events import Level
from core.revert import Reverted
from core.status import DaemonStatus, install_by_hand
from maintenance.instance_lock import is_held
from server.approvals import ApprovalRow, Approvals
from server.auth.access import known_token
from server.commits import Commits, Reviewed
from server.lists.bulk import BulkDone, BulkIn, Prioritised
from server.pausing import CheckpointAsked
from server.schemas import Failed, Installing, Logs, Moved, Paused, Submitted, TaskDetail, Tasks, adapter
from server.timeline.forking import Forked, ForkIn
from settings.reloaded import Reloaded

PROBE_WALL_S = 2.0
ANSWER_WALL_S = 30.0
REVERT_WALL_S = 960.0
"""A little longer than the daemon itself waits for the tests before it answers (`server.context.REVERT_WALL_S`)."""
MAX_ANSWER_BYTES = 50_000_000
TOO_SOON_TRIES = 10
_LOOPBACK = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104  # read, never bound
A = TypeVar("A")


@dataclass(frozen=True, slots=True, kw_only=True)
class LogQuery:
    """Which events: the newest `limit`, or from `after` on the oldest `limit`."""

    after: int | None = None
    limit: int = 50
    level: Level | None = None
    task_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    """What became of a task that was sent; `new` is false where its key was known."""

    task: Submitted
    new: bool


@dataclass(frozen=True, slots=True)
class _Reply:
    """An answer that is not looked into yet; after `retry_after_s` a request that came too soon may come again."""

    status: int
    content: bytes
    retry_after_s: float


class DaemonClient:
    """One request of the API with each method; for one thread.

    Every method raises `DaemonGone` where the daemon went away, `NotAllowed` where it refuses, `NotFound` where what is
    named is not there, `IllegalMove` where it may not be done, and `InvalidTask` with the fields that are wrong.

    Args:
        http: sends the requests; closed with the client.
        why_offline: why no daemon is behind it; empty where one is.
    """

    def __init__(self, http: httpx.Client, why_offline: str = "") -> None:
        self._http, self.why_offline = http, why_offline

    @property
    def live(self) -> bool:
        """Whether a daemon is behind it."""
        return not self.why_offline

    def report(self, wall_s: float = ANSWER_WALL_S) -> DaemonStatus:
        """The daemon as a whole."""
        return self._read(DaemonStatus, self._send("GET", "/api/status", wall_s=wall_s))

    def logs(self, query: LogQuery) -> Logs:
        """Events, oldest first."""
        asked = {"after": query.after, "limit": query.limit, "level": query.level, "task": query.task_id}
        return self._get("/api/logs", Logs, asked)

    def tasks(self, limit: int) -> Tasks:
        """The newest tasks, newest first."""
        return self._get("/api/tasks", Tasks, {"limit": limit})

    def task(self, task_id: int) -> TaskDetail:
        """One task in full."""
        return self._get(f"/api/task/{task_id}", TaskDetail)

    def submit(self, body: Mapping[str, Any]) -> Added:
        """Add a task, given as the API's body."""
        reply = self._send("POST", "/api/task", body)
        return Added(task=self._read(Submitted, reply), new=reply.status == httpx.codes.CREATED)

    def cancel(self, task_id: int) -> Moved:
        """Cancel a task."""
        return self._post(f"/api/task/{task_id}/cancel", Moved)

    def retry(self, task_id: int) -> Moved:
        """Queue a task again that ended."""
        return self._post(f"/api/task/{task_id}/retry", Moved)

    def prioritise(self, task_id: int, priority: int) -> Prioritised:
        """Make a task more urgent (higher) or less."""
        return self._post(f"/api/task/{task_id}/priority", Prioritised, {"priority": priority})

    def act_on_many(self, asked: BulkIn) -> BulkDone:
        """Do one thing to many tasks; those that refuse it are named, and take nothing from the others."""
        return self._post("/api/tasks/bulk", BulkDone, _plain(asked))

    def fork(self, task_id: int, asked: ForkIn) -> Forked:
        """Add a task that begins where another one was."""
        return self._post(f"/api/task/{task_id}/fork", Forked, _plain(asked))

    def pause(self) -> Paused:
        """Have no more tasks claimed."""
        return self._post("/api/pause", Paused)

    def resume(self) -> Paused:
        """Have tasks claimed again."""
        return self._post("/api/resume", Paused)

    def checkpoint(self) -> CheckpointAsked:
        """Hold a checkpoint now."""
        return self._post("/api/checkpoint", CheckpointAsked)

    def approvals(self) -> Approvals:
        """What waits for the owner, oldest first."""
        return self._get("/api/approvals", Approvals, {"open": 1})

    def decide(self, approval_id: int, granted: bool, remark: str) -> ApprovalRow:
        """Grant or deny what a task asked for."""
        return self._post(f"/api/approvals/{approval_id}", ApprovalRow, {"granted": granted, "answer": remark})

    def answer(self, approval_id: int, text: str) -> ApprovalRow:
        """Answer a question; `IllegalMove` where it is a decision, or was answered before."""
        return self._post(f"/api/approvals/{approval_id}/answer", ApprovalRow, {"answer": text})

    def commits(self, *, unread: bool = False, standing: bool = False, limit: int = 50) -> Commits:
        """The newest commits: all, those that wait to be read, or those that were integrated and not taken back."""
        return self._get("/api/commits", Commits, {"unread": int(unread), "standing": int(standing), "limit": limit})

    def review_task(self, task_id: int) -> Reviewed:
        """Mark the commits of a task as read."""
        return self._post(f"/api/task/{task_id}/reviewed", Reviewed)

    def review_commit(self, commit: str) -> Reviewed:
        """Mark the commit whose id begins so as read."""
        return self._post("/api/commits/reviewed", Reviewed, {"commit": commit})

    def review_all(self) -> Reviewed:
        """Mark every commit as read."""
        return self._post("/api/commits/reviewed", Reviewed, {"all": True})

    def revert(self, task_id: int, *, force: bool, reapply: bool) -> Reverted:
        """Have the daemon take back what a task integrated, or bring it back; it runs tests first."""
        body = {"force": force, "reapply": reapply}
        return self._read(Reverted, self._send("POST", f"/api/task/{task_id}/revert", body, wall_s=REVERT_WALL_S))

    def reload(self) -> Reloaded:
        """Have the daemon read its settings again.

        Raises:
            ConfigError: they have faults, and the old ones still hold.
        """
        if not self.live:
            raise DaemonGone(f"{self.why_offline}; it reads its settings when it starts")
        reply = self._send("POST", "/api/reload", {})
        if reply.status == httpx.codes.UNPROCESSABLE_ENTITY:
            raise ConfigError(self._failed(reply).error.splitlines())
        return self._read(Reloaded, reply)

    def install_extra(self, name: str) -> Installing:
        """Have the daemon install optional packages."""
        if not self.live:
            raise DaemonGone(f"{self.why_offline}; {install_by_hand(name)} installs them without it")
        return self._post(f"/api/extra/{quote(name, safe='')}/install", Installing)

    def close(self) -> None:
        """Let go of connections and databases; the client may not be used again."""
        self._http.close()

    def _get(self, path: str, kind: type[A], query: Mapping[str, Any] | None = None) -> A:
        given = {name: value for name, value in (query or {}).items() if value is not None}
        return self._read(kind, self._send("GET", path, query=given))

    def _post(self, path: str, kind: type[A], body: Mapping[str, Any] | None = None) -> A:
        return self._read(kind, self._send("POST", path, body or {}))

    def _send(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        query: Mapping[str, Any] | None = None,
        wall_s: float = ANSWER_WALL_S,
    ) -> _Reply:
        """Send one request, and send it again where the daemon answers that it came too soon and had no effect."""
        content = None if body is None else json.dumps(body).encode()
        headers = {} if body is None else {"Content-Type": "application/json"}
        request = self._http.build_request(
            method, path, content=content, params=query or None, headers=headers, timeout=wall_s
        )
        for _ in range(TOO_SOON_TRIES):
            reply = self._send_once(request, wall_s)
            if reply.status != httpx.codes.TOO_MANY_REQUESTS:
                break
            time.sleep(min(reply.retry_after_s, wall_s))
        return reply

    def _send_once(self, request: httpx.Request, wall_s: float) -> _Reply:
        try:
            response = self._http.send(request, stream=True)
            with contextlib.closing(response):
                wait, content = response.headers.get("Retry-After", ""), bytearray()
                for part in response.iter_bytes():
                    content += part
                    if len(content) > MAX_ANSWER_BYTES:
                        raise Stranger(self._at("something answers without an end"))
        except httpx.TimeoutException:
            raise Stranger(self._at(f"something listens but gave no answer in {wall_s:g} s")) from None
        except (httpx.ProtocolError, httpx.DecodingError):
            raise Stranger(self._at("something that does not speak HTTP answers")) from None
        except httpx.TransportError as error:
            raise DaemonGone(self._at(f"no daemon answers: {_reason(error)}")) from None
        return _Reply(response.status_code, bytes(content), float(wait) if wait.isdigit() else 1.0)

    def _read(self, kind: type[A], reply: _Reply) -> A:
        if not httpx.codes.is_success(reply.status):
            raise self._error(reply)
        try:
            return adapter(kind).validate_json(reply.content)
        except ValidationError:
            why = "something that is not Nightshift answers, or one of another version"
            raise Stranger(self._at(why)) from None

    def _error(self, reply: _Reply) -> NightshiftError:
        failed = self._failed(reply)
        match reply.status:
            case httpx.codes.BAD_REQUEST | httpx.codes.UNPROCESSABLE_ENTITY:
                return InvalidTask(failed.fields or {"task": failed.error}, failed.more)
            case httpx.codes.UNAUTHORIZED:
                return NotAllowed(
                    "the daemon asks for its token: set API_TOKEN here as it was set where the daemon started"
                )
            case httpx.codes.FORBIDDEN:
                return NotAllowed(failed.error)
            case httpx.codes.NOT_FOUND:
                return NotFound(failed.error)
            case httpx.codes.CONFLICT:
                return IllegalMove(failed.error)
            case status if self.live:
                return NightshiftError(f"the daemon answered with HTTP {status}: {failed.error}")
            case _:
                return NightshiftError(failed.error)

    def _failed(self, reply: _Reply) -> Failed:
        try:
            return Failed.model_validate_json(reply.content)
        except ValidationError:
            why = f"something that is not Nightshift answers (HTTP {reply.status})"
            raise Stranger(self._at(why)) from None

    def _at(self, what: str) -> str:
        return f"{what} at {self._http.base_url.host}:{self._http.base_url.port or 80}"


def connect(settings: Settings) -> DaemonClient:
    """A client of the daemon of this home where it answers, else of its database; chosen anew by each call.

    Raises:
        NotAllowed: a daemon runs, and refuses us.
    """
    if not is_held(settings.lock_file):
        return _offline(settings, "the daemon is not running")
    client = DaemonClient(_network(settings))
    try:
        client.report(PROBE_WALL_S)
    except DaemonGone as gone:
        client.close()
        return _offline(settings, f"a process works on this home, but {gone}")
    except NightshiftError:
        client.close()
        raise
    return client


def _network(settings: Settings) -> httpx.Client:
    """No redirect is followed and no proxy taken from the environment: either would get the token."""
    token = known_token(settings.api_token.get_secret_value() if settings.api_token else None, settings.token_file)
    host = _LOOPBACK.get(settings.flask_host, settings.flask_host)
    headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    return httpx.Client(
        base_url=httpx.URL(scheme="http", host=host, port=_port(settings)),
        headers=httpx.Headers(headers, encoding="utf-8"),
        limits=httpx.Limits(max_keepalive_connections=0),  # a kept one may be closed just when it is needed
        trust_env=False,
        verify=False,  # noqa: S501  # plain HTTP has no certificates, and to read them takes longer than the request
    )


def _port(settings: Settings) -> int:
    """The port that the daemon wrote down, which is the one it got where the setting asks for any free one."""
    try:
        return int(settings.port_file.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return settings.flask_port


def _offline(settings: Settings, why: str) -> DaemonClient:
    from client.offline import OfflineTransport  # noqa: PLC0415  # a running daemon spares us the whole server

    return DaemonClient(httpx.Client(transport=OfflineTransport(settings), base_url="http://offline"), why)


def _reason(error: httpx.TransportError) -> str:
    """The operating system's message, around which the libraries wrap two exceptions of their own."""
    cause: BaseException | None = error
    while cause is not None and not (isinstance(cause, OSError) and cause.strerror):
        cause = cause.__cause__ or cause.__context__
    return str(cause.strerror) if isinstance(cause, OSError) else str(error)


def _plain(asked: BaseModel) -> Mapping[str, Any]:
    return asked.model_dump(mode="json", exclude_none=True)
