"""Parts of the daemon's status that the database alone knows, whether a daemon runs or not."""

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
"""Under which key of the state the daemon keeps what holds entries of `tasks.yaml` up."""
INBOX_TASKS = "inbox_tasks"
"""Under which key it keeps the ids of the tasks that its entries made."""
FORGES = "forges"
"""Under which key it keeps how the connections to forges stood."""
FIRST_PARKED = 5


def inbox_notices(conn: Connection) -> tuple[str, ...]:
    """Read the notices on what held entries of `tasks.yaml` up when the daemon last read the file."""
    return tuple(read_state(conn, INBOX_NOTICES) or ())


def read_stored_status(conn: Connection, now: datetime, saved: SavedReplies | None = None) -> DaemonStatus:
    """The status of a daemon that does not run; one that does adds what else it knows, `saved` among it."""
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
    """Count the tasks that wait in the midst of an attempt for a model or a budget, and name the first."""
    ids = store.list_parked_ids(conn, SUSPECT)
    return ParkedTasks(count=len(ids), first=tuple(ids[:FIRST_PARKED]))
