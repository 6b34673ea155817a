"""What tasks ask of their owner, and his answers."""

from __future__ import annotations

from core.change_checks import Approval, AskKind
from core.errors import IllegalMove, UnknownApproval
from server.approvals import (
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
from server.context import AppContext, settled
from server.endpoint import Call, Endpoint, Reply
from server.query import ApprovalsQuery


def list_approvals(call: Call) -> Reply:
    """What was asked of the owner."""
    query = call.asked(ApprovalsQuery)
    found = call.context.queue.approvals(open_only=query.open, task_id=query.task)
    return Reply(answer=Approvals(approvals=[_row(call.context, each) for each in found]))


def list_decisions(call: Call) -> Reply:
    """What was decided, by the owner or for want of an answer."""
    query = call.asked(DecisionsQuery)
    found = call.context.queue.decisions(query.limit + 1, query.after)
    page = found[: query.limit]
    after = page[-1].id if len(found) > len(page) else None
    return Reply(answer=Decisions(decisions=[_row(call.context, each) for each in page], next_after=after))


def decide_approval(call: Call) -> Reply:
    """Grant or deny one ask."""
    said = call.body(DecisionIn)
    decided = settled(call.context.queue.decide(call.number("approval_id"), said.granted, said.answer))
    return Reply(answer=_row(call.context, decided))


def decide_several(call: Call) -> Reply:
    """Grant or deny several asks; each is decided or refused by itself."""
    said, queue = call.body(DecisionsIn), call.context.queue
    # The text of a grant would answer a question; the remark is none.
    questions = {each.id for each in queue.approvals() if each.ask.kind is AskKind.QUESTION}
    asked = dict.fromkeys(said.approvals)
    remark = {each: "" if said.granted and each in questions else said.remark for each in asked}
    writes = {each: queue.decide(each, said.granted, remark[each]) for each in asked}
    decided, refused = list[ApprovalRow](), list[Undecided]()
    for each, write in writes.items():
        try:
            decided.append(_row(call.context, settled(write)))
        except (IllegalMove, UnknownApproval) as error:
            refused.append(Undecided(approval_id=each, why=str(error)))
    return Reply(answer=Decided(decided=decided, refused=refused))


def answer_question(call: Call) -> Reply:
    """Answer one question."""
    answered = settled(call.context.queue.answer(call.number("approval_id"), call.body(AnswerIn).answer))
    return Reply(answer=_row(call.context, answered))


def _row(context: AppContext, approval: Approval) -> ApprovalRow:
    return approval_row(approval, context.clarify_wait_s(), context.mask)


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
        name="list_decisions",
        view=list_decisions,
        method="GET",
        path="/api/decisions",
        summary="What was decided of what tasks asked, newest first, page by page.",
        query=DecisionsQuery,
        answers={200: Decisions},
        errors=(400,),
    ),
    Endpoint(
        name="decide_several",
        view=decide_several,
        method="POST",
        path="/api/decisions",
        summary="Grant or deny several asks at once; what cannot be decided is told, and the others are.",
        body=DecisionsIn,
        body_required=True,
        answers={200: Decided},
        errors=(400, 415, 503),
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
