"""Reasons why no task is started, each with its source. They are stored in the database, so they survive restarts.

Claims are refused while the table has any row. A source has at most one row: another pause of the same source changes
the reason and keeps the time, so a caller may add a pause without checking for an earlier one. A changed reason (“21
commits to read”, then 22) causes no event, unless the source is the owner.
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
"""State key: the start of the interval to the next checkpoint; set when the owner resumes after a checkpoint."""


def active(conn: Connection) -> bool:
    """Check whether there is any pause. This reads at most one row, because every claim calls it."""
    return conn.execute("SELECT 1 FROM holds LIMIT 1").fetchone() is not None


def read(conn: Connection) -> PauseState:
    """Read all pauses."""
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
    """Pause claims, or change the reason of a source that already pauses them; an unchanged reason writes nothing."""
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
    """Remove the pauses of these sources; sources without a pause are skipped."""
    for source in sources:
        gone = tx.conn.execute("DELETE FROM holds WHERE source = ? RETURNING reason", (source,)).fetchall()
        if gone:
            kind, reason = Kind.RESUMED if source is PauseSource.OWNER else Kind.LET_GO, gone[0]["reason"]
            tx.emitter.emit(kind, reason, **PauseData(source=source, reason=reason))
            if source is PauseSource.CHECKPOINT:
                write_state(tx.conn, COUNTS_FROM, to_text(tx.now), tx.now)
    return read(tx.conn)


def review_debt(count: int, limit: int | None) -> str:
    """Return why new work waits while too many commits are unread; empty if new work may begin."""
    if limit is None or count < limit:
        return ""
    return f"{count} commit{'' if count == 1 else 's'} wait{'s' if count == 1 else ''} to be read (REVIEW_DEBT={limit})"


def renew_review_debt(tx: Transaction, limit: int | None) -> None:
    """Add or remove the pause for unread commits.

    This is called in the transaction that stores a commit, so no task can be claimed between the commit that exceeds
    the limit and the pause. Running tasks continue, so at most `worker_count - 1` further commits follow.
    """
    why = review_debt(unread(tx.conn), limit) if limit else ""
    if why:
        add(tx, PauseSource.REVIEW, why)
    else:
        remove(tx, (PauseSource.REVIEW,))
