"""Forecasts: results of the simulated draws for measured tasks, workers, pauses and budgets."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from nightshift.core.tasks.forecast import LEAST_MEASURED, Conditions, MeasuredTask, OpenTask, forecast

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
ALONE = Conditions(now=NOW, workers=1)
ALIKE = [MeasuredTask(work_s=60.0, cost_usd=0.1)] * 5
MIXED = [MeasuredTask(work_s=work_s, cost_usd=work_s / 1000) for work_s in (10.0, 20.0, 30.0, 60.0, 300.0)]
OPEN = OpenTask()


def test_tasks_that_are_all_alike_leave_nothing_to_chance() -> None:
    outlook = forecast([OPEN] * 4, ALIKE, replace(ALONE, workers=2))
    assert outlook.takes_s is not None
    assert outlook.cost_usd is not None
    assert outlook.done_at is not None
    assert {outlook.takes_s.low, outlook.takes_s.middle, outlook.takes_s.high} == {120.0}
    assert round(outlook.cost_usd.middle, 6) == 0.4
    assert outlook.done_at.middle == NOW + timedelta(minutes=2)
    assert outlook.tasks == 4


def test_with_few_measured_tasks_nothing_is_said() -> None:
    outlook = forecast([OPEN], ALIKE[: LEAST_MEASURED - 1], ALONE)
    assert (outlook.tasks, outlook.measured) == (1, LEAST_MEASURED - 1)
    assert (outlook.takes_s, outlook.cost_usd, outlook.done_at) == (None, None, None)


def test_what_a_running_task_took_already_is_not_counted_again() -> None:
    begun = OpenTask(is_running=True, work_s=45.0, cost_usd=0.04)
    outlook = forecast([begun], ALIKE, ALONE)
    assert outlook.takes_s is not None
    assert outlook.cost_usd is not None
    assert outlook.takes_s.middle == 15.0
    assert round(outlook.cost_usd.middle, 6) == 0.06


def test_the_likely_cost_is_compared_with_what_is_left_of_the_day() -> None:
    for left_usd, is_over_budget in ((1.5, False), (0.45, True), (None, False)):
        outlook = forecast([OPEN] * 10, ALIKE, replace(ALONE, left_today_usd=left_usd))
        assert (outlook.left_usd, outlook.is_over_budget) == (left_usd, is_over_budget)
    unpriced = [*ALIKE, MeasuredTask(work_s=60.0, cost_usd=None)]
    outlook = forecast([OPEN] * 10, unpriced, replace(ALONE, left_today_usd=0.01))
    assert (outlook.cost_usd, outlook.is_over_budget) == (None, False)


def test_many_tasks_are_drawn_fewer_times_and_vary_less() -> None:
    few = forecast([OPEN] * 200, MIXED, replace(ALONE, workers=3))
    many = forecast([OPEN] * 5000, MIXED, replace(ALONE, workers=3))
    for name in ("takes_s", "cost_usd"):
        few_range, many_range = getattr(few, name), getattr(many, name)
        assert abs(25 * few_range.middle / many_range.middle - 1) < 0.06
        assert many_range.high / many_range.low < few_range.high / few_range.low
