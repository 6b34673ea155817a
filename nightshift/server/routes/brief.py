"""Serves the morning brief: reading it, and marking it as read."""

from __future__ import annotations

from typing import Literal
from urllib.parse import urlencode

from pydantic import Field

from nightshift.core.clock import Moment, to_text
from nightshift.core.errors import InvalidTask
from nightshift.report import brief
from nightshift.report.brief import Brief, Span, Topic
from nightshift.server.context import AppContext, wait_for
from nightshift.server.endpoint import Routes
from nightshift.server.query import Query, Time
from nightshift.server.routes.causes import CauseRow, cause_fields
from nightshift.server.schemas import Answer, Sent

routes = Routes()

_WITHIN = {
    Topic.LANDED: "/review?integrated=1", Topic.ON_BRANCH: "/review?integrated=0", Topic.DRAFTS: "/review?drafts=1",
    Topic.FAILED: "/tasks?status=failed", Topic.COST: "/tasks?sort=cost", Topic.UNPUSHED: "/tasks?status=done",
}  # fmt: skip
"""Pages that list what a part of the brief counts within the time that the brief covers."""
_WHENEVER = {Topic.WAITING: "/tasks?status=scheduled", Topic.NEEDS: "/inbox", Topic.UNREAD: "/review"}
"""Pages that list what a part counts at any time."""


class BriefQuery(Query):
    """Beginning of the time that the brief covers."""

    since: Literal[Span.READ, Span.NIGHT, Span.TODAY] | Time = Field(
        Span.READ,
        description="`read` (since it was marked as read), `night` (20:00 to 08:00), `today`, or a time with its zone",
    )


class BriefPart(Answer):
    """One part of the brief's summary line. `address` is the page that lists exactly the items that the part counts."""

    topic: Topic
    text: str
    address: str


class BriefAnswer(Answer):
    """Results of the work from `since` (inclusive) to `until` (exclusive).

    `line` is the summary, which joins all `parts`. `read_at` is the time up to which the owner has read the brief.
    `done` counts finished tasks, including those that needed no change. The other figures are the same as in the parts.
    """

    since: Moment
    until: Moment
    read_at: Moment | None
    line: str
    parts: list[BriefPart]
    done: int
    landed: int
    on_branch: int
    drafts: int
    failed: int
    cost_usd: float
    unpriced: int
    needs: int
    unread: int
    causes: list[CauseRow]
    more_causes: int


class ReadIn(Sent):
    """Time up to which the brief was read.

    This is normally the `until` of the brief that was shown. An earlier time undoes marking the brief as read.
    """

    until: Time


class ReadUpTo(Answer):
    """The time up to which the brief is now marked as read, and the previous time."""

    read_at: Moment
    before: Moment | None


@routes.endpoint("GET", "/api/brief")
def show_brief(context: AppContext, query: BriefQuery) -> BriefAnswer:
    """Show the results of the work since the owner last read the brief, or of another span."""
    now = context.clock()
    if isinstance(query.since, str):
        since, until = context.reads.find_span(Span(query.since), now)
    else:
        since, until = min(query.since, now), now
    summary = context.reads.read_brief(since, until)
    parts = [
        BriefPart(topic=part.topic, text=part.text, address=_address(part.topic, summary))
        for part in brief.parts_of(summary.figures)
    ]
    return BriefAnswer.from_values(
        summary,
        summary.figures,
        summary.figures.spent,
        read_at=context.reads.find_read_time(),
        parts=parts,
        **cause_fields(summary.causes, context.mask),
    )


@routes.endpoint("POST", "/api/brief/read")
def read_brief(context: AppContext, body: ReadIn) -> ReadUpTo:
    """Mark the brief as read up to a time. The next brief begins at that time."""
    if body.until > context.clock():
        raise InvalidTask({"until": "is in the future; send the `until` of the brief that was read"})
    before = context.reads.find_read_time()
    wait_for(context.reads.mark_read(to_text(body.until)))
    return ReadUpTo(read_at=body.until, before=before)


def _address(topic: Topic, summary: Brief) -> str:
    span = urlencode({"since": to_text(summary.since), "until": to_text(summary.until)})
    return f"{_WITHIN[topic]}&{span}" if topic in _WITHIN else _WHENEVER[topic]
