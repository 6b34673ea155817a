"""Parts of the daemon's status that are in the database, whether a daemon runs or not."""

from __future__ import annotations

from datetime import datetime

from nightshift.core.status import DaemonStatus, ForgeStatus, ParkedTasks, SavedReplies, Trouble
from nightshift.core.tasks.states import DaemonState
from nightshift.core.text.from_plain import from_plain
from nightshift.core.version import VERSION
from nightshift.queue import approvals, pauses, store
from nightshift.queue.leases import SUSPECT
from nightshift.storage.db.sqlite import Connection
from nightshift.storage.db.state_store import count_saved_replies, read_state, unread

INBOX_NOTICES = "inbox_notices"
"""State key: the faults that hold up entries of `tasks.yaml`."""
INBOX_TASKS = "inbox_tasks"
"""State key: the ids of the tasks that the entries of `tasks.yaml` made."""
FORGES = "forges"
"""State key: the last state of the connections to forges."""
FIRST_PARKED = 5


def inbox_notices(conn: Connection) -> tuple[str, ...]:
    """Read the notices on entries of `tasks.yaml` that were held up when the daemon last read the file."""
    return tuple(read_state(conn, INBOX_NOTICES) or ())


def read_stored_status(conn: Connection, now: datetime, saved: SavedReplies | None = None) -> DaemonStatus:
    """Read the status of a stopped daemon; a running one adds what only it has, such as `saved`."""
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
        forges=tuple(from_plain(ForgeStatus, each) for each in read_state(conn, FORGES) or ()),
    )


def count_parked(conn: Connection) -> ParkedTasks:
    """Count the tasks that wait within an attempt for a model or a budget, and name the first ones."""
    ids = store.list_parked_ids(conn, SUSPECT)
    return ParkedTasks(count=len(ids), first=tuple(ids[:FIRST_PARKED]))
