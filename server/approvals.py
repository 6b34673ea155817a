"""What waits for the owner's decision, as the API says it and takes his answer."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StringConstraints

from core.gates import Approval, AskKind
from server.schemas import Answer, Moment

MAX_ANSWER_CHARS = 2000


class ApprovalRow(Answer):
    """One ask: `subject` names what a yes allows; `granted` is null until it is decided.

    `default` is what is assumed where nobody answers a question, and `assumed_at` when that will be; null where the ask
    waits as long as it takes, or was decided.
    """

    approval_id: int
    task_id: int
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


class Approvals(Answer):
    """Asks, oldest first."""

    approvals: list[ApprovalRow]


class DecisionIn(BaseModel):
    """A decision. `answer` is a remark for the log; of a question that is granted it is the answer."""

    model_config = ConfigDict(extra="forbid")

    granted: StrictBool
    answer: str = Field("", max_length=MAX_ANSWER_CHARS)


class AnswerIn(BaseModel):
    """The answer to a question."""

    model_config = ConfigDict(extra="forbid")

    answer: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_ANSWER_CHARS)]


def approval_row(approval: Approval, wait_s: float) -> ApprovalRow:
    """The ask as the API shows it; `wait_s` is how long a question waits before its default is assumed."""
    ask = approval.ask
    is_assumed = bool(ask.default) and approval.granted is None
    return ApprovalRow(
        approval_id=approval.id,
        task_id=approval.task_id,
        attempt=approval.attempt,
        kind=ask.kind,
        subject=ask.subject,
        question=ask.question,
        default=ask.default,
        granted=approval.granted,
        answer=approval.answer,
        asked_at=approval.asked_at,
        assumed_at=approval.asked_at + timedelta(seconds=wait_s) if is_assumed else None,
        answered_at=approval.answered_at,
    )
