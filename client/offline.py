"""The API in this process, for a home whose daemon is down: the server's own application over the home's database.

Reading opens the database read-only and creates nothing. Writing goes through the same queue manager as in the daemon,
so tasks wait in the queue until it starts; several processes may write, each through its own `Database`.
"""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import NoReturn

import httpx

from config import Settings
from core.errors import StoreError
from core.masking import Masker
from core.states import DaemonState, Status
from core.status import DaemonStatus
from core.version import VERSION
from db.database import Database
from db.event_log import EventLog
from db.state_store import StateStore
from db.step_store import StepStore
from queue_manager import QueueManager
from server.app import create_api
from server.context import AppContext
from server.routes import approvals, commits, logs, running, steering, tasks, timeline

ENDPOINTS = (
    *tasks.routes.endpoints,
    *timeline.routes.endpoints,
    *approvals.routes.endpoints,
    *commits.routes.endpoints,
    *running.routes.endpoints,
    *steering.routes.endpoints,
    *logs.routes.endpoints,
)
"""The part of the API that the command line uses; all of it would take a tenth of a second longer to import."""
CREATING = frozenset({"/api/task", "/api/pause", "/api/resume", "/api/checkpoint"})
"""What may be posted to a home without a database and makes one; everything else is about what is already there."""


class OfflineTransport(httpx.BaseTransport):
    """Answers requests from the database of a home; for one thread.

    For a home without a database an empty one in a temporary folder answers. Errors of the store and bugs are
    raised to the caller instead of being answered with status 500, as there is no log that could have the details.

    Args:
        settings: of the home.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings, self._open = settings, ExitStack()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Answer one request.

        Raises:
            StoreError: the database cannot be opened, read or written.
        """
        if not self._settings.db_path.exists() and request.url.path not in CREATING:
            app = self._empty
        else:
            app = self._reading if request.method == "GET" else self._writing
        return app.handle_request(request)

    def close(self) -> None:
        """Close the databases."""
        self._open.close()

    @cached_property
    def _reading(self) -> httpx.WSGITransport:
        return self._application(Database(self._settings.db_path, readonly=True))

    @cached_property
    def _writing(self) -> httpx.WSGITransport:
        return self._application(Database(self._settings.db_path))

    @cached_property
    def _empty(self) -> httpx.WSGITransport:
        folder = Path(self._open.enter_context(tempfile.TemporaryDirectory(prefix="nightshift-")))
        return self._application(Database(folder / "empty.sqlite"), "no database yet: nothing was ever submitted")

    def _application(self, database: Database, notice: str = "") -> httpx.WSGITransport:
        self._open.enter_context(database)
        app = create_api(_context(database, self._settings, notice), ENDPOINTS)
        app.config["PROPAGATE_EXCEPTIONS"] = True
        app.register_error_handler(StoreError, _raised)
        app.register_error_handler(Exception, _raised)
        return httpx.WSGITransport(app)


def _context(database: Database, settings: Settings, notice: str) -> AppContext:
    """What the application works on where no daemon is behind it: the database alone."""
    mask = Masker(settings.secrets)
    events = EventLog(database, mask=mask)
    queue = QueueManager(database, events, mask=mask)

    def status() -> DaemonStatus:
        counts, state = queue.counts(), StateStore(database)
        return DaemonStatus(
            state=DaemonState.STOPPED,
            uptime_s=0.0,
            version=VERSION,
            queue={status: counts.get(status, 0) for status in Status},
            notices=(notice or _last_event(events),),
            approvals=queue.open_approvals(),
            saved=state.saved_replies(),
            holds=queue.pause_state().reasons,
            unread=state.unread_count(),
        )

    return AppContext(
        database=database,
        queue=queue,
        events=events,
        mask=mask,
        steps=StepStore(database, events, mask=mask),
        status=status,
        clarify_wait_s=lambda: settings.clarify_wait_s,
    )


def _last_event(events: EventLog) -> str:
    last = events.last(1)
    return f"daemon stopped, as of {last[0].at:%Y-%m-%d %H:%M:%S} UTC" if last else "daemon stopped"


def _raised(error: Exception) -> NoReturn:
    raise error
