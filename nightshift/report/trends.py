"""The span beside the eight of its length before it; from rows that are never pruned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from nightshift.core.shares import Share
from nightshift.core.tasks.states import Status
from nightshift.report.model_figures import Cost, cost_of
from nightshift.report.stats import Spread, spread
from nightshift.report.task_figures import at_first_try, last_ends, wait_s
from nightshift.report.wording import day, minute
from nightshift.storage.db.report_queries import EndedTask, ModelCall

SPANS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One span; `began` tells whether there was anything in it or before it."""

    since: datetime
    until: datetime
    began: bool
    done: int
    success: Share
    first_try: Share
    iterations: Spread
    queue_wait_s: Spread
    cost: Cost

    @property
    def label(self) -> str:
        """The span in words."""
        last = self.until - timedelta(seconds=1)
        return f"to {day(last) if self.until - self.since >= timedelta(days=1) else minute(last)}"


def windows(since: datetime, until: datetime) -> list[tuple[datetime, datetime]]:
    """The spans, oldest first, the one that is reported on last."""
    length = max(until - since, timedelta(seconds=1))
    starts = [since - number * length for number in range(SPANS, 0, -1)]
    return [*((start, start + length) for start in starts), (since, until)]


def fold(spans: Sequence[tuple[datetime, datetime]], ended: Sequence[EndedTask], calls: Sequence[ModelCall]) -> list[
    Point
]:  # fmt: skip
    """A point for each span; those before anything had happened are marked, not counted as zero."""
    first = min([task.created_at for task in ended] + [call.at for call in calls], default=None)
    return [
        _point(since, until, ended, calls, began=first is not None and first < until) for since, until in spans
    ]  # fmt: skip


def _point(
    since: datetime, until: datetime, ended: Sequence[EndedTask], calls: Sequence[ModelCall], *, began: bool
) -> Point:
    tasks = last_ends(task for task in ended if since <= task.ended_at < until)
    done = [task for task in tasks if task.status is Status.DONE]
    judged = sum(task.status in {Status.DONE, Status.FAILED} for task in tasks)
    worked = [task for task in tasks if task.started_at]
    return Point(
        since=since,
        until=until,
        began=began,
        done=len(done),
        success=Share(part=len(done), whole=judged),
        first_try=Share(part=sum(map(at_first_try, done)), whole=len(done)),
        iterations=spread(float(task.iterations) for task in worked),
        queue_wait_s=spread(map(wait_s, worked)),
        cost=cost_of(call for call in calls if since <= call.at < until),
    )
