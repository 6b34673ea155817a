"""The last clock time stored in this database. It shows at the next start whether the clock was set back meanwhile."""

from __future__ import annotations

from datetime import datetime, timedelta

from nightshift.core.clock import from_text, to_text
from nightshift.storage.db.sqlite import Connection
from nightshift.storage.db.state_store import read_state, write_state

_SEEN = "clock_seen"
_BACK = "clock_set_back_s"


def last_seen(conn: Connection) -> datetime | None:
    """Return the later of the last stored time and the time of the newest event; None in a new database."""
    event = conn.execute("SELECT at FROM execution_logs ORDER BY id DESC LIMIT 1").fetchone()
    seen = [text for text in (read_state(conn, _SEEN), event and event["at"]) if text]
    return from_text(max(seen)) if seen else None


def note(conn: Connection, now: datetime) -> None:
    """Store the current time."""
    write_state(conn, _SEEN, to_text(now), now)


def set_back(conn: Connection) -> timedelta:
    """Return how far the recorded changes, taken together, have set the clock back; zero if they have not."""
    return timedelta(seconds=read_state(conn, _BACK) or 0.0)


def was_set(conn: Connection, by: timedelta, now: datetime) -> None:
    """Store the time, and the amount by which the clock was set (negative: set back)."""
    back = max(timedelta(0), set_back(conn) - by)
    write_state(conn, _BACK, back.total_seconds() or None, now)
    note(conn, now)
