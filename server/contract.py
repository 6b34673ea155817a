"""The API as one table: the routes, the OpenAPI document and the contract test are all made from it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from core.submission import TaskIn
from server.approvals import AnswerIn, ApprovalRow, Approvals, DecisionIn
from server.commits import Commits, CommitsQuery, RevertIn, Reviewed, ReviewIn, Taken
from server.health import Health
from server.pausing import CheckpointAsked
from server.query import ApprovalsQuery, LogsQuery, Query, StreamQuery, TasksQuery
from server.renewal import Renewed
from server.schemas import Answer, DaemonReport, Logs, Moved, Paused, Submitted, TaskDetail, Tasks


class PauseIn(BaseModel):
    """Why the daemon is paused, for the pages and the log."""

    model_config = ConfigDict(extra="forbid")

    reason: str = Field("", max_length=500)


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One operation of the API.

    `answers` maps each status of success to the model of its JSON; an endpoint without any answers with `media`.
    `errors` are the statuses of failure that belong to this endpoint; those of the guard can come from each.
    """

    name: str
    method: Literal["GET", "POST"]
    path: str
    summary: str
    answers: dict[int, type[Answer]] = field(default_factory=dict)
    media: str = "application/json"
    query: type[Query] = Query
    body: type[BaseModel] | None = None
    body_required: bool = False
    text_body: str = ""
    errors: tuple[int, ...] = ()

    @property
    def rule(self) -> str:
        """The path as Flask's router writes it; ids beyond SQLite's integers do not exist."""
        return re.sub(r"\{(\w+)\}", rf"<int(max={2**63 - 1}):\1>", self.path)


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        name="submit_task",
        method="POST",
        path="/api/task",
        summary="Add a task. The same `key` sent again adds nothing and answers 200 with the first task's id.",
        body=TaskIn,
        body_required=True,
        text_body="the whole body is the description",
        answers={201: Submitted, 200: Submitted},
        errors=(400, 413, 415, 503),
    ),
    Endpoint(
        name="show_task",
        method="GET",
        path="/api/task/{task_id}",
        summary="One task with its iterations.",
        answers={200: TaskDetail},
        errors=(400, 404),
    ),
    Endpoint(
        name="list_tasks",
        method="GET",
        path="/api/tasks",
        summary="Tasks, newest first, page by page.",
        query=TasksQuery,
        answers={200: Tasks},
        errors=(400,),
    ),
    Endpoint(
        name="cancel_task",
        method="POST",
        path="/api/task/{task_id}/cancel",
        summary="Cancel a task; a running one ends at its next safe point.",
        answers={200: Moved},
        errors=(400, 404, 409, 503),
    ),
    Endpoint(
        name="retry_task",
        method="POST",
        path="/api/task/{task_id}/retry",
        summary="Queue a failed or cancelled task again.",
        answers={200: Moved},
        errors=(400, 404, 409, 503),
    ),
    Endpoint(
        name="list_approvals",
        method="GET",
        path="/api/approvals",
        summary="What was asked of the owner, oldest first; the newest 500 at most.",
        query=ApprovalsQuery,
        answers={200: Approvals},
        errors=(400,),
    ),
    Endpoint(
        name="decide_approval",
        method="POST",
        path="/api/approvals/{approval_id}",
        summary="Grant or deny what a task asked for; with its last answer the task goes on.",
        body=DecisionIn,
        body_required=True,
        answers={200: ApprovalRow},
        errors=(400, 404, 409, 415, 503),
    ),
    Endpoint(
        name="answer_question",
        method="POST",
        path="/api/approvals/{approval_id}/answer",
        summary="Answer what a task asked; refused (409) where the ask is a decision and no question.",
        body=AnswerIn,
        body_required=True,
        answers={200: ApprovalRow},
        errors=(400, 404, 409, 415, 503),
    ),
    Endpoint(
        name="list_commits",
        method="GET",
        path="/api/commits",
        summary="The commits that were made, newest first, page by page.",
        query=CommitsQuery,
        answers={200: Commits},
        errors=(400,),
    ),
    Endpoint(
        name="review_commits",
        method="POST",
        path="/api/commits/reviewed",
        summary="Mark one commit as read, or all.",
        body=ReviewIn,
        body_required=True,
        answers={200: Reviewed},
        errors=(400, 404, 415, 503),
    ),
    Endpoint(
        name="review_task",
        method="POST",
        path="/api/task/{task_id}/reviewed",
        summary="Mark the commits of a task as read.",
        answers={200: Reviewed},
        errors=(400, 404, 503),
    ),
    Endpoint(
        name="revert_task",
        method="POST",
        path="/api/task/{task_id}/revert",
        summary="Take back what a task integrated, by a commit on top; answers when it is made, after running tests.",
        body=RevertIn,
        answers={200: Taken},
        errors=(400, 404, 409, 415, 503),
    ),
    Endpoint(
        name="show_status",
        method="GET",
        path="/api/status",
        summary="The daemon as a whole: workers, queue, models.",
        answers={200: DaemonReport},
        errors=(400,),
    ),
    Endpoint(
        name="pause",
        method="POST",
        path="/api/pause",
        summary="Claim no more tasks until resumed; survives a restart.",
        body=PauseIn,
        answers={200: Paused},
        errors=(400, 415, 503),
    ),
    Endpoint(
        name="resume",
        method="POST",
        path="/api/resume",
        summary="Claim tasks again.",
        answers={200: Paused},
        errors=(400, 503),
    ),
    Endpoint(
        name="checkpoint",
        method="POST",
        path="/api/checkpoint",
        summary="Hold a checkpoint now: what runs finishes, a report is written, nothing is begun until resumed.",
        answers={200: CheckpointAsked},
        errors=(400, 503),
    ),
    Endpoint(
        name="reload",
        method="POST",
        path="/api/reload",
        summary="Read the settings and tasks.yaml again; if a setting has a fault (422), all the old ones still hold.",
        answers={200: Renewed},
        errors=(400, 422, 503),
    ),
    Endpoint(
        name="list_logs",
        method="GET",
        path="/api/logs",
        summary="Events, oldest first: those behind `after`, or the newest.",
        query=LogsQuery,
        answers={200: Logs},
        errors=(400,),
    ),
    Endpoint(
        name="stream_logs",
        method="GET",
        path="/api/logs/stream",
        summary="Events as they happen (server-sent events). Each has its id, and the JSON of a log line as its data; "
        "`Last-Event-ID` resumes behind it. Other event types: `resync` (ids began anew) and `end` (the server stops).",
        query=StreamQuery,
        media="text/event-stream",
        errors=(400, 503),
    ),
    Endpoint(
        name="describe",
        method="GET",
        path="/api/openapi.json",
        summary="This document.",
    ),
    Endpoint(
        name="check_health",
        method="GET",
        path="/healthz",
        summary="Whether the daemon can do its work; 503 when it cannot.",
        answers={200: Health, 503: Health},
    ),
)
