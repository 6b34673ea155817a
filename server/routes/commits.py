"""Commits: listing, reading, taking back."""

from __future__ import annotations

from concurrent.futures import CancelledError

from flask import Response

from core.errors import NotReverted
from core.revert import Reverted
from server.commits import Commits, CommitsQuery, RevertIn, Reviewed, ReviewIn
from server.context import REVERT_WALL_S, AppContext, Busy
from server.endpoint import Reply, Routes
from server.reviewing import Reviewing
from server.verifying import Verification, verification

routes = Routes()


@routes.endpoint("GET", "/api/commits")
def list_commits(context: AppContext, query: CommitsQuery) -> Commits:
    """The commits that were made, newest first, page by page."""
    return _reviewing(context).commits(query)


@routes.endpoint("POST", "/api/commits/reviewed", errors=(400, 404, 415, 503))
def review_commits(context: AppContext, body: ReviewIn) -> Reviewed:
    """Mark one commit as read, or all; or take that back by the ids of their rows."""
    return _reviewing(context).review(body)


@routes.endpoint("GET", "/api/commit/{commit}/proof", media="text/html", errors=(400, 404, 409))
def download_proof(context: AppContext, commit: str) -> Response:
    """What proves a commit, as one HTML file that needs nothing else; `commit` is the beginning of its id."""
    found = context.proof(_reviewing(context).entry(commit))
    headers = {"Content-Disposition": f'attachment; filename="{found.name}"'}
    return Response(found.html, headers=headers, mimetype="text/html")


@routes.endpoint("GET", "/api/commit/{commit}/verification", errors=(400, 404))
def show_verification(context: AppContext, commit: str) -> Verification:
    """Whether a commit is being verified again, and how that ended last; `commit` is the beginning of its id."""
    return verification(context, _reviewing(context).entry(commit))


@routes.endpoint("POST", "/api/commit/{commit}/verify", answers={202: Verification}, errors=(400, 404, 409, 503))
def verify_again(context: AppContext, commit: str) -> Reply:
    """Begin to run the evidence of a commit again; there is one slot, and 409 says whose commit is in it."""
    entry = _reviewing(context).entry(commit)
    context.verifying.begin(entry)
    return Reply(answer=verification(context, entry), status=202)


@routes.endpoint("POST", "/api/commit/{commit}/verify/cancel", answers={202: Verification}, errors=(400, 404, 409, 503))
def cancel_verification(context: AppContext, commit: str) -> Reply:
    """End the verification of a commit at once; what was known of it stays."""
    entry = _reviewing(context).entry(commit)
    context.verifying.cancel(entry)
    return Reply(answer=verification(context, entry), status=202)


@routes.endpoint("POST", "/api/task/{task_id}/reviewed", errors=(400, 404, 503))
def review_task(context: AppContext, task_id: int) -> Reviewed:
    """Mark the commits of a task as read."""
    return _reviewing(context).review_task(task_id)


@routes.endpoint("POST", "/api/task/{task_id}/revert", errors=(400, 404, 409, 415, 503))
def revert_task(context: AppContext, task_id: int, body: RevertIn | None) -> Reverted:
    """Revert what a task integrated, by a commit on top; answers when it is made, after running tests."""
    how = body or RevertIn()
    try:
        done = context.revert(task_id, how.force, how.reapply).result(REVERT_WALL_S)
    except CancelledError:
        raise NotReverted("the daemon stops; look at the task when it runs again") from None
    except TimeoutError:
        raise Busy("the tests still run, and the revert may still be made: look at the task's page") from None
    return done


def _reviewing(context: AppContext) -> Reviewing:
    return Reviewing(context.database, context.queue, context.events, context.mask)
