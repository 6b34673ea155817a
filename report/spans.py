"""Which span of time a report is to be about, as its owner asks for it."""

from __future__ import annotations

from datetime import datetime, timedelta

from db.database import Database
from report.weeks import span_of
from taskqueue import checkpoints


def asked_span(database: Database, week: str, now: datetime, days: float) -> tuple[datetime, datetime]:
    """The span of a week such as `2026-W47`, as far as it is over; where none is named, that since the last checkpoint.

    Args:
        database: tells when the last checkpoint was.
        week: the week; empty for none.
        now: the time; seconds do not count.
        days: how far back to go before the first checkpoint.

    Raises:
        ValueError: there is no such week, or it has not begun; the message is for its reader.
        StoreError: the database cannot be read.
    """
    now = now.replace(second=0, microsecond=0)
    if not week:
        last = checkpoints.read(database.reader()).last
        return (last if last is not None and last < now else now - timedelta(days=days)), now
    since, until = span_of(week)
    if since >= now:
        raise ValueError(f"the week {week} has not begun")
    return since, min(until, now)
