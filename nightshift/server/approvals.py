"""Questions that wait for the owner's decision, as the API shows them and takes his answer."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StringConstraints

from nightshift.core.clock import Moment
from nightshift.core.tasks.change_checks import Answerer, Approval, AskKind
from nightshift.core.text.masking import Masker
from nightshift.server.formatting import Mask, full_text, short
from nightshift.server.query import Id, Query
from nightshift.server.schemas import Answer

MAX_ANSWER_CHARS = 2000
_by_shape = Masker()


class ApprovalRow(Answer):
    """One ask, beside its answer: `subject` names what a yes allows; `granted` is null until it is decided.

    `default` is what is assumed where nobody answers a question, and `assumed_at` when that will be; null where the ask
    waits as long as it takes, or was decided. `answered_by` is null until then, and where that was not noted.
    `wanted` is the task, in a line.
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
    """Asks, oldest first."""

    approvals: list[ApprovalRow]


class Decisions(Answer):
    """Asks that were decided, newest first; `next_after` is the `after` of the next page, null on the last."""

    decisions: list[ApprovalRow]
    next_after: int | None


class Undecided(Answer):
    """An ask that was not decided, and why."""

    approval_id: int
    why: str


class Decided(Answer):
    """Result of several decisions."""

    decided: list[ApprovalRow]
    refused: list[Undecided]


class DecisionsQuery(Query):
    """Selection of decisions to list."""

    limit: int = Field(50, ge=1, le=500, description="at most so many")
    after: Id | None = Field(None, description="the last approval_id of the page before")


class DecisionsIn(BaseModel):
    """One decision on several asks; the remark is for the log. Questions that are granted go with what is assumed."""

    model_config = ConfigDict(extra="forbid")

    approvals: Annotated[list[Id], Field(min_length=1, max_length=500)]
    granted: StrictBool
    remark: str = Field("", max_length=MAX_ANSWER_CHARS)


class DecisionIn(BaseModel):
    """A decision. `answer` is a remark for the log; of a question that is granted it is the answer."""

    model_config = ConfigDict(extra="forbid")

    granted: StrictBool
    answer: str = Field("", max_length=MAX_ANSWER_CHARS)


class AnswerIn(BaseModel):
    """The answer to a question."""

    model_config = ConfigDict(extra="forbid")

    answer: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_ANSWER_CHARS)]


def approval_row(approval: Approval, wait_s: float, mask: Mask = _by_shape) -> ApprovalRow:
    """The ask as the API shows it, printable.

    Args:
        approval: the ask.
        wait_s: how long a question waits before its default is assumed.
        mask: takes secrets out of what the task and its owner said.
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
