"""Commits: listing, reading, verifying, reverting, integrating, discarding, and finding by a name."""

from __future__ import annotations

from concurrent.futures import CancelledError, Future
from typing import TypeVar

from flask import Response

from nightshift.core.errors import BranchRefused
from nightshift.core.tasks.integrating import Discarded, Integrated
from nightshift.core.tasks.revert import Reverted
from nightshift.server.commits import Commits, CommitsQuery, IntegrateIn, RevertIn, Reviewed, ReviewIn
from nightshift.server.context import COMMIT_WALL_S, AppContext, Busy
from nightshift.server.endpoint import Reply, Routes
from nightshift.server.naming import Named, NameQuery, Naming
from nightshift.server.reviewing import Reviewing
from nightshift.server.verifying import Verification, verification

routes = Routes()
T = TypeVar("T")


@routes.endpoint("GET", "/api/commits")
def list_commits(context: AppContext, query: CommitsQuery) -> Commits:
    """List the commits that were made, newest first, page by page."""
    return _reviewing(context).commits(query)


@routes.endpoint("POST", "/api/commits/reviewed")
def review_commits(context: AppContext, body: ReviewIn) -> Reviewed:
    """Mark one commit as read, or all; or take that back by the ids of their rows."""
    return _reviewing(context).review(body)


@routes.endpoint("GET", "/api/commit/{commit}/proof", media="text/html")
def download_proof(context: AppContext, commit: str) -> Response:
    """Download the proof of a commit, as one HTML file that needs nothing else; `commit` is the beginning of its id."""
    found = context.proof(_reviewing(context).entry(commit))
    headers = {"Content-Disposition": f'attachment; filename="{found.name}"'}
    return Response(found.html, headers=headers, mimetype="text/html")


@routes.endpoint("GET", "/api/commit/{commit}/verification")
def show_verification(context: AppContext, commit: str) -> Verification:
    """Show whether a commit is being verified again, and the last result; `commit` is the beginning of its id."""
    return verification(context, _reviewing(context).entry(commit))


@routes.endpoint("POST", "/api/commit/{commit}/verify", answers={202: Verification})
def verify_again(context: AppContext, commit: str) -> Reply:
    """Begin to run the evidence of a commit again; there is one slot, and 409 says whose commit is in it."""
    entry = _reviewing(context).entry(commit)
    context.verifying.begin(entry)
    return Reply(answer=verification(context, entry), status=202)


@routes.endpoint("POST", "/api/commit/{commit}/verify/cancel", answers={202: Verification})
def cancel_verification(context: AppContext, commit: str) -> Reply:
    """End the verification of a commit at once; what was known of it stays."""
    entry = _reviewing(context).entry(commit)
    context.verifying.cancel(entry)
    return Reply(answer=verification(context, entry), status=202)


@routes.endpoint("POST", "/api/task/{task_id}/reviewed")
def review_task(context: AppContext, task_id: int) -> Reviewed:
    """Mark the commits of a task as read."""
    return _reviewing(context).review_task(task_id)


@routes.endpoint("POST", "/api/task/{task_id}/revert")
def revert_task(context: AppContext, task_id: int, body: RevertIn | None) -> Reverted:
    """Revert what a task integrated, by a commit on top; answers when it is made, after running tests."""
    how = body or RevertIn()
    return _done(context.commit_actions.revert(task_id, how.force, how.reapply))


@routes.endpoint("POST", "/api/task/{task_id}/integrate")
def integrate_task(context: AppContext, task_id: int, body: IntegrateIn | None) -> Integrated:
    """Integrate the commit that waits on the branch of a task, after running its tests; asking twice is harmless."""
    return _done(context.commit_actions.integrate(task_id, (body or IntegrateIn()).force))


@routes.endpoint("POST", "/api/task/{task_id}/discard")
def discard_task(context: AppContext, task_id: int) -> Discarded:
    """Remove the branch on which a commit of a task waits; the answer names the command that makes it again."""
    return _done(context.commit_actions.discard(task_id))


@routes.endpoint("GET", "/api/resolve")
def resolve_name(context: AppContext, query: NameQuery) -> Named:
    """Look up the task and the commit of a name: a number, or the beginning of a commit's id or of a branch."""
    return Naming(context.database, context.queue, context.events, context.mask).find(query.name, query.repo)


def _done(asked: Future[T]) -> T:
    """Wait until an action on a commit is over, tests included."""
    try:
        return asked.result(COMMIT_WALL_S)
    except CancelledError:
        raise BranchRefused("the daemon stops; look at the task when it runs again") from None
    except TimeoutError:
        raise Busy("the tests still run, and it may still be done: look at the task's page") from None


def _reviewing(context: AppContext) -> Reviewing:
    return Reviewing(context.database, context.queue, context.events, context.mask)
