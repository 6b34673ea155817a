"""Commits: listing, reading, taking back."""

from __future__ import annotations

from concurrent.futures import CancelledError

from core.errors import NotReverted
from core.undo import Reverted
from server.commits import Commits, CommitsQuery, RevertIn, Reviewed, ReviewIn
from server.context import REVERT_WALL_S, AppContext, Busy
from server.endpoint import Call, Endpoint, Reply
from server.reviewing import Reviewing


def list_commits(call: Call) -> Reply:
    """A page of commits."""
    return Reply(answer=_reviewing(call.context).commits(call.asked(CommitsQuery)))


def review_commits(call: Call) -> Reply:
    """Mark one commit as read, or all."""
    return Reply(answer=_reviewing(call.context).review(call.body(ReviewIn)))


def review_task(call: Call) -> Reply:
    """Mark the commits of a task as read."""
    return Reply(answer=_reviewing(call.context).review_task(call.number("task_id")))


def revert_task(call: Call) -> Reply:
    """Take back what a task integrated, or bring it back."""
    said = call.optional_body(RevertIn)
    try:
        done = call.context.revert(call.number("task_id"), said.force, said.reapply).result(REVERT_WALL_S)
    except CancelledError:
        raise NotReverted("the daemon stops; look at the task when it runs again") from None
    except TimeoutError:
        raise Busy("the tests still run, and the revert may still be made: look at the task's page") from None
    return Reply(answer=done)


def _reviewing(context: AppContext) -> Reviewing:
    return Reviewing(context.database, context.queue, context.events, context.mask)


ENDPOINTS = (
    Endpoint(
        name="list_commits",
        view=list_commits,
        method="GET",
        path="/api/commits",
        summary="The commits that were made, newest first, page by page.",
        query=CommitsQuery,
        answers={200: Commits},
        errors=(400,),
    ),
    Endpoint(
        name="review_commits",
        view=review_commits,
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
        view=review_task,
        method="POST",
        path="/api/task/{task_id}/reviewed",
        summary="Mark the commits of a task as read.",
        answers={200: Reviewed},
        errors=(400, 404, 503),
    ),
    Endpoint(
        name="revert_task",
        view=revert_task,
        method="POST",
        path="/api/task/{task_id}/revert",
        summary="Take back what a task integrated, by a commit on top; answers when it is made, after running tests.",
        body=RevertIn,
        answers={200: Reverted},
        errors=(400, 404, 409, 415, 503),
    ),
)
