"""State of checkpoints: the end of the last report, the start of the next interval, and a checkpoint in progress.

The whole state is in `system_state`, so a daemon that dies during a checkpoint continues it after a restart. The time
span of a report is fixed before the report is written. A single transaction announces the checkpoint and ends its work.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from nightshift.core.clock import from_text, to_text
from nightshift.core.events import Kind
from nightshift.core.tasks.queueing import PauseSource
from nightshift.queue import pauses
from nightshift.queue.pauses import COUNTS_FROM
from nightshift.queue.store import Transaction
from nightshift.storage.db.sqlite import Connection
from nightshift.storage.db.state_store import read_state, write_state

LAST = "last_checkpoint_at"
_OPEN = "checkpoint"
_ASKED = "checkpoint_asked_at"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoints:
    """State of checkpoints.

    Attributes:
        last: the end of the last report's time span; None before the first start.
        counts_from: the last resume, or the first start; the next checkpoint is due CHECKPOINT_DAYS later.
        asked: True if a checkpoint was requested.
        waits: True if a checkpoint pauses claims until the owner resumes.
        since: the start of the time span of a report that is not written yet, else None.
        until: the end of that time span, once it is fixed.
    """

    last: datetime | None
    counts_from: datetime | None
    asked: bool
    waits: bool
    since: datetime | None
    until: datetime | None


def read(conn: Connection) -> Checkpoints:
    """Read the state of checkpoints."""
    under_way = read_state(conn, _OPEN) or {}
    last = _time(read_state(conn, LAST))
    return Checkpoints(
        last=last,
        counts_from=_time(read_state(conn, COUNTS_FROM)) or last,
        asked=read_state(conn, _ASKED) is not None,
        waits=pauses.read(conn).has(PauseSource.CHECKPOINT),
        since=_time(under_way.get("since")),
        until=_time(under_way.get("until")),
    )


def count_from(conn: Connection, now: datetime) -> None:
    """Start counting the days to the first checkpoint, at the very first start of the daemon."""
    write_state(conn, LAST, to_text(now), now)
    write_state(conn, COUNTS_FROM, to_text(now), now)


def ask(conn: Connection, now: datetime) -> bool:
    """Request a checkpoint at once; return False if a checkpoint is already in progress or waits for the owner."""
    here = read(conn)
    if here.waits or here.since:
        return False
    write_state(conn, _ASKED, to_text(now), now)
    return True


def begin(tx: Transaction, reason: str) -> None:
    """Pause claims and fix the start of the report's time span."""
    here = read(tx.conn)
    pauses.add(tx, PauseSource.CHECKPOINT, reason)
    write_state(tx.conn, _OPEN, {"since": to_text(_since(here, tx.now))}, tx.now)
    write_state(tx.conn, _ASKED, None, tx.now)


def fix_end(conn: Connection, now: datetime) -> Checkpoints:
    """Fix the end of the report's time span unless it is already fixed; return the state of checkpoints."""
    here = read(conn)
    if here.since is None or here.until is not None:
        return here
    write_state(conn, _OPEN, {"since": to_text(here.since), "until": to_text(max(here.since, now))}, now)
    return read(conn)


def not_written(tx: Transaction, why: str) -> None:
    """State in the reason of the pause that the report could not be written yet."""
    if read(tx.conn).waits:
        pauses.add(tx, PauseSource.CHECKPOINT, f"checkpoint: the report cannot be written and is tried again ({why})")


def close(tx: Transaction, report: str, brief: str) -> None:
    """Announce the report, with a line about its time span, and store where the next report begins.

    A second call changes nothing.
    """
    here = read(tx.conn)
    if here.until is None:
        return
    write_state(tx.conn, LAST, to_text(here.until), tx.now)
    write_state(tx.conn, _OPEN, None, tx.now)
    text = f"checkpoint: {brief}; {report} is written"
    if here.waits:
        pauses.add(tx, PauseSource.CHECKPOINT, text)
    tx.emitter.emit(Kind.CHECKPOINT, text, report=report, waits=here.waits)


def shift(conn: Connection, by: timedelta, now: datetime) -> None:
    """Move the time of the next checkpoint by the amount by which the clock was set.

    The start of the next report stays unchanged: events keep their times, and the next report covers all events after
    the last report.
    """
    if (counts_from := _time(read_state(conn, COUNTS_FROM))) is not None:
        write_state(conn, COUNTS_FROM, to_text(counts_from + by), now)


def _since(here: Checkpoints, now: datetime) -> datetime:
    """Return the start of a report's time span.

    This is the end of the last report, unless the clock has been set back since.
    """
    if here.last is not None and here.last <= now:
        return here.last
    return min(here.counts_from or now, now)


def _time(text: str | None) -> datetime | None:
    return None if text is None else from_text(text)
