"""Review debt: new work waits while too many commits wait to be read.

It is looked at in the very transaction that enters a commit, so no claim comes between the commit that makes the debt
and the hold. What runs at that moment goes on: at most `worker_count - 1` further commits.
"""

from __future__ import annotations

from core.queueing import HoldSource
from db.holds import Holds
from db.sqlite import Connection
from db.state_store import unread


def reason(count: int, limit: int | None) -> str:
    """Why new work waits, or nothing where it need not."""
    if limit is None or count < limit:
        return ""
    return f"{count} commit{'' if count == 1 else 's'} wait{'s' if count == 1 else ''} to be read (REVIEW_DEBT={limit})"


def settle(conn: Connection, held: Holds, limit: int | None) -> None:
    """Hold back or let go, inside a write job."""
    why = reason(unread(conn), limit) if limit else ""
    if why:
        held.put(conn, HoldSource.REVIEW, why)
    else:
        held.take(conn, (HoldSource.REVIEW,))
