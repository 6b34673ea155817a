"""Serves the questions that tasks ask the owner, and accepts the owner's answers."""

from __future__ import annotations

from nightshift.core.errors import IllegalMove, UnknownApproval
from nightshift.core.tasks.change_checks import Approval, AskKind
from nightshift.server.approvals import (
    AnswerIn,
    ApprovalRow,
    Approvals,
    Decided,
    DecisionIn,
    Decisions,
    DecisionsIn,
    DecisionsQuery,
    Undecided,
    approval_row,
)
from nightshift.server.context import AppContext, wait_for
from nightshift.server.endpoint import Routes
from nightshift.server.query import ApprovalsQuery

routes = Routes()


@routes.endpoint("GET", "/api/approvals")
def list_approvals(context: AppContext, query: ApprovalsQuery) -> Approvals:
    """List the questions to the owner, oldest first. At most the newest 500 are listed."""
    rows = context.queue.approvals(open_only=query.open, task_id=query.task)
    return Approvals(approvals=[_row(context, each) for each in rows])


@routes.endpoint("GET", "/api/decisions")
def list_decisions(context: AppContext, query: DecisionsQuery) -> Decisions:
    """List the owner's decisions on questions of tasks, newest first, page by page."""
    rows = context.queue.decisions(query.limit + 1, query.after)
    page = rows[: query.limit]
    after = page[-1].id if len(rows) > len(page) else None
    return Decisions(decisions=[_row(context, each) for each in page], next_after=after)


@routes.endpoint("POST", "/api/approvals/{approval_id}")
def decide_approval(context: AppContext, approval_id: int, body: DecisionIn) -> ApprovalRow:
    """Grant or deny a request of a task. The task continues when its last open question is decided."""
    decided = wait_for(context.queue.decide(approval_id, body.granted, body.answer))
    return _row(context, decided)


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
            decided.append(_row(context, wait_for(write)))
        except (IllegalMove, UnknownApproval) as error:
            refused.append(Undecided(approval_id=each, why=str(error)))
    return Decided(decided=decided, refused=refused)


@routes.endpoint("POST", "/api/approvals/{approval_id}/answer")
def answer_question(context: AppContext, approval_id: int, body: AnswerIn) -> ApprovalRow:
    """Answer a question of a task.

    Refused (409) if the task does not ask a question but asks to grant or deny something.
    """
    answered = wait_for(context.queue.answer(approval_id, body.answer))
    return _row(context, answered)


def _row(context: AppContext, approval: Approval) -> ApprovalRow:
    return approval_row(approval, context.clarify_wait_s(), context.mask)
