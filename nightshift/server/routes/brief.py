"""Serves the morning brief: reading it, marking it as read, and settling the causes of failures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal
from urllib.parse import urlencode

from pydantic import Field

from nightshift.core.clock import Moment, to_text
from nightshift.core.errors import InvalidTask
from nightshift.core.tasks.states import Ending
from nightshift.report import brief
from nightshift.report.brief import Brief, Span, Topic
from nightshift.report.causes import Cause
from nightshift.server.context import AppContext, wait_for
from nightshift.server.endpoint import Routes
from nightshift.server.formatting import Mask, short
from nightshift.server.query import Query, Time
from nightshift.server.schemas import Answer, Sent
from nightshift.server.settling import CauseSettled, CausesQuery, SettleIn, causes, settle

routes = Routes()

MOST_CAUSES, SHOWN = 20, 20
"""Maximum number of causes in an answer, and maximum number of tasks listed for each cause."""
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


class FailedRow(Answer):
    """A task that failed for a cause. `title` is the first line of its description."""

    task_id: int
    title: str
    repo: str
    reason: str
    ended_at: Moment


class CauseRow(Answer):
    """A cause for which tasks failed.

    `title` states the cause in one line. `module` is the missing module if a missing module is the cause, otherwise
    empty. `count` counts all tasks that failed for this cause, and `tasks` lists the first of them.
    """

    id: str
    title: str
    ending: Ending | None
    module: str
    count: int
    tasks: list[FailedRow]


class Causes(Answer):
    """The most frequent causes of failures. `more_causes` counts the causes that are not listed."""

    causes: list[CauseRow]
    more_causes: int


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
    return brief_answer(summary, context.reads.find_read_time(), context.mask)


@routes.endpoint("GET", "/api/causes")
def list_causes(context: AppContext, query: CausesQuery) -> Causes:
    """List the causes of failed tasks that were not retried, most frequent first."""
    common_causes = causes(context, query)
    return Causes(**_cause_fields(common_causes, context.mask))


@routes.endpoint("POST", "/api/causes/{cause_id}/retry")
def settle_cause(context: AppContext, cause_id: str, body: SettleIn | None) -> CauseSettled:
    """Settle a cause and retry all tasks that failed for it. The answer has the result for each task."""
    return settle(context, cause_id, body or SettleIn())


@routes.endpoint("POST", "/api/brief/read")
def read_brief(context: AppContext, body: ReadIn) -> ReadUpTo:
    """Mark the brief as read up to a time. The next brief begins at that time."""
    if body.until > context.clock():
        raise InvalidTask({"until": "is in the future; send the `until` of the brief that was read"})
    before = context.reads.find_read_time()
    wait_for(context.reads.mark_read(to_text(body.until)))
    return ReadUpTo(read_at=body.until, before=before)


def brief_answer(summary: Brief, read_at: Moment | None, mask: Mask) -> BriefAnswer:
    """Return the brief as the API shows it, with secrets masked and the parts of the summary line."""
    parts = [
        BriefPart(topic=part.topic, text=part.text, address=_address(part.topic, summary))
        for part in brief.parts_of(summary.figures)
    ]
    return BriefAnswer.from_values(
        summary,
        summary.figures,
        summary.figures.spent,
        read_at=read_at,
        parts=parts,
        **_cause_fields(summary.causes, mask),
    )


def _cause_fields(causes: Sequence[Cause], mask: Mask) -> dict[str, Any]:
    """Return the fields `causes` and `more_causes` of an answer."""
    return {
        "causes": [cause_row(cause, mask) for cause in causes[:MOST_CAUSES]],
        "more_causes": max(0, len(causes) - MOST_CAUSES),
    }


def cause_row(cause: Cause, mask: Mask) -> CauseRow:
    """Return a cause as the API shows it, with its texts shortened and secrets masked."""
    tasks = [
        FailedRow(
            task_id=task.id,
            title=short(task.title.partition("\n")[0], mask),
            repo=task.repo,
            reason=short(task.reason, mask),
            ended_at=task.ended_at,
        )
        for task in cause.tasks[:SHOWN]
    ]
    return CauseRow.from_values(cause, title=short(cause.title, mask), count=len(cause.tasks), tasks=tasks)


def _address(topic: Topic, summary: Brief) -> str:
    span = urlencode({"since": to_text(summary.since), "until": to_text(summary.until)})
    return f"{_WITHIN[topic]}&{span}" if topic in _WITHIN else _WHENEVER[topic]
