"""Why no task is started: pause reasons, each under its source; kept in the database, so they outlive restarts.

Claims are refused while any row stands. A source has one row at most: whoever pauses again changes the reason and
keeps the time, so nobody has to know whether he did so before. A reason that only counts on (“21 commits to read”,
then 22) makes no event.
"""

from __future__ import annotations

from collections.abc import Iterable

from nightshift.core.clock import from_text, to_text
from nightshift.core.events import Kind, PauseData
from nightshift.core.tasks.queueing import PauseReason, PauseSource, PauseState
from nightshift.queue.store import Transaction
from nightshift.storage.db.sqlite import Connection
from nightshift.storage.db.state_store import unread, write_state

COUNTS_FROM = "checkpoint_counts_from"
"""The time from which the next checkpoint counts; set when its owner resumes from the last one."""


def active(conn: Connection) -> bool:
    """Tell whether any reason stands: one step into the table, for the claim."""
    return conn.execute("SELECT 1 FROM holds LIMIT 1").fetchone() is not None


def read(conn: Connection) -> PauseState:
    """Read all reasons of the pause."""
    rows = {row["source"]: row for row in conn.execute("SELECT source, reason, since FROM holds")}
    reasons = [
        PauseReason(
            source=source,
            reason=rows[source]["reason"],
            since=from_text(rows[source]["since"]),
            lifted_by=source.lifted_by,
            label=source.label,
        )
        for source in PauseSource
        if source in rows
    ]
    return PauseState(reasons=tuple(reasons))


def add(tx: Transaction, source: PauseSource, reason: str) -> PauseState:
    """Pause claims, or renew the reason of a source that pauses them; without a change nothing is written."""
    reason = tx.clean(reason)
    before = next((each for each in read(tx.conn).reasons if each.source is source), None)
    if before is None or before.reason != reason:
        tx.conn.execute(
            "INSERT INTO holds (source, reason, since) VALUES (?, ?, ?) "
            "ON CONFLICT (source) DO UPDATE SET reason = excluded.reason",
            (source, reason, to_text(tx.now)),
        )
        if before is None or source is PauseSource.OWNER:
            kind = Kind.PAUSED if source is PauseSource.OWNER else Kind.HELD_BACK
            tx.emitter.emit(kind, reason, **PauseData(source=source, reason=reason))
    return read(tx.conn)


def remove(tx: Transaction, sources: Iterable[PauseSource]) -> PauseState:
    """Take away the reasons of these sources; those that have none are passed over."""
    for source in sources:
        gone = tx.conn.execute("DELETE FROM holds WHERE source = ? RETURNING reason", (source,)).fetchall()
        if gone:
            kind, reason = Kind.RESUMED if source is PauseSource.OWNER else Kind.LET_GO, gone[0]["reason"]
            tx.emitter.emit(kind, reason, **PauseData(source=source, reason=reason))
            if source is PauseSource.CHECKPOINT:
                write_state(tx.conn, COUNTS_FROM, to_text(tx.now), tx.now)
    return read(tx.conn)


def review_debt(count: int, limit: int | None) -> str:
    """Tell why new work waits while so many commits wait to be read; empty where it need not."""
    if limit is None or count < limit:
        return ""
    return f"{count} commit{'' if count == 1 else 's'} wait{'s' if count == 1 else ''} to be read (REVIEW_DEBT={limit})"


def renew_review_debt(tx: Transaction, limit: int | None) -> None:
    """Pause or go on by the commits that wait to be read.

    It is called in the very transaction that enters a commit, so no claim comes between the commit that makes the debt
    and the pause. What runs at that moment goes on: at most `worker_count - 1` further commits.
    """
    why = review_debt(unread(tx.conn), limit) if limit else ""
    if why:
        add(tx, PauseSource.REVIEW, why)
    else:
        remove(tx, (PauseSource.REVIEW,))
