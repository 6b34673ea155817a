"""Serves commits: listing, reviewing, verifying, reverting, integrating, discarding, and finding them by name."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import CancelledError, Future
from typing import TypeVar

from flask import Response

from nightshift.attempt.verify import Check, Judgement, Standing
from nightshift.attempt.verifying import Verified
from nightshift.core.clock import Moment
from nightshift.core.errors import BranchRefused
from nightshift.core.tasks.commit_message import Discarded, Integrated, Reverted
from nightshift.server.commits import Commits, CommitsQuery, IntegrateIn, RevertIn, Reviewed, ReviewIn
from nightshift.server.context import COMMIT_WALL_S, AppContext, wait_for
from nightshift.server.endpoint import Reply, Routes
from nightshift.server.formatting import Mask, short
from nightshift.server.naming import Named, NameQuery, Naming
from nightshift.server.reviewing import Reviewing
from nightshift.server.schemas import Answer
from nightshift.storage.db.state_store import Commit

routes = Routes()
T = TypeVar("T")


class CheckLine(Answer):
    """Result of one check of a verification.

    `CHANGED` means that the result differs from the evidence but does not refute the evidence. `FAILED` means that the
    result refutes the evidence.
    """

    what: str
    standing: Standing
    detail: str


class Run(Answer):
    """A running verification.

    `since` is the time when it started. `doing` describes the check that is running now. `checks` are the checks made
    so far.
    """

    since: Moment
    doing: str
    checks: list[CheckLine]


class Outcome(Answer):
    """Result of a verification.

    `sentence` is the judgement with its reason. `took_s` is the number of seconds from the request to the result.
    """

    judgement: Judgement
    sentence: str
    at: Moment
    took_s: float
    checks: list[CheckLine]


class Verification(Answer):
    """State of the verification of a commit.

    `run` is null if this commit is not being verified. `last` is null if no verification of this commit has ended. Only
    one verification runs at a time. If another commit is being verified, `busy_with` is the task of that commit;
    otherwise it is null.
    """

    commit: str
    run: Run | None
    last: Outcome | None
    busy_with: int | None


def verification(context: AppContext, entry: Commit) -> Verification:
    """Return the state of the verification of a commit in the ledger."""
    (now, last), mask = context.verifying.standing(entry), context.mask
    mine = now if now and now.commit == entry.commit else None
    return Verification(
        commit=entry.commit,
        run=Run.from_values(mine, checks=_lines(mine.checks, mask)) if mine else None,
        last=_outcome(last, mask) if last else None,
        busy_with=now.task_id if now and not mine else None,
    )


def _outcome(last: Verified, mask: Mask) -> Outcome:
    return Outcome.from_values(last, sentence=short(last.sentence, mask), checks=_lines(last.checks, mask))


def _lines(checks: Sequence[Check], mask: Mask) -> list[CheckLine]:
    return [CheckLine.from_values(check, detail=short(check.detail, mask)) for check in checks]


@routes.endpoint("GET", "/api/commits")
def list_commits(context: AppContext, query: CommitsQuery) -> Commits:
    """List commits, newest first, page by page."""
    return _reviewing(context).commits(query)


@routes.endpoint("POST", "/api/commits/reviewed")
def review_commits(context: AppContext, body: ReviewIn) -> Reviewed:
    """Mark one commit or all commits as read, or mark the commits with given ledger ids as unread again."""
    return _reviewing(context).review(body)


@routes.endpoint("GET", "/api/commit/{commit}/proof", media="text/html")
def download_proof(context: AppContext, commit: str) -> Response:
    """Download the proof of a commit as one self-contained HTML file; `commit` is the beginning of its id."""
    proof = context.proof(_reviewing(context).entry(commit))
    headers = {"Content-Disposition": f'attachment; filename="{proof.name}"'}
    return Response(proof.html, headers=headers, mimetype="text/html")


@routes.endpoint("GET", "/api/commit/{commit}/verification")
def show_verification(context: AppContext, commit: str) -> Verification:
    """Show whether a commit is being verified, and the result of its last verification.

    `commit` is the beginning of its id.
    """
    return verification(context, _reviewing(context).entry(commit))


@routes.endpoint("POST", "/api/commit/{commit}/verify", answers={202: Verification})
def verify_again(context: AppContext, commit: str) -> Reply:
    """Start to verify a commit by running its evidence again.

    Only one verification runs at a time. A second request gets 409, which names the commit that is being verified.
    """
    entry = _reviewing(context).entry(commit)
    context.verifying.begin(entry)
    return Reply(answer=verification(context, entry), status=202)


@routes.endpoint("POST", "/api/commit/{commit}/verify/cancel", answers={202: Verification})
def cancel_verification(context: AppContext, commit: str) -> Reply:
    """Cancel the running verification of a commit at once. The result of its last verification is kept."""
    entry = _reviewing(context).entry(commit)
    context.verifying.cancel(entry)
    return Reply(answer=verification(context, entry), status=202)


@routes.endpoint("POST", "/api/task/{task_id}/reviewed")
def review_task(context: AppContext, task_id: int) -> Reviewed:
    """Mark the commits of a task as read."""
    return _reviewing(context).review_task(task_id)


@routes.endpoint("POST", "/api/task/{task_id}/revert")
def revert_task(context: AppContext, task_id: int, body: RevertIn | None) -> Reverted:
    """Revert the integrated commits of a task by a new commit.

    The response is sent after a test run, and contains the new commit.
    """
    how = body or RevertIn()
    return _wait_for(context.commit_actions.revert(task_id, how.force, how.reapply))


@routes.endpoint("POST", "/api/task/{task_id}/integrate")
def integrate_task(context: AppContext, task_id: int, body: IntegrateIn | None) -> Integrated:
    """Integrate the commit that waits on the branch of a task, after running its tests.

    It is safe to send the request twice.
    """
    return _wait_for(context.commit_actions.integrate(task_id, (body or IntegrateIn()).force))


@routes.endpoint("POST", "/api/task/{task_id}/discard")
def discard_task(context: AppContext, task_id: int) -> Discarded:
    """Remove the branch on which a commit of a task waits. The answer has the command that restores the branch."""
    return _wait_for(context.commit_actions.discard(task_id))


@routes.endpoint("GET", "/api/resolve")
def resolve_name(context: AppContext, query: NameQuery) -> Named:
    """Find the task and the commit that a name stands for.

    A name is a task's number, or the beginning of a commit id or of a branch name.
    """
    return Naming(context.database, context.queue, context.events, context.mask).find(query.name, query.repo)


def _wait_for(asked: Future[T]) -> T:
    """Wait until an action on a commit is done, including the tests that it runs."""
    try:
        return wait_for(
            asked, COMMIT_WALL_S, "the tests are still running, and this may still be completed: check the task's page"
        )
    except CancelledError:
        raise BranchRefused("the daemon is stopping; check the task when it runs again") from None


def _reviewing(context: AppContext) -> Reviewing:
    return Reviewing(context.database, context.queue, context.events, context.mask)
