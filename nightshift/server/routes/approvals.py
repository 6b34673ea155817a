"""Serves the questions that tasks ask the owner, and accepts the owner's answers."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

from pydantic import Field, StrictBool, StringConstraints

from nightshift.core.clock import Moment
from nightshift.core.errors import IllegalMove, UnknownApproval
from nightshift.core.tasks.change_checks import Answerer, Approval, AskKind
from nightshift.server.context import AppContext, wait_for
from nightshift.server.endpoint import Routes
from nightshift.server.formatting import full_text, short
from nightshift.server.query import Id, Query
from nightshift.server.schemas import Answer, Sent

MAX_ANSWER_CHARS = 2000
routes = Routes()


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


class ApprovalsQuery(Query):
    """Selection of questions to list."""

    open: bool = Field(False, description="only asks that a waiting task waits for")
    task: Id | None = Field(None, description="only asks of this task")


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


@routes.endpoint("GET", "/api/approvals")
def list_approvals(context: AppContext, query: ApprovalsQuery) -> Approvals:
    """List the questions to the owner, oldest first. At most the newest 500 are listed."""
    approvals = context.queue.approvals(open_only=query.open, task_id=query.task)
    return Approvals(approvals=[approval_row(context, each) for each in approvals])


@routes.endpoint("GET", "/api/decisions")
def list_decisions(context: AppContext, query: DecisionsQuery) -> Decisions:
    """List the owner's decisions on questions of tasks, newest first, page by page."""
    rows = context.queue.decisions(query.limit + 1, query.after)
    page = rows[: query.limit]
    after = page[-1].id if len(rows) > len(page) else None
    return Decisions(decisions=[approval_row(context, each) for each in page], next_after=after)


@routes.endpoint("POST", "/api/approvals/{approval_id}")
def decide_approval(context: AppContext, approval_id: int, body: DecisionIn) -> ApprovalRow:
    """Grant or deny a request of a task. The task continues when its last open question is decided."""
    return approval_row(context, wait_for(context.queue.decide(approval_id, body.granted, body.answer)))


@routes.endpoint("POST", "/api/decisions")
def decide_several(context: AppContext, body: DecisionsIn) -> Decided:
    """Grant or deny several requests at once.

    The answer lists the requests that could not be decided, and the reasons.
    """
    queue = context.queue
    # When a question is granted, the text that is stored with the decision becomes the answer to the question. The
    # owner's remark is not meant as an answer, so granted questions get an empty text instead.
    questions = {each.id for each in queue.approvals() if each.ask.kind is AskKind.QUESTION}
    asked = dict.fromkeys(body.approvals)
    remark = {each: "" if body.granted and each in questions else body.remark for each in asked}
    writes = {each: queue.decide(each, body.granted, remark[each]) for each in asked}
    decided, refused = list[ApprovalRow](), list[Undecided]()
    for each, write in writes.items():
        try:
            decided.append(approval_row(context, wait_for(write)))
        except (IllegalMove, UnknownApproval) as error:
            refused.append(Undecided(approval_id=each, why=str(error)))
    return Decided(decided=decided, refused=refused)


@routes.endpoint("POST", "/api/approvals/{approval_id}/answer")
def answer_question(context: AppContext, approval_id: int, body: AnswerIn) -> ApprovalRow:
    """Answer a question of a task.

    Refused (409) if the task does not ask a question but asks to grant or deny something.
    """
    return approval_row(context, wait_for(context.queue.answer(approval_id, body.answer)))


def approval_row(context: AppContext, approval: Approval) -> ApprovalRow:
    """Return the question as the API shows it: masked, printable and cut to size."""
    ask, mask = approval.ask, context.mask
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
        assumed_at=approval.asked_at + timedelta(seconds=context.clarify_wait_s()) if is_assumed else None,
    )
