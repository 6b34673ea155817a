"""The last time that this database saw on the clock, so that a start notices a clock that went back meanwhile."""

from __future__ import annotations

from datetime import datetime

from core.clock import from_text, to_text
from db.sqlite import Connection
from db.state_store import read_state, write_state

_KEY = "clock_seen"


def last_seen(conn: Connection) -> datetime | None:
    """The later of the time that was noted last and that of the newest event; None in a new database."""
    event = conn.execute("SELECT at FROM execution_logs ORDER BY id DESC LIMIT 1").fetchone()
    seen = [text for text in (read_state(conn, _KEY), event and event["at"]) if text]
    return from_text(max(seen)) if seen else None


def note(conn: Connection, now: datetime) -> None:
    """Note the time."""
    write_state(conn, _KEY, to_text(now), now)
