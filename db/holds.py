"""Holds: why no task is begun, each reason under its source; kept in the database, so they outlive restarts.

Claims are refused while any row stands. A source has one row at most: whoever holds back again changes the reason and
keeps the time, so nobody has to know whether he did so before. The owner's own are told as a pause, all others as a
hold; a reason that only counts on (“21 commits to read”, then 22) is no news.
"""

from __future__ import annotations

from collections.abc import Iterable

from core.clock import Clock, from_text, to_text
from core.events import Event, Kind
from core.queueing import Hold, HoldSource, PauseState
from db.event_log import EventLog
from db.sqlite import Connection
from db.state_store import write_state

MAX_REASON_CHARS = 2000
COUNTS_FROM = "checkpoint_counts_from"
"""The time from which the next checkpoint counts; set when its owner resumes from the last one."""


def stand(conn: Connection) -> bool:
    """Tell whether anything holds claims back: one step into the table, for the claim."""
    return conn.execute("SELECT 1 FROM holds LIMIT 1").fetchone() is not None


def read(conn: Connection) -> PauseState:
    """All that holds claims back."""
    rows = {row["source"]: row for row in conn.execute("SELECT source, reason, since FROM holds")}
    found = [
        Hold(source=source, reason=rows[source]["reason"], since=from_text(rows[source]["since"]))
        for source in HoldSource
        if source in rows
    ]
    return PauseState(holds=tuple(found))


class Holds:
    """Puts holds on and takes them off, inside write jobs.

    Args:
        events: is told of each change.
        clock: gives holds their time.
    """

    def __init__(self, events: EventLog, clock: Clock) -> None:
        self._events, self._clock = events, clock

    def put(self, conn: Connection, source: HoldSource, reason: str) -> PauseState:
        """Hold claims back, or renew the reason of a hold that stands; without a change nothing is written."""
        reason = self._events.clean(reason, MAX_REASON_CHARS)
        before = next((hold for hold in read(conn).holds if hold.source is source), None)
        if before is None or before.reason != reason:
            conn.execute(
                "INSERT INTO holds (source, reason, since) VALUES (?, ?, ?) "
                "ON CONFLICT (source) DO UPDATE SET reason = excluded.reason",
                (source, reason, to_text(self._clock())),
            )
            if before is None or source is HoldSource.OWNER:
                kind = Kind.PAUSED if source is HoldSource.OWNER else Kind.HELD_BACK
                self._tell(conn, kind, source, reason)
        return read(conn)

    def take(self, conn: Connection, sources: Iterable[HoldSource]) -> PauseState:
        """Let go of these holds; those that do not stand are none."""
        for source in sources:
            gone = conn.execute("DELETE FROM holds WHERE source = ? RETURNING reason", (source,)).fetchall()
            if gone:
                kind = Kind.RESUMED if source is HoldSource.OWNER else Kind.LET_GO
                self._tell(conn, kind, source, gone[0]["reason"])
                if source is HoldSource.CHECKPOINT:
                    write_state(conn, COUNTS_FROM, to_text(self._clock()), self._clock())
        return read(conn)

    def _tell(self, conn: Connection, kind: Kind, source: HoldSource, reason: str) -> None:
        self._events.append(conn, Event(kind=kind, message=reason, data={"source": source, "reason": reason}))
