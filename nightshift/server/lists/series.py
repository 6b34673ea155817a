"""Work over a span of time, in buckets as a chart shows them: ends of tasks, and the use of models."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from pydantic import Field

from nightshift.core.clock import Moment
from nightshift.core.tasks.states import Status
from nightshift.server.query import Query
from nightshift.server.schemas import Answer
from nightshift.storage.db import series
from nightshift.storage.db.series import Ends, Use
from nightshift.storage.db.sqlite import Connection

HOUR_S, DAY_S = 3600, 86_400
MAX_BUCKETS = 100
MAX_MODELS = 12
WIDTHS_S = (HOUR_S, 6 * HOUR_S, DAY_S, 7 * DAY_S, 28 * DAY_S, 364 * DAY_S, 3640 * DAY_S)


class Range(StrEnum):
    """How far back to look; `FIT` is the shortest of the others that holds all that was done."""

    FIT = "fit"
    DAY = "24h"
    WEEK = "7d"
    MONTH = "30d"
    ALL = "all"


_SHAPES = {Range.DAY: (24, HOUR_S), Range.WEEK: (28, 6 * HOUR_S), Range.MONTH: (30, DAY_S)}


class StatsQuery(Query):
    """Span of time."""

    range: Range = Field(Range.WEEK, description="how far back to look")


class Sums(Answer):
    """Sums over a time. Each end of a task counts where it came; `iterations` is the mean of done and failed.

    `success_rate` is done / (done + failed), null where nothing was. `cost_usd` leaves out the `unpriced` calls.
    """

    done: int
    failed: int
    cancelled: int
    success_rate: float | None
    iterations: float | None
    calls: int
    tokens_in: int
    tokens_out: int
    cost_usd: float
    unpriced: int


class Bucket(Sums):
    """The same for the time that began at `start`."""

    start: Moment


class ModelSeries(Answer):
    """Use of one model; `tokens` (in and out) and `costs_usd` have a value for each bucket.

    `latency_s` is the mean of its calls, `lost` counts replies that broke off. Beyond the dozen most used, models are
    summed up under the name `others`, without a backend.
    """

    backend: str
    model: str
    calls: int
    tokens_in: int
    tokens_out: int
    cost_usd: float
    unpriced: int
    latency_s: float | None
    lost: int
    tokens: list[int]
    costs_usd: list[float]


class Stats(Answer):
    """The span from `since` to `until` (now) in buckets of `bucket_s` seconds, cut in UTC; the last one goes on.

    `range` is never `fit`, but what was found to fit.
    """

    range: Range
    since: Moment
    until: Moment
    bucket_s: int
    total: Sums
    buckets: list[Bucket]
    models: list[ModelSeries]


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Buckets of one width from `since` on."""

    since: datetime
    width_s: int
    count: int

    def place(self, at: datetime) -> int:
        """The number of the bucket that holds a time."""
        return min(self.count - 1, int((at - self.since).total_seconds()) // self.width_s)

    def start(self, number: int) -> datetime:
        """Return the beginning of a bucket."""
        return self.since + timedelta(seconds=number * self.width_s)


@dataclass(slots=True)
class _Cell:
    ends: list[Ends] = field(default_factory=list)
    uses: list[Use] = field(default_factory=list)


def stats(conn: Connection, wanted: Range, now: datetime) -> Stats:
    """Sum up a span that ends now."""
    begun = series.begun_at(conn) if wanted in {Range.ALL, Range.FIT} else None
    wanted = _fitting(begun, now) if wanted is Range.FIT else wanted
    span = _span(wanted, now, begun)
    by_day = span.width_s % DAY_S == 0
    ends, uses = series.ends(conn, span.since, by_day=by_day), series.uses(conn, span.since, by_day=by_day)
    cells = [_Cell() for _ in range(span.count)]
    for end in ends:
        cells[span.place(end.start)].ends.append(end)
    for use in uses:
        cells[span.place(use.start)].uses.append(use)
    return Stats(
        range=wanted,
        since=span.since,
        until=now,
        bucket_s=span.width_s,
        total=Sums.model_validate(_sums(ends, uses)),
        buckets=[
            Bucket.model_validate({"start": span.start(number), **_sums(cell.ends, cell.uses)})
            for number, cell in enumerate(cells)
        ],
        models=_models(uses, span),
    )


def _fitting(begun: datetime | None, now: datetime) -> Range:
    """The shortest range that holds all since then."""
    return next((each for each in _SHAPES if begun is None or _span(each, now, None).since <= begun), Range.ALL)


def _span(wanted: Range, now: datetime, begun: datetime | None) -> Span:
    """The buckets: so many as a chart can show, cut where the clock of UTC is round, the last one holds now."""
    if wanted is not Range.ALL:
        count, width_s = _SHAPES[wanted]
        return Span(since=_floor(now, width_s) - timedelta(seconds=(count - 1) * width_s), width_s=width_s, count=count)
    begun = min(begun or now, now)
    width_s = next(w for w in WIDTHS_S if _count(begun, now, w) <= MAX_BUCKETS or w == WIDTHS_S[-1])
    return Span(since=_floor(begun, width_s), width_s=width_s, count=_count(begun, now, width_s))


def _count(begun: datetime, now: datetime, width_s: int) -> int:
    return int((_floor(now, width_s) - _floor(begun, width_s)).total_seconds()) // width_s + 1


def _floor(at: datetime, width_s: int) -> datetime:
    return datetime.fromtimestamp(int(at.timestamp()) // width_s * width_s, UTC)


def _sums(ends: Sequence[Ends], uses: Sequence[Use]) -> dict[str, float | None]:
    of = defaultdict[Status, int](int)
    for end in ends:
        of[end.status] += end.tasks
    judged = of[Status.DONE] + of[Status.FAILED]
    tries = sum(end.iterations for end in ends if end.status is not Status.CANCELLED)
    return {
        "done": of[Status.DONE],
        "failed": of[Status.FAILED],
        "cancelled": of[Status.CANCELLED],
        "success_rate": of[Status.DONE] / judged if judged else None,
        "iterations": tries / judged if judged else None,
        **_used(uses),
    }


def _used(uses: Iterable[Use]) -> dict[str, float]:
    names = ("calls", "tokens_in", "tokens_out", "cost_usd", "unpriced")
    uses = tuple(uses)
    return {name: sum(getattr(use, name) for use in uses) for name in names}


def _models(uses: Sequence[Use], span: Span) -> list[ModelSeries]:
    """Return a row for each model, the most used first."""
    by_model = defaultdict[tuple[str, str], list[Use]](list)
    for use in uses:
        by_model[use.backend, use.model].append(use)
    ranked = sorted(by_model.items(), key=lambda pair: -sum(use.tokens_in + use.tokens_out for use in pair[1]))
    shown = ranked if len(ranked) <= MAX_MODELS else ranked[: MAX_MODELS - 1]
    if rest := [use for _, found in ranked[len(shown) :] for use in found]:
        shown = [*shown, (("", "others"), rest)]
    return [_model(*name, found, span) for name, found in shown]


def _model(backend: str, model: str, uses: Sequence[Use], span: Span) -> ModelSeries:
    tokens, costs_usd = [0] * span.count, [0.0] * span.count
    for use in uses:
        tokens[span.place(use.start)] += use.tokens_in + use.tokens_out
        costs_usd[span.place(use.start)] += use.cost_usd
    sums = _used(uses)
    mean_s = sum(use.latency_s for use in uses) / sums["calls"] if sums["calls"] else None
    more = {"latency_s": mean_s, "lost": sum(use.lost for use in uses), "tokens": tokens, "costs_usd": costs_usd}
    return ModelSeries.model_validate({"backend": backend, "model": model, **sums, **more})
