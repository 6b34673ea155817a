"""The API's views: what each endpoint of the contract does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError
from typing import Any, TypeVar, cast

from flask import Blueprint, Flask, Response, request
from pydantic import BaseModel, ValidationError

from core.errors import NotReverted
from core.queueing import PauseState
from db import pruning
from server import openapi
from server.approvals import AnswerIn, Approvals, DecisionIn, approval_row
from server.bodies import BadBody, read_json, read_task_body
from server.calls import Call, Reply
from server.commits import CommitsQuery, RevertIn, ReviewIn, Taken
from server.contract import ENDPOINTS, Endpoint, PauseIn
from server.desk import REVERT_WALL_S, Busy, Desk, settled
from server.health import look
from server.listing import task_page
from server.pausing import checkpoint_asked
from server.query import ApprovalsQuery, LogsQuery, TasksQuery, read_query
from server.renewal import renewed
from server.reviewing import Reviewing
from server.schemas import (
    DaemonReport,
    Logs,
    Moved,
    Paused,
    Submitted,
    Tasks,
    log_line,
)
from server.task_answers import task_detail

_B = TypeVar("_B", bound=BaseModel)


def submit_task(call: Call) -> Reply:
    """Add a task."""
    spec = call.desk.read_task(read_task_body(request))
    sent = settled(call.desk.queue.submit(spec))
    return Reply(
        answer=Submitted(task_id=sent.task_id, status=sent.status),
        status=201 if sent.created else 200,
        headers={"Location": f"/api/task/{sent.task_id}"},
    )


def show_task(call: Call) -> Reply:
    """One task with its iterations."""
    task = call.desk.queue.get(call.task_id)
    pruned = pruning.notes(call.desk.database.reader(), task.id, task.ended_at)
    detail = task_detail(task, call.desk.steps.iterations(task.id), call.desk.queue.family(task), pruned)
    reverted_by = _reviewing(call.desk).reverted_by(task.id)
    return Reply(answer=detail.model_copy(update={"reverted_by": reverted_by}))


def list_tasks(call: Call) -> Reply:
    """A page of tasks."""
    query = cast("TasksQuery", call.query)
    page, more = task_page(call.desk.queue, query.limit, after=query.after, status=query.status)
    return Reply(answer=Tasks(tasks=page, next_after=more))


def cancel_task(call: Call) -> Reply:
    """Cancel a task."""
    task = settled(call.desk.queue.cancel(call.task_id))
    return Reply(answer=Moved(task_id=task.id, status=task.status, cancel_requested=task.cancel_requested))


def retry_task(call: Call) -> Reply:
    """Queue a task again."""
    task = settled(call.desk.queue.retry(call.task_id))
    return Reply(answer=Moved(task_id=task.id, status=task.status, cancel_requested=task.cancel_requested))


def list_approvals(call: Call) -> Reply:
    """What was asked of the owner."""
    query = cast("ApprovalsQuery", call.query)
    found = call.desk.queue.approvals(open_only=query.open, task_id=query.task)
    return Reply(answer=Approvals(approvals=[approval_row(each, call.desk.clarify_wait_s()) for each in found]))


def decide_approval(call: Call) -> Reply:
    """Grant or deny one ask."""
    said = _body(DecisionIn)
    decided = settled(call.desk.queue.decide(call.approval_id, said.granted, said.answer))
    return Reply(answer=approval_row(decided, call.desk.clarify_wait_s()))


def answer_question(call: Call) -> Reply:
    """Answer one question."""
    answered = settled(call.desk.queue.answer(call.approval_id, _body(AnswerIn).answer))
    return Reply(answer=approval_row(answered, call.desk.clarify_wait_s()))


def list_commits(call: Call) -> Reply:
    """A page of commits."""
    return Reply(answer=_reviewing(call.desk).commits(cast("CommitsQuery", call.query)))


def review_task(call: Call) -> Reply:
    """Mark the commits of a task as read."""
    return Reply(answer=_reviewing(call.desk).review_task(call.task_id))


def review_commits(call: Call) -> Reply:
    """Mark one commit as read, or all."""
    return Reply(answer=_reviewing(call.desk).review(_body(ReviewIn)))


def revert_task(call: Call) -> Reply:
    """Take back what a task integrated, or bring it back."""
    said = _body(RevertIn) if request.content_length else RevertIn()
    try:
        done = call.desk.revert(call.task_id, said.force, said.reapply).result(REVERT_WALL_S)
    except CancelledError:
        raise NotReverted("the daemon stops; look at the task when it runs again") from None
    except TimeoutError:
        raise Busy("the tests still run, and the revert may still be made: look at the task's page") from None
    return Reply(answer=Taken.model_validate(done))


def show_status(call: Call) -> Reply:
    """The daemon as a whole."""
    return Reply(answer=DaemonReport.model_validate(call.desk.status()))


def pause(call: Call) -> Reply:
    """Claim no more tasks."""
    return _paused(call.desk, settled(call.desk.queue.pause(_pause_reason())))


def resume(call: Call) -> Reply:
    """Claim tasks again, unless something else holds them back."""
    return _paused(call.desk, settled(call.desk.queue.resume()))


def checkpoint(call: Call) -> Reply:
    """Hold a checkpoint now."""
    return Reply(answer=checkpoint_asked(call.desk))


def _paused(desk: Desk, pause: PauseState) -> Reply:
    return Reply(answer=Paused.model_validate({"state": desk.status().state, "holds": pause.holds}))


def reload(call: Call) -> Reply:
    """Read the settings again."""
    return Reply(answer=renewed(call.desk))


def list_logs(call: Call) -> Reply:
    """Events behind a cursor, or the newest."""
    query, events = cast("LogsQuery", call.query), call.desk.events
    newest = events.newest_id()
    if query.after is None:
        found = events.last(query.limit, level=query.level, task_id=query.task)
    else:
        found = events.after(query.after, limit=query.limit, level=query.level, task_id=query.task)
    last_id = found[-1].id if found else 0
    if query.after is None or len(found) < query.limit:
        # All up to the newest was looked at; what did not pass the filter need not be read again.
        last_id = max(newest, last_id)
    return Reply(answer=Logs(events=[log_line(event) for event in found], last_id=last_id))


def check_health(call: Call) -> Reply:
    """Look at the daemon's signs of life."""
    health = look(call.desk)
    return Reply(answer=health, status=200 if health.status == "ok" else 503)


