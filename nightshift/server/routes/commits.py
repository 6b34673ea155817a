"""Serves commits: listing, reviewing, verifying, reverting, integrating, discarding, and finding them by name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import replace
from typing import Annotated, Literal, Self, TypeVar

from flask import Response
from pydantic import Field, StrictBool, model_validator

from nightshift.attempt.verifying import UnderWay, Verified
from nightshift.core.clock import Moment
from nightshift.core.errors import BranchRefused, UnknownCommit
from nightshift.core.tasks.commit_message import Discarded, Integrated, Reverted
from nightshift.core.tasks.remarks import Gravity, Reader
from nightshift.core.tasks.revisions import ChangedFile
from nightshift.report.ranking import find_regressions, ranks
from nightshift.report.risk import WEIGHTS, Level, Ranked
from nightshift.server.context import COMMIT_WALL_S, AppContext, wait_for
from nightshift.server.endpoint import Reply, Routes
from nightshift.server.formatting import Mask, short, shorten
from nightshift.server.naming import Named, NameQuery, Naming
from nightshift.server.query import BadQuery, Bound, Id, Query, moment
from nightshift.server.schemas import Answer, Sent
from nightshift.storage.db.state_store import Commit, StateStore

FILES_SHOWN = 20
MOST = 500
"""Number of commits whose current risk is computed for a list that is sorted by risk.

These are the commits with the highest risk points in the ledger.
"""
_BEGINNING = re.compile(r"[0-9a-fA-F]{4,64}")
routes = Routes()
T = TypeVar("T")


class LeftRemark(Answer):
    """A reader's finding that was still open when the commit was made. `place` is the finding's path and line."""

    severity: Gravity
    reader: Reader
    place: str
    reason: str
    fix: str


class RiskReason(Answer):
    """One reason for a commit's risk. `text` says what was found, `why` says why that is a risk."""

    points: int
    text: str
    why: str


class Risk(Answer):
    """The attention that a commit needs in review.

    `points` is the sum of the points of its reasons. The reasons with the most points come first.
    """

    level: Level
    points: int
    reasons: list[RiskReason]


class CommitRow(Answer):
    """A commit of the agent.

    `id` is its position in the ledger. `branch` is the branch of the task. `base` is the parent commit. `asked` is the
    beginning of the task's description. `target` is the branch that the commit was integrated into, or is meant for.
    `waits` is true if the commit waits on `branch` for the owner. `discarded_at` is the time when that branch was
    removed. `label` is the label of the verdict. `file_count` counts all changed files, and `files` lists the first of
    them; both are null if the files are not known. `remarks` are serious findings of the readers (the models that
    review or audit a change), worst first, that were still open when the commit was made.

    `changed_tests` are existing tests that the commit changed because they contradicted the task. `removed_tests` are
    tests that it removed together with the code that they tested. `own_tests` are tests that the agent wrote. `tests`
    counts the tests of the last run, and `tests_passed` those of them that passed. `held_out` counts the held-out cases
    in that run, which no prompt had shown. These three counts are null if they are not known. `allowed` are the rules
    that the task lets the commit break. A commit with the label `draft` did not pass: `failing` lists the first of its
    failing tests.
    """

    id: int
    task_id: int
    commit: str
    subject: str
    asked: str
    label: str
    repo: str
    branch: str
    base: str
    target: str
    integrated: bool
    at: Moment | None
    reviewed_at: Moment | None
    reverted_by: str | None
    waits: bool
    discarded_at: Moment | None
    added: int
    removed: int
    file_count: int | None
    files: list[ChangedFile] | None
    remarks: list[LeftRemark]
    changed_tests: tuple[str, ...] = ()
    removed_tests: tuple[str, ...] = ()
    own_tests: tuple[str, ...] = ()
    tests: int | None = None
    tests_passed: int | None = None
    failing: tuple[str, ...] = ()
    held_out: int | None = None
    packages: list[str]
    allowed: tuple[str, ...]
    risk: Risk


class Commits(Answer):
    """A page of commits.

    `next_after` is the `after` of the next page, null on the last page. `unread` counts all unread commits.
    """

    commits: list[CommitRow]
    next_after: int | None
    unread: int


class Reviewed(Answer):
    """Result of marking commits as read or as unread.

    `commits` are the commits that this request marked. `unread` counts the unread commits that are left.
    """

    commits: list[CommitRow]
    unread: int


