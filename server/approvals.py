"""What waits for the owner's decision, as the API says it and takes his answer."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, StrictBool

from core.gates import Approval, AskKind
from server.schemas import Answer, Moment

MAX_ANSWER_CHARS = 2000


class ApprovalRow(Answer):
    """One ask: `subject` names what a yes allows; `granted` is null until it is decided."""

    approval_id: int
    task_id: int
    attempt: int
    kind: AskKind
    subject: str
    question: str
    granted: bool | None
    answer: str
    asked_at: Moment
    answered_at: Moment | None


class Approvals(Answer):
    """Asks, oldest first."""

    approvals: list[ApprovalRow]


class DecisionIn(BaseModel):
    """A decision. `answer` is the answer to a question, or a remark for the log."""

    model_config = ConfigDict(extra="forbid")

    granted: StrictBool
    answer: str = Field("", max_length=MAX_ANSWER_CHARS)


def approval_row(approval: Approval) -> ApprovalRow:
    """The ask as the API shows it."""
    ask = approval.ask
    return ApprovalRow(
        approval_id=approval.id,
        task_id=approval.task_id,
        attempt=approval.attempt,
        kind=ask.kind,
        subject=ask.subject,
        question=ask.question,
        granted=approval.granted,
        answer=approval.answer,
        asked_at=approval.asked_at,
        answered_at=approval.answered_at,
    )
