"""Pause: claims are held back until somebody resumes; kept in the database, so it outlives restarts."""

from __future__ import annotations

from datetime import datetime

from core.clock import from_text, to_text
from core.events import Event, Kind
from core.queueing import PauseState
from db.event_log import EventLog
from db.sqlite import Connection
from db.state_store import read_state, write_state

KEY = "pause"


def read(conn: Connection) -> PauseState:
    """Whether claims are held back."""
    kept = read_state(conn, KEY)
    if kept is None:
        return PauseState(paused=False)
    return PauseState(paused=True, reason=kept["reason"], since=from_text(kept["since"]))


def pause(conn: Connection, events: EventLog, reason: str, now: datetime) -> PauseState:
    """Hold claims back; a second pause changes the reason only."""
    before = read(conn)
    if before.paused and before.reason == reason:
        return before
    write_state(conn, KEY, {"reason": reason, "since": to_text(before.since or now)}, now)
    events.append(conn, Event(kind=Kind.PAUSED, message=reason))
    return read(conn)


def resume(conn: Connection, events: EventLog, now: datetime) -> PauseState:
    """Let claims go on."""
    if read(conn).paused:
        write_state(conn, KEY, None, now)
        events.append(conn, Event(kind=Kind.RESUMED))
    return read(conn)