class CommitsQuery(Query):
    """Selection of commits."""

    unread: bool = Field(False, description="only unread commits")
    standing: bool = Field(False, description="only commits that were integrated and not reverted")
    integrated: bool | None = Field(None, description="only integrated commits, or (0) only those on a branch")
    drafts: bool | None = Field(None, description="only drafts, which did not pass, or (0) no drafts")
    task: Id | None = Field(None, description="only commits of this task")
    since: Bound | None = Field(None, description="only commits made at this time or later; `today` means midnight")
    until: Bound | None = Field(None, description="only commits made before this time")
    order: Literal["newest", "risk"] = Field("newest", description="sort order")
    limit: int = Field(50, ge=1, le=500, description="maximum number of results")
    after: Id | None = Field(None, description="the last id of the previous page")


class RevertIn(Sent):
    """Options for reverting a task's work.

    With `force` the work is reverted even if other tests then fail. With `reapply` reverted work is applied again.
    """

    force: StrictBool = False
    reapply: StrictBool = False


class IntegrateIn(Sent):
    """Options for integrating a commit that waits on a branch. With `force`, the tests are not run."""

    force: StrictBool = False


class ReviewIn(Sent):
    """Commits to mark as read or unread; exactly one field is given.

    `commit` marks the commit whose hash starts with this text as read. `all` marks all commits as read. `undo` lists
    ids of commits to mark as unread again.
    """

    commit: Annotated[str, Field(pattern=r"^[0-9a-fA-F]{4,64}$")] | None = None
    all: StrictBool = False
    undo: Annotated[list[Id], Field(min_length=1, max_length=500)] | None = None

    @model_validator(mode="after")
    def _check_choice(self) -> Self:
        if (self.commit is not None) + self.all + (self.undo is not None) != 1:
            raise ValueError("give either `commit`, `all` or `undo`")
        return self


class Verification(Answer):
    """State of the verification of a commit.

    `run` is null if this commit is not being verified. `last` is null if no verification of this commit has ended. Only
    one verification runs at a time. If another commit is being verified, `busy_with` is the task of that commit;
    otherwise it is null. In a check, `CHANGED` means that the result differs from the evidence but does not refute it,
    and `FAILED` that the result refutes the evidence.
    """

    commit: str
    run: UnderWay | None
    last: Verified | None
    busy_with: int | None


@routes.endpoint("GET", "/api/commits")
def list_commits(context: AppContext, query: CommitsQuery) -> Commits:
    """List commits, newest first, page by page."""
    by_risk = query.order == "risk"
    if by_risk and query.after is not None:
        raise BadQuery({"after": "works only with the newest first; leave it out, or leave out `order=risk`"})
    page = context.reads.ledger.page(
        MOST if by_risk else query.limit + 1,
        after=query.after,
        task_id=query.task,
        unread=query.unread,
        integrated=query.standing or query.integrated,
        drafts=query.drafts,
        span=(moment(query.since), moment(query.until)),
        # The risk points in the ledger do not count tests that failed after the commit, although nothing raises the
        # risk more than such tests. The commits with such tests are therefore added here.
        riskiest=find_regressions(context.database, context.clock()) if by_risk else None,
    )
    rows = _rows(context, page, query.limit, by_risk=by_risk)
    next_after = rows[-1].id if len(page) > len(rows) and not by_risk else None
    return Commits(commits=rows, next_after=next_after, unread=StateStore(context.database).unread_count())


@routes.endpoint("POST", "/api/commits/reviewed")
def review_commits(context: AppContext, body: ReviewIn) -> Reviewed:
    """Mark one commit or all commits as read, or mark the commits with given ledger ids as unread again."""
    if body.undo is not None:
        return _answer_review(context, context.reads.ledger.unread(body.undo))
    entries = None if body.commit is None else [each.id for each in _entries(context, body.commit)]
    return _answer_review(context, context.reads.ledger.review(entries=entries))


@routes.endpoint("POST", "/api/task/{task_id}/reviewed")
def review_task(context: AppContext, task_id: int) -> Reviewed:
    """Mark the commits of a task as read."""
    context.queue.get(task_id)
    if context.reads.find_commit(task_id) is None:
        raise UnknownCommit(f"task {task_id} made no commit")
    return _answer_review(context, context.reads.ledger.review(task_id=task_id))


@routes.endpoint("GET", "/api/commit/{commit}/proof", media="text/html")
def download_proof(context: AppContext, commit: str) -> Response:
    """Download the proof of a commit as one self-contained HTML file; `commit` is the beginning of its id."""
    proof = context.proof(_entry(context, commit))
    headers = {"Content-Disposition": f'attachment; filename="{proof.name}"'}
    return Response(proof.html, headers=headers, mimetype="text/html")


