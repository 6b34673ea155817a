"""The client of the daemon's API: one method for each request that the command line makes, beside the status."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Literal, TypeVar
from urllib.parse import quote

from pydantic import BaseModel

from nightshift.client.connection import Connection
from nightshift.client.errors import DaemonGone
from nightshift.config.reloaded import Reloaded
from nightshift.core.errors import ConfigError
from nightshift.core.events import Level
from nightshift.core.status import install_by_hand
from nightshift.core.tasks.integrating import Discarded, Integrated
from nightshift.core.tasks.revert import Reverted
from nightshift.server.approvals import ApprovalRow, Approvals
from nightshift.server.commits import Commits, Reviewed
from nightshift.server.diffs.changes import Diff
from nightshift.server.lists.bulk import BulkDone, BulkIn, Prioritised
from nightshift.server.naming import Named
from nightshift.server.pausing import CheckpointAsked
from nightshift.server.routes.brief import BriefAnswer, ReadUpTo
from nightshift.server.routes.environments import KeptEnvironments
from nightshift.server.routes.watching import ForecastAnswer
from nightshift.server.saying import Said, SayIn
from nightshift.server.schemas import Installing, Logs, Moved, Paused, Submitted, TaskDetail, Tasks, adapter
from nightshift.server.timeline.forking import Forked, ForkIn, Matrix, MatrixIn
from nightshift.server.timeline.step_answers import StepDetail
from nightshift.server.timeline.timeline_answers import Timeline

COMMIT_WALL_S = 960.0
"""A little longer than the daemon itself waits for the tests before it answers (`server.context.COMMIT_WALL_S`)."""
A = TypeVar("A")


@dataclass(frozen=True, slots=True, kw_only=True)
class LogQuery:
    """A selection of events: the newest `limit`, or the oldest `limit` after `after`."""

    after: int | None = None
    limit: int = 50
    level: Level | None = None
    task_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    """The result of sending a task; `new` is false where its key was known."""

    task: Submitted
    new: bool


class DaemonClient:
    """One request of the API with each method, which fails as `Connection` says; for one thread."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

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

    def timeline(self, task_id: int) -> Timeline:
        """The timeline of a task's last attempt."""
        return self._get(f"/api/task/{task_id}/timeline", Timeline)

    def step(self, task_id: int, attempt: int, step_no: int) -> StepDetail:
        """One step of it."""
        return self._get(f"/api/task/{task_id}/step/{attempt}/{step_no}", StepDetail)

    def diff(self, task_id: int) -> Diff:
        """All that a task changed."""
        return self._get(f"/api/task/{task_id}/diff", Diff)

    def brief(self, since: str) -> BriefAnswer:
        """Fetch the brief of the work since a time, or of one of the spans that the API knows."""
        return self._get("/api/brief", BriefAnswer, {"since": since})

    def read_brief(self, until: str) -> ReadUpTo:
        """Mark the brief as read up to a time."""
        return self._post("/api/brief/read", ReadUpTo, {"until": until})

    def forecast(self) -> ForecastAnswer:
        """Fetch the forecast of the open tasks; only a daemon works on them, so only a daemon is asked."""
        return self._get("/api/forecast", ForecastAnswer)

    def submit(self, body: Mapping[str, Any]) -> Added:
        """Add a task, given as the API's body."""
        reply = self._connection.send("POST", "/api/task", body)
        task = self._connection.read(reply, adapter(Submitted).validate_json)
        return Added(task=task, new=reply.status == HTTPStatus.CREATED)

    def cancel(self, task_id: int) -> Moved:
        """Cancel a task."""
        return self._post(f"/api/task/{task_id}/cancel", Moved)

    def retry(self, task_id: int, *, from_draft: bool = False) -> Moved:
        """Queue a task again that ended; with `from_draft` it begins with the change of its draft."""
        return self._post(f"/api/task/{task_id}/retry", Moved, {"from_draft": True} if from_draft else None)

    def prioritise(self, task_id: int, priority: int) -> Prioritised:
        """Make a task more urgent (higher) or less."""
        return self._post(f"/api/task/{task_id}/priority", Prioritised, {"priority": priority})

    def say(self, task_id: int, asked: SayIn) -> Said:
        """Say something to a task that is open."""
        return self._post(f"/api/task/{task_id}/say", Said, _plain(asked))

    def act_on_many(self, asked: BulkIn) -> BulkDone:
        """Do one thing to many tasks; those that refuse it are named, and take nothing from the others."""
        return self._post("/api/tasks/bulk", BulkDone, _plain(asked))

    def fork(self, task_id: int, asked: ForkIn) -> Forked:
        """Add a task that continues from a step of another one."""
        return self._post(f"/api/task/{task_id}/fork", Forked, _plain(asked))

    def fork_by_models(self, task_id: int, asked: MatrixIn) -> Matrix:
        """Add a fork of one step for each model."""
        return self._post(f"/api/task/{task_id}/forks", Matrix, _plain(asked))

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
        """Fetch the open approvals, oldest first."""
        return self._get("/api/approvals", Approvals, {"open": 1})

    def environments(self) -> KeptEnvironments:
        """The environments of repositories."""
        return self._get("/api/environments", KeptEnvironments)

    def decide(self, approval_id: int, granted: bool, remark: str) -> ApprovalRow:
        """Grant or deny what a task asked for."""
        return self._post(f"/api/approvals/{approval_id}", ApprovalRow, {"granted": granted, "answer": remark})

    def answer(self, approval_id: int, text: str) -> ApprovalRow:
        """Answer a question; `IllegalMove` where it is a decision, or was answered before."""
        return self._post(f"/api/approvals/{approval_id}/answer", ApprovalRow, {"answer": text})

    def commits(
        self, *, unread: bool = False, standing: bool = False, task_id: int | None = None, limit: int = 50,
        order: Literal["newest", "risk"] = "newest",
    ) -> Commits:  # fmt: skip
        """The first commits: of all, of a task, that wait to be read, that were integrated and not reverted."""
        asked = {"unread": int(unread), "standing": int(standing), "task": task_id, "limit": limit, "order": order}
        return self._get("/api/commits", Commits, asked)

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
        """Have the daemon revert what a task integrated, or reapply it; it runs tests first."""
        body = {"force": force, "reapply": reapply}
        return self._request(Reverted, "POST", f"/api/task/{task_id}/revert", body, wall_s=COMMIT_WALL_S)

    def integrate(self, task_id: int, *, force: bool) -> Integrated:
        """Have the daemon integrate what waits on the branch of a task; it runs tests first."""
        path = f"/api/task/{task_id}/integrate"
        return self._request(Integrated, "POST", path, {"force": force}, wall_s=COMMIT_WALL_S)

    def discard(self, task_id: int) -> Discarded:
        """Have the daemon remove the branch on which a commit of a task waits."""
        return self._request(Discarded, "POST", f"/api/task/{task_id}/discard", {}, wall_s=COMMIT_WALL_S)

    def resolve(self, name: str) -> Named:
        """The task and the commit that a name stands for."""
        return self._get("/api/resolve", Named, {"name": name})

    def reload(self) -> Reloaded:
        """Have the daemon read its settings again.

        Raises:
            ConfigError: they have faults, and the old ones still hold.
        """
        if not self._connection.live:
            raise DaemonGone(f"{self._connection.why_offline}; it reads its settings when it starts")
        reply = self._connection.send("POST", "/api/reload", {})
        if reply.status == HTTPStatus.UNPROCESSABLE_ENTITY:
            raise ConfigError(self._connection.failure(reply).error.splitlines())
        return self._connection.read(reply, adapter(Reloaded).validate_json)

    def install_extra(self, name: str) -> Installing:
        """Have the daemon install optional packages."""
        if not self._connection.live:
            raise DaemonGone(f"{self._connection.why_offline}; {install_by_hand(name)} installs them without it")
        return self._post(f"/api/extra/{quote(name, safe='')}/install", Installing)

    def _get(self, path: str, kind: type[A], query: Mapping[str, Any] | None = None) -> A:
        given = {name: value for name, value in (query or {}).items() if value is not None}
        return self._request(kind, "GET", path, query=given)

    def _post(self, path: str, kind: type[A], body: Mapping[str, Any] | None = None) -> A:
        return self._request(kind, "POST", path, body or {})

    def _request(self, kind: type[A], method: str, path: str, body: Mapping[str, Any] | None = None, **more: Any) -> A:
        reply = self._connection.send(method, path, body, **more)
        return self._connection.read(reply, adapter(kind).validate_json)


def _plain(asked: BaseModel) -> Mapping[str, Any]:
    return asked.model_dump(mode="json", exclude_none=True)
