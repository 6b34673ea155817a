"""Quiet hours: the local times that a span covers, over midnight, on some days, and when the clock changes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightshift.core.quiet_hours import parse, quiet_until

BERLIN = ZoneInfo("Europe/Berlin")
MONDAY = datetime(2026, 11, 2)  # noqa: DTZ001 - what the clock on the wall shows


def on_wall(day: int, time: str) -> datetime:
    """Return the local time at an hour and minute of a week; day 0 is Monday."""
    hours, minutes = map(int, time.split(":"))
    return MONDAY + timedelta(days=day, hours=hours, minutes=minutes)


@pytest.mark.parametrize(
    ("span", "day", "time", "covered"),
    [
        ("09:00-17:30", 3, "08:59", False),
        ("09:00-17:30", 3, "17:30", False),
        ("22:00-07:00", 0, "06:59", True),
        ("Fri 22:00-07:00", 5, "06:00", True),
        ("Sun 22:00-07:00", 0, "03:00", True),
        ("Mon-Fri 9:00-17:00", 5, "12:00", False),
        ("Sat,Sun 00:00-24:00", 0, "00:00", False),
    ],
)  # fmt: skip
def test_a_span_covers_from_its_beginning_to_its_end(span: str, day: int, time: str, covered: bool) -> None:
    assert parse(span).covers(on_wall(day, time)) is covered


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "not a time span"),
        ("25:00-07:00", "25:00 is not a time of day"),
        ("24:00-07:00", "24:00 is not a time of day"),
        ("Funday 10:00-11:00", "Funday is not a day of the week"),
        ("07:00-07:00", "ends when it begins"),
    ],
)
def test_what_is_no_span_is_refused_with_an_example(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why) as refused:
        parse(text)
    assert "22:00-07:00" in str(refused.value)


def quiet_minutes(span: str, around: datetime) -> int:
    """Count the quiet minutes in the twelve hours from `around`."""
    times = (around + timedelta(minutes=n) for n in range(12 * 60))
    return sum(parse(span).covers(at.astimezone(BERLIN)) for at in times)


def test_the_hour_that_comes_twice_is_quiet_twice() -> None:
    assert quiet_minutes("02:00-03:00", datetime(2026, 10, 24, 20, tzinfo=UTC)) == 120
    assert quiet_minutes("02:00-03:00", datetime(2026, 10, 23, 20, tzinfo=UTC)) == 60


def test_the_hour_that_is_left_out_is_not_made_up_for() -> None:
    assert quiet_minutes("02:00-03:00", datetime(2026, 3, 28, 20, tzinfo=UTC)) == 0
    assert quiet_minutes("02:30-04:00", datetime(2026, 3, 28, 20, tzinfo=UTC)) == 60
    assert quiet_minutes("22:00-06:00", datetime(2026, 3, 28, 18, tzinfo=UTC)) == 7 * 60


@given(
    start=st.integers(0, 24 * 60 - 1), end=st.integers(0, 24 * 60), days=st.sets(st.integers(0, 6), min_size=1),
    minute=st.integers(0, 7 * 24 * 60 - 1),
)  # fmt: skip
def test_a_span_covers_what_it_says_on_any_days(start: int, end: int, days: set[int], minute: int) -> None:
    if start == end:
        return
    names = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
    text = f"{','.join(names[day] for day in days)} {start // 60:02}:{start % 60:02}-{end // 60:02}:{end % 60:02}"
    long = (end - start) % (24 * 60) or 24 * 60
    week = 7 * 24 * 60
    covered = {(day * 24 * 60 + start + n) % week for day in days for n in range(long)}
    assert parse(text).covers(MONDAY + timedelta(minutes=minute)) is (minute in covered)


@pytest.mark.parametrize(
    ("spans", "at", "end"),
    [
        (["22:00-07:00"], (23, 0), (1, 7, 0)),
        (["22:00-07:00", "07:00-09:30"], (23, 0), (1, 9, 30)),
        (["09:00-24:00"], (9, 0), (1, 0, 0)),
        (["09:00-10:00"], (10, 0), None),
        (["00:00-24:00"], (12, 0), None),
    ],
)
def test_the_end_of_the_quiet_is_known(spans: list[str], at: tuple[int, int], end: tuple[int, int, int] | None) -> None:
    day = MONDAY.replace(hour=0, minute=0)
    quiet_end = quiet_until(spans, day.replace(hour=at[0], minute=at[1]))
    assert quiet_end == (end and day + timedelta(days=end[0], hours=end[1], minutes=end[2]))
