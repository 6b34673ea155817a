"""The door to a running daemon: its HTTP API, spoken over the loopback.

The port may belong to somebody else: an answer counts only if it has the shape of the daemon's report. `http.client`
is used rather than `urllib.request` because it follows no redirects and takes no proxy from the environment, which
would session the token to whoever sits there.
"""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Mapping
from typing import Any, TypeVar
from urllib.parse import urlencode

from pydantic import ValidationError

from client.door import Added, DaemonGone, LogQuery, Marking, NotAllowed, Stranger, Verb
from core.errors import (
    ConfigError,
    IllegalMove,
    InvalidTask,
    NightshiftError,
    UnknownApproval,
    UnknownCommit,
    UnknownStep,
    UnknownTask,
)
from server.approvals import ApprovalRow, Approvals
from server.commits import Commits, Reviewed, Taken
from server.course.forking import Forked, ForkIn
from server.lists.bulk import BulkDone, BulkIn, Prioritised
from server.pausing import CheckpointAsked
from server.renewal import Renewed
from server.schemas import Answer, DaemonReport, Failed, Logs, Moved, Paused, TaskDetail, Tasks
from server.submitted import Submitted

MAX_ANSWER_BYTES = 50_000_000
TOO_SOON_TRIES = 10
REVERT_WALL_S = 960.0
"""A little longer than the daemon itself takes before it says that it goes on (`server.desk`)."""
_ANY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104  # read, never bound
A = TypeVar("A", bound=Answer)


