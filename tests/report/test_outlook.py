"""A forecast in words: its time and costs, its unknown parts, and a budget that will not suffice."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from nightshift.core.tasks.forecast import Estimate, Forecast, TimeEstimate
from nightshift.report.outlook import outlook

NOW = datetime(2026, 11, 22, 20, 0, tzinfo=UTC)


def local(at: datetime) -> str:
    return f"{at.astimezone():%H:%M %Z}"


def hours(number: float) -> datetime:
    return NOW + timedelta(hours=number)


def list_known(**more: object) -> Forecast:
    usual: dict[str, object] = {
        "tasks": 14,
        "measured": 62,
        "takes_s": Estimate(low=3600.0, middle=7800.0, high=10_800.0),
        "done_at": TimeEstimate(low=hours(1), middle=hours(2.2), high=hours(3)),
        "cost_usd": Estimate(low=0.55, middle=0.8, high=1.2),
        "left_usd": 5.0,
    }
    return Forecast(**{**usual, **more})  # type: ignore[arg-type]  # names of its fields


def test_it_says_how_many_tasks_until_when_and_for_how_much_with_the_range() -> None:
    summary = outlook(list_known(), NOW)
    assert summary.line == f"14 tasks, done about {local(hours(2.2))}, about $0.80 of the $5.00 left today"
    between = f"done between {local(hours(1))} and {local(hours(3))}, $0.55 to $1.20"
    assert summary.range == f"{between} (80 % range, from the last 62 tasks)"


def test_a_budget_that_will_not_do_leaves_out_a_wrong_end() -> None:
    summary = outlook(list_known(left_usd=0.5), NOW)
    assert summary.line == "14 tasks, about $0.80 of the $0.50 left today"
    assert "done" not in summary.range


def test_while_tasks_are_held_back_no_time_is_told() -> None:
    summary = outlook(list_known(), NOW, is_held=True)
    assert summary.line == "14 tasks, about 2 h 10 min of work, about $0.80 of the $5.00 left today"
    assert summary.range.startswith("1 h to 3 h of work")


def test_what_waits_for_its_owner_or_a_model_is_told() -> None:
    assert outlook(Forecast(tasks=0, for_owner=2), NOW).line == "2 tasks wait for you"
    assert outlook(list_known(for_owner=1, for_model=3), NOW).line.endswith(
        "3 of them wait for a model, 1 more waits for you"
    )
    assert outlook(Forecast(tasks=0, for_later=1), NOW).line == "1 task for later"
    assert outlook(Forecast(tasks=0), NOW).line == ""
