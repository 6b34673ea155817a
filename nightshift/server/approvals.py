"""Defines the API's models of questions that wait for the owner's decision, and of the answers."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

from pydantic import Field, StrictBool, StringConstraints

from nightshift.core.clock import Moment
from nightshift.core.tasks.change_checks import Answerer, Approval, AskKind
from nightshift.core.text.masking import Masker
from nightshift.server.formatting import Mask, full_text, short
from nightshift.server.query import Id, Query
from nightshift.server.schemas import Answer, Sent

MAX_ANSWER_CHARS = 2000
_by_shape = Masker()


class ApprovalRow(Answer):
    """A question with its answer.

    `wanted` is the first line of the task's description. `subject` names what a yes allows. `granted` is null until the
    question is decided. `default` is the answer that is assumed if nobody answers. `assumed_at` is the time when the
    default is assumed, null if the question waits without a limit or is already decided. `answered_by` is null until
    the decision, and also if the decision does not record who made it.
    """

    approval_id: int
    task_id: int
    wanted: str
    attempt: int
    kind: AskKind
    subject: str
    question: str
    default: str
    granted: bool | None
    answer: str
    asked_at: Moment
    assumed_at: Moment | None
    answered_at: Moment | None
    answered_by: Answerer | None


class Approvals(Answer):
    """Questions, oldest first."""

    approvals: list[ApprovalRow]


class Decisions(Answer):
    """Decided questions, newest first. `next_after` is the `after` of the next page, null on the last page."""

    decisions: list[ApprovalRow]
    next_after: int | None


class Undecided(Answer):
    """A question that could not be decided, and the reason."""

    approval_id: int
    why: str


class Decided(Answer):
    """The questions that a request decided, and those that it could not decide."""

    decided: list[ApprovalRow]
    refused: list[Undecided]


class DecisionsQuery(Query):
    """Selection of decisions to list."""

    limit: int = Field(50, ge=1, le=500, description="maximum number of results")
    after: Id | None = Field(None, description="the last approval_id of the previous page")


class DecisionsIn(Sent):
    """One decision on several questions. `remark` is written to the log.

    If `granted` is true, each ask of the kind `question` is answered with its default.
    """

    approvals: Annotated[list[Id], Field(min_length=1, max_length=500)]
    granted: StrictBool
    remark: str = Field("", max_length=MAX_ANSWER_CHARS)


class DecisionIn(Sent):
    """A decision on one ask.

    If the ask is a question and is granted, `answer` is the answer to the question. Otherwise `answer` is a remark for
    the log.
    """

    granted: StrictBool
    answer: str = Field("", max_length=MAX_ANSWER_CHARS)


class AnswerIn(Sent):
    """The answer to a question."""

    answer: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_ANSWER_CHARS)]


def approval_row(approval: Approval, wait_s: float, mask: Mask = _by_shape) -> ApprovalRow:
    """Return the question as the API shows it: masked, printable and cut to size.

    Args:
        approval: the question.
        wait_s: seconds a question waits before its default is assumed.
        mask: removes secrets from texts of the task and its owner.
    """
    ask = approval.ask
    is_assumed = bool(ask.default) and approval.granted is None
    wanted = next((line for line in approval.wanted.split("\n") if line.strip()), "")
    return ApprovalRow.from_values(
        approval,
        ask,
        approval_id=approval.id,
        wanted=short(wanted, mask),
        subject=full_text(ask.subject, mask),
        question=full_text(ask.question, mask),
        default=full_text(ask.default, mask),
        answer=full_text(approval.answer, mask),
        assumed_at=approval.asked_at + timedelta(seconds=wait_s) if is_assumed else None,
    )
