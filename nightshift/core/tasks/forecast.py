"""Forecasts when the queue will be empty and what that will cost, from the measured data of earlier tasks.

The forecast is made by simulation, up to a few hundred times. Each simulation gives every open task the time and the
cost of a randomly drawn ended task, and lets the workers process the tasks in the order of the queue. The result is the
10th, 50th and 90th percentile of these simulations. This bootstrap (B. Efron, Annals of Statistics 7, 1979) needs no
assumption about the distribution of the times, which is skewed.
"""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from nightshift.core.clock import Moment
from nightshift.core.quiet_hours import after_work

LEAST_MEASURED = 3
"""Minimum number of ended tasks that a forecast needs."""
DRAWS, LEAST_DRAWS = 400, 10
DRAWN_TASKS = 20_000
"""Total number of tasks to draw, in all simulations together. It determines the number of simulations, between
`LEAST_DRAWS` and `DRAWS`. The more tasks are open, the less their sum varies, so fewer simulations are enough.
"""
_PERCENTILES = (0.1, 0.5, 0.9)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredTask:
    """Cost of an ended task: seconds of work, and USD (None if a price was unknown)."""

    work_s: float
    cost_usd: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenTask:
    """A task that will run without the owner, with its use so far and the seconds until it may begin."""

    work_s: float = 0.0
    cost_usd: float = 0.0
    due_in_s: float = 0.0
    is_running: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkSettings:
    """Settings that limit the work: the number of workers, quiet hours, and the daily budget."""

    workers: int = 1
    quiet_hours: tuple[str, ...] = ()
    day_cost_usd: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """Conditions of the work. `left_today_usd` is what remains of today's budget; None if there is no budget.

    `quiet_hours` are spans of local time, as in the settings.
    """

    now: datetime
    workers: int
    quiet_hours: tuple[str, ...] = ()
    left_today_usd: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Range of an estimate: eight of ten simulated values are between `low` and `high`."""

    low: float
    middle: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeEstimate:
    """Range of an estimated time; None stands for a time more than two weeks away."""

    low: Moment | None
    middle: Moment | None
    high: Moment | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """Forecast for the open tasks.

    Attributes:
        tasks: Number of tasks that run without the owner.
        for_owner: Number of tasks that wait for the owner, or for a task that does. The figures below exclude these
            tasks.
        for_later: Number of tasks that are scheduled for another day, or wait for such a task. The figures below
            exclude these tasks.
        for_model: Number of tasks that wait until a model answers; they count as if a model answered now.
        measured: Number of ended tasks that the forecast is based on.
        model: The model of these ended tasks (`backend=model`), including tasks that the built-in engine solved; empty
            means all models.
        takes_s: Seconds of work from now until the last task has ended, without quiet hours. None if too few tasks were
            measured, and zero if no task is open.
        done_at: The time when the last task has ended, with quiet hours, and as if no budget delayed anything.
        cost_usd: Cost of these tasks from now on; None if a price is unknown.
        left_usd: What remains of the day's budget; None without such a budget.
    """

    tasks: int
    for_owner: int = 0
    for_later: int = 0
    for_model: int = 0
    measured: int = 0
    model: str = ""
    takes_s: Estimate | None = None
    done_at: TimeEstimate | None = None
    cost_usd: Estimate | None = None
    left_usd: float | None = None

    @property
    def is_over_budget(self) -> bool:
        """True if the tasks are likely to cost more than what remains of the day's budget."""
        return self.cost_usd is not None and self.left_usd is not None and self.cost_usd.middle > self.left_usd


def forecast(tasks: Sequence[OpenTask], measured: Sequence[MeasuredTask], conditions: Conditions) -> Forecast:
    """Compute the forecast; the same arguments always give the same result.

    Args:
        tasks: The tasks that run without the owner, in the order in which they will be claimed.
        measured: Ended tasks.
        conditions: The conditions of the work.
    """
    return Forecast(
        tasks=len(tasks),
        measured=len(measured),
        left_usd=conditions.left_today_usd,
        **(_forecast_measured(tasks, measured, conditions) if len(measured) >= LEAST_MEASURED else {}),
    )


def _forecast_measured(
    tasks: Sequence[OpenTask], measured: Sequence[MeasuredTask], conditions: Conditions
) -> dict[str, Any]:
    """Return the fields of a forecast that depend on measured tasks."""
    dice = random.Random(len(tasks))  # noqa: S311  # no secret hangs on it
    fresh = _list_rests(OpenTask(), measured)
    rests = [_list_rests(task, measured) if task.work_s else fresh for task in tasks]  # Most tasks have not begun
    courses = (
        _run_course(tasks, list(map(dice.choice, rests)), conditions.workers)
        for _ in range(max(LEAST_DRAWS, min(DRAWS, DRAWN_TASKS // max(1, len(tasks)))))
    )
    takes_s, cost_usd = map(_percentiles, zip(*courses, strict=True))
    is_priced = all(each.cost_usd is not None for each in measured)
    return {
        "takes_s": takes_s,
        "done_at": _times(takes_s, conditions),
        "cost_usd": cost_usd if is_priced else None,
    }


def _list_rests(task: OpenTask, measured: Sequence[MeasuredTask]) -> list[tuple[float, float]]:
    """Return the possible remaining costs of a task: pairs of seconds and USD, all equally likely.

    They come from the measured tasks that took longer than this task has taken so far.
    """
    return [
        (each.work_s - task.work_s, max(0.0, (each.cost_usd or 0.0) - task.cost_usd))
        for each in measured
        if not task.work_s or each.work_s > task.work_s
    ] or [(task.work_s, task.cost_usd)]  # The task has taken longer than all others: assume as much again


def _run_course(tasks: Sequence[OpenTask], rests: Sequence[tuple[float, float]], workers: int) -> tuple[float, float]:
    """Simulate tasks whose remaining costs are `rests`: each worker that is free starts the next task.

    Returns the seconds until the last task has ended, and the cost of all tasks.
    """
    free = [work_s for task, (work_s, _) in zip(tasks, rests, strict=True) if task.is_running]
    takes_s = max(free, default=0.0)
    free += [0.0] * (workers - len(free))
    heapq.heapify(free)
    for task, (work_s, _) in zip(tasks, rests, strict=True):
        if not task.is_running:
            ends_s = max(heapq.heappop(free), task.due_in_s) + work_s
            heapq.heappush(free, ends_s)
            takes_s = max(takes_s, ends_s)
    return takes_s, sum(cost for _, cost in rests)


def _percentiles(values: Sequence[float]) -> Estimate:
    ordered = sorted(values)
    low, middle, high = (ordered[math.ceil(share * len(ordered)) - 1] for share in _PERCENTILES)
    return Estimate(low=low, middle=middle, high=high)


def _times(takes_s: Estimate, conditions: Conditions) -> TimeEstimate:
    low, middle, high = (_after(seconds, conditions) for seconds in (takes_s.low, takes_s.middle, takes_s.high))
    return TimeEstimate(low=low, middle=middle, high=high)


def _after(work_s: float, conditions: Conditions) -> datetime | None:
    return after_work(conditions.quiet_hours, conditions.now, timedelta(seconds=work_s))
