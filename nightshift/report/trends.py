"""The span beside the eight of its length before it, each figure as a series; from rows that are never pruned."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from nightshift.core.shares import Share
from nightshift.core.tasks.states import Status
from nightshift.core.text.formats import duration, money, percent, tokens
from nightshift.report.model_figures import Cost, cost_of
from nightshift.report.plots import Series
from nightshift.report.stats import Spread, spread
from nightshift.report.task_figures import at_first_try, last_ends, wait_s
from nightshift.report.wording import day, minute, number, signed
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


def series(points: Sequence[Point]) -> list[Series]:
    """Each figure over the spans; none where nothing came before the last of them."""
    if not any(point.began for point in points[:-1]):
        return []
    return [_series(points, *figure) for figure in _FIGURES]


Value = Callable[[Point], float | None]
_FIGURES: Sequence[tuple[str, Value, Callable[[float], str], bool, float | None]] = (
    ("tasks done", lambda p: float(p.done), number, True, None),
    ("succeeded", lambda p: p.success.value, percent, False, 1.0),
    ("at the first try", lambda p: p.first_try.value, percent, False, 1.0),
    ("median iterations", lambda p: p.iterations.median if p.iterations.count else None, number, False, None),
    ("median wait", lambda p: p.queue_wait_s.median if p.queue_wait_s.count else None, duration, False, None),
    ("tokens", lambda p: float(p.cost.tokens), tokens, True, None),
    ("cost", lambda p: p.cost.usd if p.cost.known else None, money, True, None),
)


def _series(
    points: Sequence[Point], name: str, value: Value, words: Callable[[float], str], bars: bool, top: float | None
) -> Series:
    values = [value(point) if point.began else None for point in points]
    known = [v for v in values[:-1] if v is not None]
    usual, now = (statistics.median(known) if known else None), values[-1]
    return Series(
        name=name,
        values=values,
        shown=["not known" if v is None else words(v) for v in values],
        labels=[point.label for point in points],
        bars=bars,
        top=top,
        usual="" if usual is None else words(usual),
        change=_change(usual, now, points=top == 1.0),
    )


def _change(usual: float | None, now: float | None, *, points: bool) -> str:
    """The last value against the usual one: in points for rates, else in per cent."""
    if usual is None or now is None:
        return ""
    if points:
        gap = round(100 * (now - usual))
        return signed(gap, " points") if gap else "as usual"
    if not usual:
        return "" if not now else "was none"
    change = round(100 * (now / usual - 1))
    return signed(change, " %") if change else "as usual"
