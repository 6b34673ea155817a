"""The morning brief: one line about the results since the owner last looked, in parts that can be linked.

`read` reads the figures and `parts_of` puts them into words. The page, the API, notices and the head of the weekly
report all use these two functions. The owner chooses the span: since the last brief that was marked as read, last night
(20:00 to 08:00 in the machine's time zone), or today. A brief is marked as read up to its end, never up to “now”, so
events that happen while the owner reads are in the next brief.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta, tzinfo
from enum import StrEnum

from nightshift.core.clock import Moment, from_text, midnight, on_the_wall
from nightshift.core.tasks.task import Spent
from nightshift.core.text.formats import money
from nightshift.queue import approvals, store
from nightshift.report.causes import Cause, cluster
from nightshift.report.wording import many, number
from nightshift.storage.db.brief_queries import BriefQueries
from nightshift.storage.db.database import Database
from nightshift.storage.db.state_store import StateStore

READ = "brief_read"
"""State key: the time up to which the owner has read the brief (`core.clock.to_text`)."""
EVENING, MORNING = time(20), time(8)
FIRST = timedelta(hours=24)
"""Length of the first brief's span, before any brief was marked as read."""


class Span(StrEnum):
    """The kinds of spans that a brief can cover: since the last read brief, last night, or today."""

    READ = "read"
    NIGHT = "night"
    TODAY = "today"


class Topic(StrEnum):
    """The subject of a part of the brief."""

    LANDED = "landed"
    ON_BRANCH = "on_branch"
    FAILED = "failed"
    DRAFTS = "drafts"
    COST = "cost"
    UNPUSHED = "unpushed"
    WAITING = "waiting"
    NEEDS = "needs"
    UNREAD = "unread"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """The figures of a brief.

    Attributes:
        landed: number of commits that were integrated.
        failed: number of tasks that failed.
        common: number of failed tasks with the most common cause.
        spent: cost of the model calls.
        on_branch: number of commits that were left on their tasks' branches.
        drafts: number of changes that did not pass and are on their tasks' branches.
        unpushed: number of tasks whose commits could not be pushed.
        waiting: number of tasks that wait now because of a problem outside them.
        trouble: the problem that makes these tasks wait; the first one if there are several.
        needs: number of decisions that wait for the owner now.
        unread: number of commits that the owner has not read yet.
    """

    landed: int
    failed: int
    common: int
    spent: Spent
    on_branch: int = 0
    drafts: int = 0
    unpushed: int = 0
    waiting: int = 0
    trouble: str = ""
    needs: int = 0
    unread: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One part of the brief's line, such as `9 failed (6 with the same cause)`."""

    topic: Topic
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Brief:
    """The brief of the span since ≤ t < until. `done` counts finished tasks, including those that needed no change."""

    since: Moment
    until: Moment
    figures: Figures
    done: int
    causes: Sequence[Cause]

    @property
    def line(self) -> str:
        """All parts in one line."""
        return line(self.figures)


def read(database: Database, since: datetime, until: datetime) -> Brief:
    """Read the brief of a span.

    Raises:
        StoreError: the database cannot be read.
    """
    queries, conn = BriefQueries(database), database.reader()
    counts, causes = queries.counts(since, until), cluster(queries.failed(since, until))
    troubles = store.troubles(conn)
    figures = Figures(
        waiting=sum(count for _, count in troubles),
        trouble=troubles[0][0] if troubles else "",
        landed=counts.landed,
        on_branch=counts.on_branch,
        drafts=counts.drafts,
        unpushed=counts.unpushed,
        failed=counts.failed,
        common=max((len(cause.tasks) for cause in causes), default=0),
        spent=queries.spent(since, until),
        needs=approvals.open_count(conn),
        unread=StateStore(database).unread_count(),
    )
    return Brief(since=since, until=until, figures=figures, done=counts.done, causes=causes)


def read_up_to(database: Database) -> datetime | None:
    """Return the end of the last brief that was marked as read; None if there is none."""
    stored_time = StateStore(database).get(READ)
    return from_text(stored_time) if isinstance(stored_time, str) else None


def bounds(database: Database, span: Span, now: datetime, zone: tzinfo | None = None) -> tuple[datetime, datetime]:
    """Return the beginning and end of a span.

    If no brief was ever marked as read, `READ` covers the last 24 hours.

    Args:
        database: stores the time up to which the owner has read.
        span: the kind of span.
        now: the current time.
        zone: the time zone of evening and morning; None means the machine's.
    """
    if span is Span.READ:
        since = read_up_to(database) or now - FIRST
        return min(since, now), now
    if span is Span.TODAY:
        return midnight(now, zone), now
    today = now.astimezone(zone).date()
    evening = on_the_wall(datetime.combine(today - timedelta(days=1), EVENING), zone)
    return evening, min(now, on_the_wall(datetime.combine(today, MORNING), zone))


def line(figures: Figures) -> str:
    """Format the figures as one line, with all parts separated by commas."""
    return ", ".join(part.text for part in parts_of(figures))


def parts_of(figures: Figures) -> list[Part]:
    """Return the parts of the brief's line. Parts with a count of zero are left out, except the landed tasks."""
    spent = figures.spent
    parts = [
        (Topic.LANDED, f"{number(figures.landed)} landed", True),
        (Topic.ON_BRANCH, f"{number(figures.on_branch)} left on a branch", figures.on_branch),
        (Topic.FAILED, f"{number(figures.failed)} failed{_together(figures)}", figures.failed),
        (Topic.DRAFTS, many(figures.drafts, "draft"), figures.drafts),
        (Topic.COST, money(spent.cost_usd, spent.unpriced), spent.model_calls or spent.cost_usd),
        (Topic.UNPUSHED, f"{number(figures.unpushed)} not pushed", figures.unpushed),
        (Topic.WAITING, f"{number(figures.waiting)} waiting for: {figures.trouble}", figures.waiting),
        (Topic.NEEDS, f"{number(figures.needs)} need{'' if figures.needs > 1 else 's'} you", figures.needs),
        (Topic.UNREAD, f"{number(figures.unread)} to read", figures.unread),
    ]
    return [Part(topic=topic, text=text) for topic, text, is_said in parts if is_said]


def _together(figures: Figures) -> str:
    if figures.common < 2:
        return ""
    return f" ({'all' if figures.common == figures.failed else number(figures.common)} with the same cause)"
