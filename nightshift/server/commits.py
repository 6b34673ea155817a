"""Defines the API's models of commits, and of the owner's actions on them: review, revert, reapply, integrate."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal, Self

from pydantic import Field, StrictBool, model_validator

from nightshift.core.clock import Moment
from nightshift.core.tasks.remarks import Gravity, Reader
from nightshift.core.tasks.revisions import ChangedFile
from nightshift.report.risk import WEIGHTS, Level, Ranked
from nightshift.server.formatting import Mask, short, shorten
from nightshift.server.query import Bound, Id, Query
from nightshift.server.schemas import Answer, Sent
from nightshift.storage.db.state_store import Commit

FILES_SHOWN = 20


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


def commit_row(commit: Commit, ranked: Ranked, mask: Mask) -> CommitRow:
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
