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
    assert outlook.over_budget is None


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


def test_the_budget_of_the_day_is_held_against_what_is_left_of_it() -> None:
    enough = forecast([OPEN] * 10, ALIKE, replace(ALONE, left_today_usd=1.5))
    short = forecast([OPEN] * 10, ALIKE, replace(ALONE, left_today_usd=0.45))
    assert (enough.over_budget, enough.fit_budget) == (0.0, 10)
    assert (short.over_budget, short.fit_budget) == (1.0, 4)


def test_many_tasks_are_drawn_fewer_times_and_vary_less() -> None:
    few = forecast([OPEN] * 200, MIXED, replace(ALONE, workers=3, left_today_usd=16.8))
    many = forecast([OPEN] * 5000, MIXED, replace(ALONE, workers=3, left_today_usd=100.0))
    for name in ("takes_s", "cost_usd"):
        few_range, many_range = getattr(few, name), getattr(many, name)
        assert abs(25 * few_range.middle / many_range.middle - 1) < 0.06
        assert many_range.high / many_range.low < few_range.high / few_range.low
    assert few.over_budget is not None
    assert abs(few.over_budget - 0.5) < 0.2
    assert many.over_budget == 1.0


def test_it_tells_when_the_budget_is_used_up_and_no_day_pays_for_the_next() -> None:
    short = forecast([OPEN] * 10, ALIKE, replace(ALONE, left_today_usd=0.45))
    assert short.used_up_at == NOW + timedelta(minutes=5)
    assert short.day_ends_at == datetime(2026, 11, 23, tzinfo=UTC)
    late = datetime(2026, 11, 22, 23, 57, 30, tzinfo=UTC)
    over_midnight = forecast([OPEN] * 10, ALIKE, Conditions(now=late, workers=1, left_today_usd=0.45))
    assert (over_midnight.over_budget, over_midnight.used_up_at, over_midnight.fit_budget) == (0.0, None, 10)