class RemoteDoor:
    """Speaks to the daemon at an address.

    Args:
        host: as the daemon was told to listen.
        port: TCP port.
        token: sent with each request where there is one.
        timeout_s: for the connection and for each answer.
    """

    live = True

    def __init__(self, host: str, port: int, token: str | None = None, *, timeout_s: float = 10.0) -> None:
        self._host, self._port = _ANY_ADDRESS.get(host, host), port
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._timeout_s = timeout_s

    def report(self) -> DaemonReport:
        """See `Door.report`.

        Raises:
            Stranger: what answers is not Nightshift, or of another version.
        """
        try:
            return self._get("/api/status", DaemonReport)
        except UnknownTask:  # any 404
            raise Stranger(self._at("something that is not Nightshift answers")) from None

    def logs(self, query: LogQuery) -> Logs:
        """See `Door.logs`."""
        asked = {"after": query.after, "limit": query.limit, "level": query.level, "task": query.task_id}
        return self._get("/api/logs", Logs, asked)

    def tasks(self, limit: int) -> Tasks:
        """See `Door.tasks`."""
        return self._get("/api/tasks", Tasks, {"limit": limit})

    def task(self, task_id: int) -> TaskDetail:
        """See `Door.task`."""
        return self._get(f"/api/task/{task_id}", TaskDetail, task_id=task_id)

    def submit(self, data: Mapping[str, Any]) -> Added:
        """See `Door.submit`."""
        status, body = self._ask("POST", "/api/task", json.dumps(data).encode())
        return Added(task=self._read(Submitted, status, body), new=status == http.client.CREATED)

    def act(self, verb: Verb, task_id: int) -> Moved:
        """See `Door.act`."""
        return self._post(f"/api/task/{task_id}/{verb}", Moved, task_id)

    def prioritise(self, task_id: int, priority: int) -> Prioritised:
        """See `Door.prioritise`."""
        body = json.dumps({"priority": priority}).encode()
        status, text = self._ask("POST", f"/api/task/{task_id}/priority", body)
        return self._read(Prioritised, status, text, task_id)

    def act_on_many(self, asked: BulkIn) -> BulkDone:
        """See `Door.act_on_many`."""
        status, text = self._ask("POST", "/api/tasks/bulk", asked.model_dump_json(exclude_none=True).encode())
        return self._read(BulkDone, status, text)

    def fork(self, task_id: int, asked: ForkIn) -> Forked:
        """See `Door.fork`."""
        status, text = self._ask("POST", f"/api/task/{task_id}/fork", asked.model_dump_json(exclude_none=True).encode())
        try:
            return self._read(Forked, status, text)
        except UnknownTask:  # any 404
            raise UnknownStep(Failed.model_validate_json(text).error) from None

    def pause(self, paused: bool) -> Paused:
        """See `Door.pause`."""
        return self._post("/api/pause" if paused else "/api/resume", Paused)

    def checkpoint(self) -> CheckpointAsked:
        """See `Door.checkpoint`."""
        return self._post("/api/checkpoint", CheckpointAsked)

    def approvals(self) -> Approvals:
        """See `Door.approvals`."""
        return self._get("/api/approvals", Approvals, {"open": 1})

    def decide(self, approval_id: int, granted: bool, answer: str) -> ApprovalRow:
        """See `Door.decide`."""
        return self._approval(approval_id, "", {"granted": granted, "answer": answer})

    def answer(self, approval_id: int, text: str) -> ApprovalRow:
        """See `Door.answer`."""
        return self._approval(approval_id, "/answer", {"answer": text})

    def _approval(self, approval_id: int, what: str, said: Mapping[str, object]) -> ApprovalRow:
        status, text = self._ask("POST", f"/api/approvals/{approval_id}{what}", json.dumps(said).encode())
        try:
            return self._read(ApprovalRow, status, text)
        except UnknownTask:  # any 404
            raise UnknownApproval(approval_id) from None

    def commits(self, *, unread: bool = False, standing: bool = False, limit: int = 50) -> Commits:
        """See `Door.commits`."""
        asked = {"unread": int(unread), "standing": int(standing), "limit": limit}
        return self._get("/api/commits", Commits, asked)

    def review(self, which: Marking) -> Reviewed:
        """See `Door.review`."""
        path = "/api/commits" if which.task_id is None else f"/api/task/{which.task_id}"
        body = {} if which.task_id is not None else {"commit": which.commit} if which.commit else {"all": True}
        status, text = self._ask("POST", f"{path}/reviewed", json.dumps(body).encode())
        try:
            return self._read(Reviewed, status, text)
        except UnknownTask:  # any 404
            raise UnknownCommit(Failed.model_validate_json(text).error) from None

    def revert(self, task_id: int, force: bool, reapply: bool) -> Taken:
        """See `Door.revert`; it waits for the tests."""
        body = json.dumps({"force": force, "reapply": reapply}).encode()
        status, text = self._ask("POST", f"/api/task/{task_id}/revert", body, REVERT_WALL_S)
        return self._read(Taken, status, text, task_id)

    def reload(self) -> Renewed:
        """See `Door.reload`."""
        status, text = self._ask("POST", "/api/reload", b"{}")
        try:
            return self._read(Renewed, status, text)
        except InvalidTask:
            raise ConfigError(Failed.model_validate_json(text).error.splitlines()) from None

    def close(self) -> None:
        """See `Door.close`: every request has a connection of its own."""

    def _get(self, path: str, kind: type[A], query: Mapping[str, object] | None = None, task_id: int = 0) -> A:
        asked = urlencode({name: value for name, value in (query or {}).items() if value is not None})
        status, body = self._ask("GET", f"{path}?{asked}" if asked else path)
        return self._read(kind, status, body, task_id)

    def _post(self, path: str, kind: type[A], task_id: int = 0) -> A:
        status, body = self._ask("POST", path, b"{}")
        return self._read(kind, status, body, task_id)

    def _ask(
        self, method: str, path: str, body: bytes | None = None, timeout_s: float | None = None
    ) -> tuple[int, bytes]:
        """One request; one that came too soon is sent again when the daemon says, since it had no effect."""
        for _ in range(TOO_SOON_TRIES):
            status, text, wait_s = self._ask_once(method, path, body, timeout_s or self._timeout_s)
            if status != http.client.TOO_MANY_REQUESTS:
                break
            time.sleep(min(wait_s, self._timeout_s))
        return status, text

    def _ask_once(self, method: str, path: str, body: bytes | None, timeout_s: float) -> tuple[int, bytes, float]:
        headers = {**self._headers, "Accept": "application/json"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        connection = http.client.HTTPConnection(self._host, self._port, timeout=timeout_s)
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            wait = answer.headers.get("Retry-After", "")
            return answer.status, answer.read(MAX_ANSWER_BYTES), float(wait) if wait.isdigit() else 1.0
        except TimeoutError:
            raise Stranger(self._at(f"something listens but gave no answer in {timeout_s:g} s")) from None
        except (http.client.HTTPException, ValueError):  # an answer that is not HTTP
            raise Stranger(self._at("something that does not speak HTTP answers")) from None
        except OSError as error:
            raise DaemonGone(self._at(f"no daemon answers: {error.strerror or error}")) from None
        finally:
            connection.close()

    def _read(self, kind: type[A], status: int, body: bytes, task_id: int = 0) -> A:
        if status in {http.client.OK, http.client.CREATED, http.client.ACCEPTED}:
            try:
                return kind.model_validate_json(body)
            except ValidationError:
                why = "something that is not Nightshift answers, or one of another version"
                raise Stranger(self._at(why)) from None
        try:
            failed = Failed.model_validate_json(body)
        except ValidationError:
            raise Stranger(self._at(f"something that is not Nightshift answers (HTTP {status})")) from None
        raise _error(status, failed, task_id)

    def _at(self, what: str) -> str:
        return f"{what} at {self._host}:{self._port}"


def _error(status: int, failed: Failed, task_id: int) -> NightshiftError:
    match status:
        case http.client.BAD_REQUEST | http.client.UNPROCESSABLE_ENTITY:
            return InvalidTask(failed.fields or {"task": failed.error}, failed.more)
        case http.client.UNAUTHORIZED:
            return NotAllowed(
                "the daemon asks for its token: set API_TOKEN here as it was set where the daemon started"
            )
        case http.client.FORBIDDEN:
            return NotAllowed(failed.error)
        case http.client.NOT_FOUND:
            return UnknownTask(task_id)
        case http.client.CONFLICT:
            return IllegalMove(failed.error)
        case _:
            return NightshiftError(f"the daemon answered with HTTP {status}: {failed.error}")