@routes.endpoint("GET", "/api/commit/{commit}/verification")
def show_verification(context: AppContext, commit: str) -> Verification:
    """Show whether a commit is being verified, and the result of its last verification.

    `commit` is the beginning of its id.
    """
    return _verification(context, _entry(context, commit))


@routes.endpoint("POST", "/api/commit/{commit}/verify", answers={202: Verification})
def verify_again(context: AppContext, commit: str) -> Reply:
    """Start to verify a commit by running its evidence again.

    Only one verification runs at a time. A second request gets 409, which names the commit that is being verified.
    """
    entry = _entry(context, commit)
    context.verifying.begin(entry)
    return Reply(answer=_verification(context, entry), status=202)


@routes.endpoint("POST", "/api/commit/{commit}/verify/cancel", answers={202: Verification})
def cancel_verification(context: AppContext, commit: str) -> Reply:
    """Cancel the running verification of a commit at once. The result of its last verification is kept."""
    entry = _entry(context, commit)
    context.verifying.cancel(entry)
    return Reply(answer=_verification(context, entry), status=202)


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


def _verification(context: AppContext, entry: Commit) -> Verification:
    now, last = context.verifying.standing(entry)
    mine = now if now and now.commit == entry.commit else None
    return Verification(
        commit=entry.commit,
        run=shorten(mine, context.mask),
        last=shorten(last, context.mask),
        busy_with=now.task_id if now and not mine else None,
    )


def _wait_for(asked: Future[T]) -> T:
    """Wait until an action on a commit is done, including the tests that it runs."""
    try:
        return wait_for(
            asked, COMMIT_WALL_S, "the tests are still running, and this may still be completed: check the task's page"
        )
    except CancelledError:
        raise BranchRefused("the daemon is stopping; check the task when it runs again") from None


def _answer_review(context: AppContext, write: Future[list[Commit]]) -> Reviewed:
    commits = wait_for(write)
    return Reviewed(commits=_rows(context, commits), unread=StateStore(context.database).unread_count())


def _rows(
    context: AppContext, commits: Sequence[Commit], limit: int | None = None, *, by_risk: bool = False
) -> list[CommitRow]:
    """Return rows for commits with their current risk, in the given order or riskiest first.

    With a `limit`, only the first rows are returned.
    """
    by_id = {commit.id: commit for commit in commits}
    ranked = ranks(context.database, by_id, context.clock())
    return [_row(by_id[n], ranked[n], context.mask) for n in list(ranked if by_risk else by_id)[:limit]]


def _entry(context: AppContext, start: str) -> Commit:
    """Return the newest ledger entry of the commit whose id begins with `start`; fails with `UnknownCommit`."""
    if not _BEGINNING.fullmatch(start):
        raise UnknownCommit("a commit is named by at least four digits of its id")
    return _entries(context, start)[0]


def _entries(context: AppContext, start: str) -> list[Commit]:
    commits = context.reads.ledger.named(start.lower())
    names = {commit.commit for commit in commits}
    if not names:
        raise UnknownCommit(f"Nightshift made no commit that begins with {start.lower()}")
    if len(names) > 1:
        raise UnknownCommit(f"{len(names)} commits begin with {start.lower()}; give more digits")
    return commits


def _row(commit: Commit, ranked: Ranked, mask: Mask) -> CommitRow:
    """Return the ledger entry as the API shows it, with its risk."""
    files, signs = commit.files, commit.signs
    return CommitRow.from_values(
        commit,
        shorten(signs, mask),
        subject=short(commit.subject, mask),
        asked=short(ranked.commit.asked, mask, 1000),
        target=commit.target.removeprefix("refs/heads/"),
        added=sum(file.added or 0 for file in files or ()),
        removed=sum(file.removed or 0 for file in files or ()),
        file_count=None if files is None else len(files),
        remarks=[
            LeftRemark(
                severity=remark.gravity,
                reader=remark.reader,
                place=short(remark.where, mask),
                reason=short(remark.reason, mask, 2000),
                fix=short(remark.fix, mask, 2000),
            )
            for remark in (signs.remarks if signs else ())
        ],
        packages=[f"{name} {version}".strip() for name, version in (signs.packages if signs else {}).items()],
        allowed=ranked.commit.allowed,
        risk=Risk(
            level=ranked.level,
            points=ranked.points,
            reasons=[
                RiskReason(points=reason.points, text=short(reason.text, mask), why=WEIGHTS[reason.weight].why)
                for reason in ranked.reasons
            ],
        ),
        files=files and [replace(file, path=short(file.path, mask)) for file in files[:FILES_SHOWN]],
    )
