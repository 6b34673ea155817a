"""The parts of the daemon's status that are read from the database, whether a daemon runs or not."""

from __future__ import annotations

from datetime import datetime

from nightshift.core.status import DaemonStatus, ForgeStatus, ParkedTasks, SavedReplies, Trouble
from nightshift.core.tasks.states import DaemonState
from nightshift.core.version import VERSION
from nightshift.queue import approvals, pauses, store
from nightshift.queue.leases import SUSPECT
from nightshift.storage.db.codec import from_json_value
from nightshift.storage.db.sqlite import Connection
from nightshift.storage.db.state_store import count_saved_replies, read_state, unread

INBOX_NOTICES = "inbox_notices"
"""State key: the faults that keep entries of `tasks.yaml` from being submitted."""
INBOX_TASKS = "inbox_tasks"
"""State key: the ids of the tasks that were made from the entries of `tasks.yaml`."""
FORGES = "forges"
"""State key: the last known state of the connections to forges."""
FIRST_PARKED = 5


def inbox_notices(conn: Connection) -> tuple[str, ...]:
    """Read the faults that kept entries from being submitted when the daemon last read `tasks.yaml`."""
    return tuple(read_state(conn, INBOX_NOTICES) or ())


def read_stored_status(conn: Connection, now: datetime, saved: SavedReplies | None = None) -> DaemonStatus:
    """Read the status of a stopped daemon.

    A running daemon adds what the database does not contain, such as `saved`.
    """
    return DaemonStatus(
        state=DaemonState.STOPPED,
        uptime_s=0.0,
        version=VERSION,
        queue=store.counts(conn),
        approvals=approvals.open_count(conn),
        saved=saved or count_saved_replies(conn, now),
        holds=pauses.read(conn).reasons,
        unread=unread(conn),
        parked=count_parked(conn),
        troubles=tuple(Trouble(what=what, tasks=count) for what, count in store.troubles(conn)),
        forges=tuple(from_json_value(ForgeStatus, each) for each in read_state(conn, FORGES) or ()),
    )


def count_parked(conn: Connection) -> ParkedTasks:
    """Count the tasks whose attempt waits for a model or a budget, and list the ids of the oldest few."""
    ids = store.list_parked_ids(conn, SUSPECT)
    return ParkedTasks(count=len(ids), first=tuple(ids[:FIRST_PARKED]))
