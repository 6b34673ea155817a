"""Time spans and their names: the ISO week, and the span that a report covers."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from nightshift.queue import checkpoints
from nightshift.storage.db.database import Database

WEEK = timedelta(days=7)
_REPORT, _DAY = re.compile(r"([0-9]{4})-W([0-9]{2})"), re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_MINUTE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{4}")
"""Patterns of the three forms of names that `report_name` returns."""
_NAME = re.compile(r"(\d{4})-?W(\d{1,2})", re.IGNORECASE)


def report_name(since: datetime, until: datetime) -> str:
    """Return a report's name: the ISO week in which its span ends, such as `2026-W47`.

    A report on less than six days is named after the last day of its span, and a report on less than a day after the
    last minute.
    """
    last = until - timedelta(seconds=1)
    if until - since >= timedelta(days=6):
        return f"{last:%G-W%V}"
    return f"{last:%Y-%m-%d}" if until - since >= timedelta(days=1) else f"{last:%Y-%m-%dT%H%M}"


def last_moment(name: str) -> datetime | None:
    """Return the end of a report's span, to within a day, from the report's name; None if it is no report's name."""
    try:
        if match := _REPORT.fullmatch(name):
            return datetime.fromisocalendar(int(match[1]), int(match[2]), 7).replace(tzinfo=UTC)
        if _DAY.fullmatch(name):
            return datetime.strptime(name, "%Y-%m-%d").replace(tzinfo=UTC)
        if _MINUTE.fullmatch(name):
            return datetime.strptime(name, "%Y-%m-%dT%H%M").replace(tzinfo=UTC)
    except ValueError:
        return None
    return None


def span_of(week: str) -> tuple[datetime, datetime]:
    """Return the span of an ISO week such as `2026-W47`: from its Monday, 00:00 UTC, to the next Monday, 00:00 UTC.

    Raises:
        ValueError: there is no such week; the message is for the owner.
    """
    match = _NAME.fullmatch(week.strip())
    if match is None:
        raise ValueError(f"{week!r} is not a week; write it as 2026-W47")
    year, number = int(match[1]), int(match[2])
    try:
        since = datetime.fromisocalendar(year, number, 1).replace(tzinfo=UTC)
        return since, since + WEEK
    except (ValueError, OverflowError):
        raise ValueError(f"the year {year} has no week {number}") from None


def choose_span(database: Database, week: str, now: datetime, days: float) -> tuple[datetime, datetime]:
    """Return the span of a week such as `2026-W47` or, if `week` is empty, the span since the last checkpoint.

    Args:
        database: contains the time of the last checkpoint.
        week: the week; empty for the span since the last checkpoint.
        now: the current time, at which the span ends at the latest.
        days: length of the span in days if there was no checkpoint yet.

    Raises:
        ValueError: there is no such week, or it has not begun; the message is for the owner.
        StoreError: the database cannot be read.
    """
    if not week:
        last = checkpoints.read(database.reader()).last
        return (last if last is not None and last < now else now - timedelta(days=days)), now
    since, until = span_of(week)
    if since >= now:
        raise ValueError(f"the week {week} has not begun")
    return since, min(until, now)