VIEWS: Mapping[str, Callable[[Call], Reply]] = {
    view.__name__: view
    for view in (
        submit_task, show_task, list_tasks, cancel_task, retry_task, list_approvals, decide_approval, answer_question,
        list_commits, review_task, review_commits, revert_task, reload, show_status,
        pause, resume, checkpoint, list_logs, check_health,
    )
}  # fmt: skip


def register(app: Flask, desk: Desk) -> None:
    """Add all endpoints of the contract but the native stream."""
    api = Blueprint("api", __name__)
    for endpoint in ENDPOINTS:
        if endpoint.name in VIEWS:
            api.add_url_rule(endpoint.rule, endpoint.name, _view(desk, endpoint), methods=[endpoint.method])
    described = openapi.document(desk.status().version)
    api.add_url_rule("/api/openapi.json", "describe", lambda: described)
    app.register_blueprint(api)


def _view(desk: Desk, endpoint: Endpoint) -> Callable[..., Response]:
    view = VIEWS[endpoint.name]

    def respond(**where: Any) -> Response:
        query = read_query(endpoint.query, request.query_string.decode("latin-1"))
        reply = view(Call(desk=desk, query=query, **where))
        assert type(reply.answer) is endpoint.answers[reply.status], "the contract names another model"
        response = Response(reply.answer.model_dump_json(), reply.status, mimetype="application/json")
        response.headers.update(reply.headers)
        return response

    return respond


def _reviewing(desk: Desk) -> Reviewing:
    return Reviewing(desk.database, desk.events)


def _pause_reason() -> str:
    return _body(PauseIn).reason if request.content_length else ""


def _body(model: type[_B]) -> _B:
    try:
        return model.model_validate(read_json(request))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise BadBody(f"{'.'.join(map(str, first['loc'])) or 'body'}: {first['msg']}") from None
