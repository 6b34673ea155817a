"""A span of time as a replay shows it: the steps of each worker, and what models had cost by then."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from pydantic import Field

from nightshift.core.clock import Moment
from nightshift.core.tasks.states import Outcome, Phase, Status
from nightshift.report.brief import Span, bounds
from nightshift.server.context import AppContext
from nightshift.server.formatting import short
from nightshift.server.query import BadQuery, Query, Time
from nightshift.server.schemas import Answer
from nightshift.storage.db import replay_queries
from nightshift.storage.db.replay_queries import Claim, TimedStep

MOST_STEPS = 3000
MOST_DAYS = 31
MOST_COSTS = 2000
"""Of more calls only so many, evenly chosen, tell the sum up to them."""
NOBODY = "worker not known"
"""The lane of steps whose claim is no longer in the log."""


class ReplayQuery(Query):
    """Span to replay."""

    since: Span | Time = Field(
        Span.READ, description="`read` (where its owner has read to), `night` (20:00 to 08:00), `today`, or a time"
    )
    until: Time | None = Field(None, description="its end; the end of the named span, or now, where it is left out")


class ReplayTask(Answer):
    """A task that was worked on. `ended_s` is when it ended, null where that was not in the span."""

    task_id: int
    title: str
    status: Status
    ended_s: float | None


class ReplayStep(Answer):
    """A step: `worker` is its place among the workers; tests are null where none were run."""

    worker: int
    task_id: int
    attempt: int
    iteration: int
    step_no: int
    phase: Phase
    outcome: Outcome
    start_s: float
    end_s: float
    passed: int | None
    failed: int | None


class CostAt(Answer):
    """Cost of models from the beginning of the span up to the end of a call; `unpriced` calls are not in it."""

    at_s: float
    cost_usd: float
    unpriced: int


class Replay(Answer):
    """Work of since ≤ t < until; all times are seconds after `since`, steps stand by when they ended.

    Of a span with too many steps the newest are told, `since` is then where they begin, and `cut` is true. A step that
    has not ended is not among them.
    """

    since: Moment
    until: Moment
    cut: bool
    workers: list[str]
    tasks: list[ReplayTask]
    steps: list[ReplayStep]
    costs: list[CostAt]


def replay(context: AppContext, query: ReplayQuery) -> Replay:
    """Read the span.

    Raises:
        BadQuery: it ends before it begins, or is too long.
    """
    since, until = _bounds(context, query)
    conn = context.database.reader()
    found = replay_queries.steps(conn, since, until, MOST_STEPS + 1)
    if cut := len(found) > MOST_STEPS:
        found = found[1:]
        since = max(since, found[0].ended_at - timedelta(microseconds=1))
    ids = {step.task_id for step in found}
    who = _workers(found, replay_queries.claims(conn, ids))
    workers = sorted(set(who), key=lambda name: (name == NOBODY, len(name), name))
    place = {name: number for number, name in enumerate(workers)}
    tasks = replay_queries.tasks(conn, ids)
    return Replay(
        since=since,
        until=until,
        cut=cut,
        workers=[short(name, context.mask) for name in workers],
        tasks=[
            ReplayTask(
                task_id=task.id,
                title=short(task.description.strip().partition("\n")[0], context.mask, 120),
                status=task.status,
                ended_s=_after(since, task.ended_at) if task.ended_at and since <= task.ended_at < until else None,
            )
            for task in tasks
        ],
        steps=[
            ReplayStep.from_values(
                step,
                worker=place[name],
                start_s=max(0.0, _after(since, step.started_at)),
                end_s=_after(since, step.ended_at),
            )
            for step, name in zip(found, who, strict=True)
        ],
        costs=_costs(context, since, until),
    )


def _bounds(context: AppContext, query: ReplayQuery) -> tuple[datetime, datetime]:
    now = context.clock()
    if isinstance(query.since, Span):
        since, end = bounds(context.database, query.since, now)
        until = query.until or end
    else:
        since, until = query.since, query.until or now
    if until <= since:
        raise BadQuery({"until": "is not after `since`"})
    if until - since > timedelta(days=MOST_DAYS):
        raise BadQuery({"since": f"is more than {MOST_DAYS} days before `until`; choose a shorter span"})
    return since, until


def _workers(steps: Sequence[TimedStep], claims: Mapping[int, Sequence[Claim]]) -> list[str]:
    """Name the worker of each step: the one that had claimed its task last when the step began."""
    times = {task: [claim.at for claim in found] for task, found in claims.items()}

    def who(step: TimedStep) -> str:
        place = bisect_right(times.get(step.task_id, []), step.started_at)
        return (claims[step.task_id][place - 1].worker or NOBODY) if place else NOBODY

    return [who(step) for step in steps]


def _costs(context: AppContext, since: datetime, until: datetime) -> list[CostAt]:
    """The sums up to the end of each call."""
    cost, unpriced, told = 0.0, 0, list[CostAt]()
    for call in replay_queries.costs(context.database.reader(), since, until):
        cost, unpriced = cost + (call.cost_usd or 0.0), unpriced + (call.cost_usd is None)
        told.append(CostAt(at_s=_after(since, call.at), cost_usd=cost, unpriced=unpriced))
    every = -(-len(told) // MOST_COSTS) or 1
    return told[::-1][::every][::-1]  # the last always: it has the sum of all


def _after(since: datetime, at: datetime) -> float:
    return round((at - since).total_seconds(), 3)
