"""The figures of one span of time, as a fold over what was stored."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from core.dialogue import BUILT_IN
from core.events import Kind
from core.states import Ending, Status
from db.report_queries import EndedTask, FailureCount, ModelCall, ReportQueries

COMMONEST = 5
SLOWEST = 5
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """A distribution in three figures; zeros where there was nothing."""

    median: float = 0.0
    p95: float = 0.0
    most: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFigures:
    """The tasks that ended in the span. `first_try` are done tasks that needed one attempt and one iteration."""

    submitted: int
    open_at_end: int
    by_status: Mapping[Status, int]
    by_ending: Mapping[Ending, int]
    by_kind: Mapping[str, tuple[int, int]]
    """Kind → done, ended."""
    first_try: int
    iterations: Spread
    duration_s: Spread
    queue_wait_s: Spread
    slowest: Sequence[EndedTask]

    @property
    def ended(self) -> int:
        """All that ended, however."""
        return sum(self.by_status.values())

    def count(self, status: Status) -> int:
        """How many ended so."""
        return self.by_status.get(status, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFigures:
    """One model of one backend. `unpriced_tokens` belong to calls whose price is not known."""

    backend: str
    model: str
    calls: int
    tokens_in: int
    tokens_out: int
    cost_usd: float
    unpriced_tokens: int
    latency_s: Spread


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineFigures:
    """The built-in engine: it `saved` so many of all `replies`, and `solved` so many tasks without any model.

    `declined` counts the searches without an answer, which took `declined_s` seconds together.
    """

    replies: int
    saved: int
    solved: int
    declined: int
    declined_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """All figures of one span, since ≤ t < until."""

    since: datetime
    until: datetime
    tasks: TaskFigures
    models: Sequence[ModelFigures]
    engine: EngineFigures
    backend_failures: Mapping[str, int]
    commits: Mapping[str, int]
    """Label → commits."""
    integrated: int
    failures: Sequence[FailureCount]
    events: Mapping[str, int]

    def happened(self, kind: Kind) -> int:
        """How often an event was logged."""
        return self.events.get(kind, 0)


def fold(queries: ReportQueries, since: datetime, until: datetime) -> Summary:
    """All figures of one span."""
    commits, calls = queries.commits(since, until), queries.calls(since, until)
    declined, declined_s = queries.declined(since, until)
    return Summary(
        since=since,
        until=until,
        tasks=_fold_tasks(queries, since, until),
        models=_fold_calls(calls),
        engine=EngineFigures(
            replies=len(calls),
            saved=sum(bool(call.saved) for call in calls),
            solved=len({commit.task_id for commit in commits if commit.model == BUILT_IN}),
            declined=declined,
            declined_s=declined_s,
        ),
        backend_failures=queries.backend_failures(since, until),
        commits=_counted(commit.label for commit in commits),
        integrated=sum(commit.integrated for commit in commits),
        failures=queries.failures(since, until, COMMONEST),
        events=queries.event_counts(since, until),
    )


def _fold_tasks(queries: ReportQueries, since: datetime, until: datetime) -> TaskFigures:
    ended = queries.ended(since, until)
    worked = [task for task in ended if task.started_at]
    kinds = _counted(task.kind for task in ended)
    done = [task for task in ended if task.status is Status.DONE]
    done_kinds = Counter(task.kind for task in done)
    return TaskFigures(
        submitted=queries.created_count(since, until),
        open_at_end=queries.open_count(until),
        by_status=_counted(task.status for task in ended),
        by_ending=_counted(task.ending for task in ended if task.ending),
        by_kind={kind: (done_kinds[kind], count) for kind, count in kinds.items()},
        first_try=sum(task.attempt <= 1 and task.iterations <= 1 for task in done),
        iterations=_spread([float(task.iterations) for task in worked]),
        duration_s=_spread([duration_s(task) for task in worked]),
        queue_wait_s=_spread([_wait_s(task) for task in worked]),
        slowest=sorted(worked, key=lambda task: (-duration_s(task), task.id))[:SLOWEST],
    )


def _fold_calls(calls: Iterable[ModelCall]) -> list[ModelFigures]:
    groups: dict[tuple[str, str], list[ModelCall]] = {}
    for call in calls:
        groups.setdefault((call.backend, call.model), []).append(call)
    return [_model_figures(*name, groups[name]) for name in sorted(groups)]


def _model_figures(backend: str, model: str, calls: Sequence[ModelCall]) -> ModelFigures:
    return ModelFigures(
        backend=backend,
        model=model,
        calls=len(calls),
        tokens_in=sum(call.tokens_in for call in calls),
        tokens_out=sum(call.tokens_out for call in calls),
        cost_usd=sum(call.cost_usd or 0.0 for call in calls),
        unpriced_tokens=sum(call.tokens_in + call.tokens_out for call in calls if call.cost_usd is None),
        latency_s=_spread([call.latency_s for call in calls]),
    )


def duration_s(task: EndedTask) -> float:
    """Seconds from a started task's first start to its end."""
    assert task.started_at is not None
    return (task.ended_at - task.started_at).total_seconds()


def _wait_s(task: EndedTask) -> float:
    """Seconds from when it might have begun to when it did."""
    assert task.started_at is not None
    ready = max(task.created_at, task.not_before) if task.not_before else task.created_at
    return max(0.0, (task.started_at - ready).total_seconds())


def _spread(values: Sequence[float]) -> Spread:
    if not values:
        return Spread()
    ordered = sorted(values)
    p95 = ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]
    return Spread(median=statistics.median(ordered), p95=p95, most=ordered[-1])


def _counted(items: Iterable[T]) -> dict[T, int]:
    """How often each came, the most frequent first; ties in the order of their names."""
    return dict(sorted(Counter(items).items(), key=lambda pair: (-pair[1], str(pair[0]))))
