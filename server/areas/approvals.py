"""What tasks ask of their owner, and his answers."""

from __future__ import annotations

from server.approvals import AnswerIn, ApprovalRow, Approvals, DecisionIn, approval_row
from server.desk import settled
from server.endpoint import Call, Endpoint, Reply
from server.query import ApprovalsQuery


def list_approvals(call: Call) -> Reply:
    """What was asked of the owner."""
    query = call.asked(ApprovalsQuery)
    found = call.desk.queue.approvals(open_only=query.open, task_id=query.task)
    return Reply(answer=Approvals(approvals=[approval_row(each, call.desk.clarify_wait_s()) for each in found]))


def decide_approval(call: Call) -> Reply:
    """Grant or deny one ask."""
    said = call.body(DecisionIn)
    decided = settled(call.desk.queue.decide(call.number("approval_id"), said.granted, said.answer))
    return Reply(answer=approval_row(decided, call.desk.clarify_wait_s()))


def answer_question(call: Call) -> Reply:
    """Answer one question."""
    answered = settled(call.desk.queue.answer(call.number("approval_id"), call.body(AnswerIn).answer))
    return Reply(answer=approval_row(answered, call.desk.clarify_wait_s()))


ENDPOINTS = (
    Endpoint(
        name="list_approvals",
        view=list_approvals,
        method="GET",
        path="/api/approvals",
        summary="What was asked of the owner, oldest first; the newest 500 at most.",
        query=ApprovalsQuery,
        answers={200: Approvals},
        errors=(400,),
    ),
    Endpoint(
        name="decide_approval",
        view=decide_approval,
        method="POST",
        path="/api/approvals/{approval_id}",
        summary="Grant or deny what a task asked for; with its last answer the task goes on.",
        body=DecisionIn,
        body_required=True,
        answers={200: ApprovalRow},
        errors=(400, 404, 409, 415, 503),
    ),
    Endpoint(
        name="answer_question",
        view=answer_question,
        method="POST",
        path="/api/approvals/{approval_id}/answer",
        summary="Answer what a task asked; refused (409) where the ask is a decision and no question.",
        body=AnswerIn,
        body_required=True,
        answers={200: ApprovalRow},
        errors=(400, 404, 409, 415, 503),
    ),
)
