"""When the queue will be empty and what that will cost, from what earlier tasks took.

Each of a few hundred draws gives every open task the time and the cost of an ended one, picked by chance, and lets the
workers take them in the order of the queue. The 10th, 50th and 90th percentile of the draws are told: the bootstrap (B.
Efron, Annals of Statistics 7, 1979) needs no guess about how such times are distributed, and they are skewed. Beyond
`SUMMED_FROM` open tasks their sum is normal enough to be computed from mean and variance.
"""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from core.clock import Moment
from core.quiet_hours import after_work

LEAST_MEASURED = 3
"""With fewer ended tasks nothing is forecast."""
DRAWS = 400
SUMMED_FROM = 200
_PERCENTILES = (0.1, 0.5, 0.9)
_Z90 = 1.2816


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredTask:
    """What an ended task took: seconds of work on it, and its cost, None where a price was not known."""

    work_s: float
    cost_usd: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenTask:
    """A task that will run without its owner: what it took so far, and in how many seconds it may begin."""

    work_s: float = 0.0
    cost_usd: float = 0.0
    due_in_s: float = 0.0
    is_running: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkSettings:
    """What the settings say of how much is done at once, when not, and for how much money a day."""

    workers: int = 1
    quiet_hours: tuple[str, ...] = ()
    day_cost_usd: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """What the work goes on under. `left_today_usd` is what today's budget has left, None where there is none.

    `quiet_hours` are spans of local time as in the settings.
    """

    now: datetime
    workers: int
    quiet_hours: tuple[str, ...] = ()
    left_today_usd: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Eight draws of ten lie between `low` and `high`."""

    low: float
    middle: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeEstimate:
    """The same for a time; None is more than two weeks away."""

    low: Moment | None
    middle: Moment | None
    high: Moment | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """What is to be expected of the open tasks.

    Attributes:
        tasks: how many run without their owner.
        for_owner: how many wait for him, or for one that does; they are in none of the figures.
        for_model: how many wait until a model answers; they count as if one did now.
        measured: on how many ended tasks it rests.
        takes_s: seconds from now until the last one has ended, quiet hours not counted; None where too few were
            measured, and zero where no task is open.
        done_at: the same as a time, quiet hours counted.
        cost_usd: of these tasks from now on; None where a price is not known.
        over_budget: the chance that they cost more than today's budget has left; None without such a budget.
        fit_budget: how many of them today's budget is likely to be enough for; None without such a budget.
    """

    tasks: int
    for_owner: int = 0
    for_model: int = 0
    measured: int = 0
    takes_s: Estimate | None = None
    done_at: TimeEstimate | None = None
    cost_usd: Estimate | None = None
    over_budget: float | None = None
    fit_budget: int | None = None


@dataclass(frozen=True, slots=True)
class _Draw:
    takes_s: float
    costs_usd: tuple[float, ...]

    @property
    def cost_usd(self) -> float:
        return sum(self.costs_usd)

    def within(self, left_usd: float) -> int:
        """How many tasks it pays for, in their order."""
        spent = 0.0
        for count, cost in enumerate(self.costs_usd):
            spent += cost
            if spent > left_usd:
                return count
        return len(self.costs_usd)


def forecast(
    tasks: Sequence[OpenTask],
    measured: Sequence[MeasuredTask],
    conditions: Conditions,
    *,
    for_owner: int = 0,
    for_model: int = 0,
) -> Forecast:
    """Say what is to be expected; the same arguments give the same answer.

    Args:
        tasks: those that run without their owner, in the order in which they will be claimed.
        measured: ended tasks.
        conditions: under which the work goes on.
        for_owner: told on.
        for_model: told on.
    """
    known = Forecast(tasks=len(tasks), for_owner=for_owner, for_model=for_model, measured=len(measured))
    if len(measured) < LEAST_MEASURED:
        return known
    dice = random.Random(len(tasks))  # noqa: S311  # no secret hangs on it
    priced = all(each.cost_usd is not None for each in measured)
    if len(tasks) > SUMMED_FROM:
        takes_s, cost_usd, over, fit = _summed(tasks, measured, conditions)
    else:
        draws = [_draw(tasks, measured, conditions.workers, dice) for _ in range(DRAWS)]
        takes_s = _percentiles([each.takes_s for each in draws])
        cost_usd = _percentiles([each.cost_usd for each in draws])
        over = fit = None
        if (left := conditions.left_today_usd) is not None:
            over = sum(each.cost_usd > left for each in draws) / DRAWS
            fit = round(_percentiles([float(each.within(left)) for each in draws]).middle)
    return Forecast(
        tasks=known.tasks,
        for_owner=for_owner,
        for_model=for_model,
        measured=known.measured,
        takes_s=takes_s,
        done_at=_times(takes_s, conditions),
        cost_usd=cost_usd if priced else None,
        over_budget=over if priced else None,
        fit_budget=fit if priced else None,
    )


def _draw(tasks: Sequence[OpenTask], measured: Sequence[MeasuredTask], workers: int, dice: random.Random) -> _Draw:
    """One course that the work may take: each worker takes the next task when it has none."""
    drawn = [_rest(task, measured, dice) for task in tasks]
    free = [work_s for task, (work_s, _) in zip(tasks, drawn, strict=True) if task.is_running]
    free += [0.0] * (workers - len(free))
    last_s = max(free, default=0.0)
    heapq.heapify(free)
    for task, (work_s, _) in zip(tasks, drawn, strict=True):
        if not task.is_running:
            ends_s = max(heapq.heappop(free), task.due_in_s) + work_s
            last_s = max(last_s, ends_s)
            heapq.heappush(free, ends_s)
    return _Draw(takes_s=last_s, costs_usd=tuple(cost for _, cost in drawn))


def _rest(task: OpenTask, measured: Sequence[MeasuredTask], dice: random.Random) -> tuple[float, float]:
    """What is left of a task, in seconds and USD, if it is like one that took at least as long as it has already."""
    alike = [each for each in measured if each.work_s > task.work_s] if task.work_s else measured
    if not alike:
        return task.work_s, task.cost_usd  # longer than any before: as much again is as good a guess as any
    drawn = dice.choice(alike)
    return drawn.work_s - task.work_s, max(0.0, (drawn.cost_usd or 0.0) - task.cost_usd)


def _summed(
    tasks: Sequence[OpenTask], measured: Sequence[MeasuredTask], conditions: Conditions
) -> tuple[Estimate, Estimate, float | None, int | None]:
    work, costs = [each.work_s for each in measured], [each.cost_usd or 0.0 for each in measured]
    takes_s = _normal(work, len(tasks), conditions.workers)
    cost_usd = _normal(costs, len(tasks), 1)
    if (left := conditions.left_today_usd) is None:
        return takes_s, cost_usd, None, None
    mean_usd = sum(costs) / len(costs)
    deviation = (cost_usd.high - cost_usd.middle) / _Z90
    over = (
        0.5 * math.erfc((left - cost_usd.middle) / (deviation * math.sqrt(2)))
        if deviation
        else float(cost_usd.middle > left)
    )
    return takes_s, cost_usd, over, min(len(tasks), int(left / mean_usd)) if mean_usd else len(tasks)


def _normal(values: Sequence[float], count: int, shared_by: int) -> Estimate:
    mean = sum(values) / len(values)
    variance = sum((value - mean) ** 2 for value in values) / len(values)
    middle, spread = count * mean / shared_by, _Z90 * math.sqrt(count * variance) / shared_by
    return Estimate(low=max(0.0, middle - spread), middle=middle, high=middle + spread)


def _percentiles(values: Sequence[float]) -> Estimate:
    ordered = sorted(values)
    low, middle, high = (ordered[math.ceil(share * len(ordered)) - 1] for share in _PERCENTILES)
    return Estimate(low=low, middle=middle, high=high)


def _times(takes_s: Estimate, conditions: Conditions) -> TimeEstimate:
    def at(seconds: float) -> datetime | None:
        return after_work(conditions.quiet_hours, conditions.now, timedelta(seconds=seconds))

    return TimeEstimate(low=at(takes_s.low), middle=at(takes_s.middle), high=at(takes_s.high))
