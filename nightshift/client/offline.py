"""The API in this process, for a home whose daemon is down: the server's own application over the home's database.

Reading opens the database read-only and creates nothing. Writing goes through the same queue manager as in the daemon,
so tasks wait in the queue until it starts; several processes may write, each through its own `Database`. The status
needs no application: it is what the API would answer, from the same function.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from nightshift.client.connection import ANSWER_WALL_S, Connection, Reply, Request
from nightshift.core.clock import utc_now
from nightshift.core.errors import StoreError
from nightshift.core.status import DaemonStatus
from nightshift.core.tasks.states import DaemonState, Status
from nightshift.core.version import VERSION
from nightshift.queue.status import inbox_notices, stored_status
from nightshift.storage.db.database import Database
from nightshift.storage.db.event_log import EventLog

if TYPE_CHECKING:
    from flask.testing import FlaskClient

    from nightshift.config.load import Settings
    from nightshift.core.code.tree import Tree
    from nightshift.git.manager import GitManager

CREATING = frozenset({"/api/task", "/api/pause", "/api/resume", "/api/checkpoint"})
"""The paths that create a database when they are posted to a home without one; all other paths need one."""
EMPTY = "no database yet: nothing was ever submitted"


class OfflineConnection(Connection):
    """Answers requests from the database of a home; for one thread.

    For a home without a database an empty one in a temporary folder answers. Errors of the store and bugs are
    raised to the caller instead of being answered with status 500, as there is no log that could have the details.

    Args:
        db_path: the database of the home.
        settings: reads those of the home; the status needs none.
        why: no daemon answers.
    """

    def __init__(self, db_path: Path, settings: Callable[[], Settings], why: str) -> None:
        super().__init__("offline", why)
        self._db_path, self._settings, self._open = db_path, settings, ExitStack()

    def status(self, wall_s: float = ANSWER_WALL_S) -> DaemonStatus:  # noqa: ARG002  # nobody is waited for
        """The daemon as a whole, as far as its database knows.

        Raises:
            StoreError: the database cannot be opened or read.
        """
        if not self._db_path.exists():
            counts = dict.fromkeys(Status, 0)
            return DaemonStatus(
                state=DaemonState.STOPPED, uptime_s=0.0, version=VERSION, queue=counts, notices=(EMPTY,)
            )
        return read_stopped_status(self._reader)

    def close(self) -> None:
        """Close the databases."""
        self._open.close()

    def _send_once(self, request: Request) -> Reply:
        path = request.path.partition("?")[0]
        if not self._db_path.exists() and path not in CREATING:
            app = self._empty
        else:
            app = self._reading if request.method == "GET" else self._writing
        answer = app.open(
            request.path,
            method=request.method,
            data=request.content,
            content_type="application/json" if request.content is not None else None,
        )
        return Reply(status=answer.status_code, content=answer.data)

    @cached_property
    def _reader(self) -> Database:
        return self._open.enter_context(Database(self._db_path, readonly=True))

    @cached_property
    def _reading(self) -> FlaskClient:
        return self._application(self._reader)

    @cached_property
    def _writing(self) -> FlaskClient:
        return self._application(self._open.enter_context(Database(self._db_path)))

    @cached_property
    def _empty(self) -> FlaskClient:
        return self._application(self._open.enter_context(Database(self._folder / "empty.sqlite")))

    @cached_property
    def _folder(self) -> Path:
        import tempfile  # noqa: PLC0415  # few requests need one

        return Path(self._open.enter_context(tempfile.TemporaryDirectory(prefix="nightshift-")))

    @cached_property
    def _git(self) -> GitManager:
        from nightshift.app.git_beside import git_beside  # noqa: PLC0415  # only a change is held against its commit

        return self._open.enter_context(git_beside(self._settings(), self._folder))

    def _tree(self, repo: str | None, commit: str) -> Tree:
        return self._git.tree(repo or str(self._settings().workspace), commit)

    def _application(self, database: Database) -> FlaskClient:
        from nightshift.client.application import application  # noqa: PLC0415  # the whole server, which the status does without
        from nightshift.server.failures import answer  # noqa: PLC0415  # as above

        app = application(database, self._settings(), lambda: read_stopped_status(database), self._tree)
        app.config["PROPAGATE_EXCEPTIONS"] = True
        app.register_error_handler(404, lambda _: answer(503, f"{self.why_offline}, and this needs it"))
        app.register_error_handler(StoreError, _raise)
        app.register_error_handler(Exception, _raise)
        return app.test_client()


def read_stopped_status(database: Database) -> DaemonStatus:
    """Read the status of a stopped daemon from the database, and as of when it holds."""
    last = EventLog(database).last(1)
    at = last[0].at if last else None
    notice = f"daemon stopped, as of {at.astimezone():%Y-%m-%d %H:%M:%S}" if at else "daemon stopped"
    conn = database.reader()
    return replace(stored_status(conn, utc_now()), notices=(notice, *inbox_notices(conn)))


def _raise(error: Exception) -> NoReturn:
    raise error
