"""Quiet hours: spans of local wall-clock time, such as `22:00-07:00` or `Mon-Fri 09:00-17:30`.

A span that ends before it begins continues past midnight and belongs to the day on which it begins: `Fri 22:00-07:00`
ends on Saturday. When the clock is put back, an hour occurs twice and is quiet both times. When the clock is put
forward, a span that would begin in the missing hour begins right after that hour.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
EXAMPLE = "write `22:00-07:00`, `Mon-Fri 09:00-17:30` or `Sat,Sun 00:00-24:00`"
_DAY_MINUTES = 24 * 60
FARTHEST = timedelta(days=14)
"""How far `after_work` looks ahead."""
_TIMES = r"(?P<start>\d{1,2}:\d\d)\s*[-–]\s*(?P<end>\d{1,2}:\d\d)"
_SPAN = re.compile(rf"(?:(?P<days>[a-z,\s-]+?)\s+)?{_TIMES}", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """One span on each of some weekdays (0 is Monday), in minutes of the day; it passes midnight if end < start."""

    days: frozenset[int]
    start: int
    end: int
    text: str

    def covers(self, local: datetime) -> bool:
        """Return True if a local time is in the span; the end is exclusive."""
        minute, today, yesterday = local.hour * 60 + local.minute, local.weekday(), (local.weekday() - 1) % 7
        if self.start < self.end:
            return today in self.days and self.start <= minute < self.end
        return (today in self.days and minute >= self.start) or (yesterday in self.days and minute < self.end)


def parse(text: str) -> Span:
    """Parse the text of one span, such as `Mon-Fri 09:00-17:30`.

    Raises:
        ValueError: The text is not a span; the message shows a correct example.
    """
    match = _SPAN.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a time span; {EXAMPLE}")
    try:
        start, end = _minutes(match["start"], _DAY_MINUTES - 1), _minutes(match["end"], _DAY_MINUTES)
        days = _days(match["days"]) if match["days"] else frozenset(range(7))
    except ValueError as error:
        raise ValueError(f"{text!r}: {error}; {EXAMPLE}") from None
    if start == end:
        raise ValueError(f"{text!r} ends when it begins; {EXAMPLE}")
    return Span(days=days, start=start, end=end, text=text.strip())


def quiet(spans: Iterable[str], local: datetime) -> str:
    """Return the first span that contains a local time, as the owner wrote it; empty if there is none."""
    return next((text for text in spans if parse(text).covers(local)), "")


def after_work(spans: Iterable[str], now: datetime, work: timedelta) -> datetime | None:
    """Return when work that pauses in these spans will be done, to the minute; None if later than `FARTHEST`.

    Args:
        spans: Spans of local time.
        now: The current time, with a time zone.
        work: The duration of the work without pauses.
    """
    parsed = [parse(text) for text in spans]
    if not parsed:
        return now + work if work <= FARTHEST else None
    minute, at, left = timedelta(minutes=1), now, work
    while left > timedelta(0):
        if at - now > FARTHEST:
            return None
        local = at.astimezone()
        if not any(span.covers(local) for span in parsed):
            left -= minute
        at += minute
    return at + left


def quiet_until(spans: Iterable[str], local: datetime) -> datetime | None:
    """Return the local time at which the quiet hours that include `local` end.

    Returns None if it is not quiet at `local`, or if the quiet never ends. A span that begins when another one ends
    extends the quiet.
    """
    parsed = [parse(text) for text in spans]
    end, week = local, local + timedelta(days=7)
    while (span := next((each for each in parsed if each.covers(end)), None)) and end < week:
        day = end.replace(hour=0, minute=0, second=0, microsecond=0)
        goes_over = span.start > span.end and end.hour * 60 + end.minute >= span.start
        end = day + timedelta(days=goes_over, minutes=span.end)
    return end if local < end < week else None


def _minutes(text: str, most: int) -> int:
    hours, minutes = map(int, text.split(":"))
    if minutes > 59 or hours * 60 + minutes > most:
        raise ValueError(f"{text} is not a time of day")
    return hours * 60 + minutes


def _days(text: str) -> frozenset[int]:
    days = set[int]()
    for part in text.split(","):
        first, _, last = (word.strip() for word in part.partition("-"))
        start = _day(first)
        days |= {(start + n) % 7 for n in range((_day(last) - start) % 7 + 1)} if last else {start}
    return frozenset(days)


def _day(word: str) -> int:
    if word[:3].lower() not in DAYS or not word.isalpha():
        raise ValueError(f"{word or 'nothing'} is not a day of the week")
    return DAYS.index(word[:3].lower())
