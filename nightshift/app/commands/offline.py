"""Answers API requests in this process when the daemon is down: the server's own application on the home's database.

Reading opens the database read-only and creates nothing. Writing uses the same queue manager as the daemon, and new
tasks wait in the queue until the daemon starts. Several processes may write, each through its own `Database`. The
status is built without the server's application, by a function that the application calls too.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TypeVar

from nightshift.client.connection import ANSWER_WALL_S, Answer, Connection, Reply, Request
from nightshift.client.session import Session
from nightshift.core.clock import utc_now
from nightshift.core.errors import StoreError
from nightshift.core.status import DaemonStatus
from nightshift.core.tasks.commit_message import Discarded, Integrated, Reverted
from nightshift.core.tasks.states import DaemonState, Status
from nightshift.core.version import VERSION
from nightshift.queue.status import inbox_notices, read_stored_status
from nightshift.storage.db.codec import encode
from nightshift.storage.db.database import Database
from nightshift.storage.db.event_log import EventLog

if TYPE_CHECKING:
    from flask import Flask
    from flask.testing import FlaskClient

    from nightshift.attempt.revert import CommitServices
    from nightshift.config.load import Settings
    from nightshift.core.code.tree import Tree
    from nightshift.core.tasks.task import Language, TaskSpec
    from nightshift.git.manager import GitManager

CREATING = frozenset({"/api/task", "/api/pause", "/api/resume", "/api/checkpoint"})
"""Paths whose POST creates the database if the home has none; all other paths need an existing database."""
EMPTY = "no database yet: no task was ever added"
T = TypeVar("T")


class OfflineConnection(Connection):
    """Answers requests from the database of a home; for use in one thread.

    A home without a database is served from an empty database in a temporary folder. Errors of the store and bugs are
    raised to the caller and not answered with status 500, because no log would contain the details.

    Args:
        session: the session of the home; requests other than the status read its settings.
        why: the reason why no daemon answers.
    """

    def __init__(self, session: Session, why: str) -> None:
        super().__init__("offline", why)
        self._session, self._db_path, self._open = session, session.access.places.db_path, ExitStack()

    def status(self, wall_s: float = ANSWER_WALL_S) -> Answer:  # noqa: ARG002  # nobody is waited for
        """Return the parts of the daemon's status that its database contains.

        Raises:
            StoreError: the database cannot be opened or read.
        """
        if self._db_path.exists():
            status = read_stopped_status(self._reader)
        else:
            counts = dict.fromkeys(Status, 0)
            status = DaemonStatus(
                state=DaemonState.STOPPED, uptime_s=0.0, version=VERSION, queue=counts, notices=(EMPTY,)
            )
        answer: Answer = json.loads(encode(status), object_hook=Answer)
        return answer

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
        return Path(self._open.enter_context(tempfile.TemporaryDirectory(prefix="nightshift-")))

    @cached_property
    def _git(self) -> GitManager:
        from nightshift.app.git_beside import git_beside  # noqa: PLC0415  # only a change is held against its commit

        return self._open.enter_context(git_beside(self._session.settings, self._folder))

    def _tree(self, repo: str | None, commit: str) -> Tree:
        return self._git.tree(repo or str(self._session.settings.workspace), commit)

    def _application(self, database: Database) -> FlaskClient:
        from nightshift.server.failures import answer  # noqa: PLC0415  # the whole server, which the status does without

        app = make_application(database, self._session.settings, self._tree)
        app.config["PROPAGATE_EXCEPTIONS"] = True
        app.register_error_handler(404, lambda _: answer(503, f"{self.why_offline}, and this command needs it"))
        app.register_error_handler(StoreError, _raise)
        app.register_error_handler(Exception, _raise)
        return app.test_client()


def make_application(database: Database, settings: Settings, tree: Callable[[str | None, str], Tree]) -> Flask:
    """Make the API over a database without a daemon, limited to the modules that the command line uses.

    Args:
        database: the database, which the caller closes.
        settings: the settings of the database's home.
        tree: opens a commit, see `AppContext`.
    """
    from nightshift.app.environments import list_environments  # noqa: PLC0415  # the whole server, as above
    from nightshift.app.submission import choose_language_here  # noqa: PLC0415  # as above
    from nightshift.core.text.masking import Masker  # noqa: PLC0415  # as above
    from nightshift.queue.manager import QueueManager  # noqa: PLC0415  # as above
    from nightshift.server.app import create_api  # noqa: PLC0415  # as above
    from nightshift.server.context import AppContext  # noqa: PLC0415  # as above
    from nightshift.server.routes import (  # noqa: PLC0415  # as above
        approvals,
        brief,
        bulk,
        causes,
        commits,
        environments,
        logs,
        running,
        steering,
        tasks,
        timeline,
    )
    from nightshift.storage.db.step_store import StepStore  # noqa: PLC0415  # as above

    def choose_language(spec: TaskSpec) -> Language:
        return choose_language_here(spec, settings)

    mask = Masker(settings.secrets)
    events = EventLog(database, mask=mask)
    queue = QueueManager(database, events, mask=mask, check_new=lambda spec: _check(spec, settings, database))
    queue.choose_language = choose_language
    context = AppContext(
        database=database,
        queue=queue,
        events=events,
        mask=mask,
        steps=StepStore(database, events, mask=mask),
        status=lambda: read_stopped_status(database),
        clarify_wait_s=lambda: settings.clarify_wait_s,
        environments=lambda: list_environments(settings),
        tree=tree,
        commit_actions=_CommitActions(settings),
    )
    # Importing the whole API would take a tenth of a second longer.
    modules = (tasks, bulk, timeline, approvals, brief, causes, commits, environments, running, steering, logs)
    return create_api(context, [endpoint for module in modules for endpoint in module.routes.endpoints])


class _CommitActions:
    """Runs actions on commits in this process; each method returns only when its action is finished."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def revert(self, task_id: int, force: bool, reapply: bool) -> Future[Reverted]:
        from nightshift.attempt.revert import Reverter  # noqa: PLC0415  # few requests need it

        return self._run(task_id, lambda services: Reverter(services).revert(task_id, force=force, reapply=reapply))

    def integrate(self, task_id: int, force: bool) -> Future[Integrated]:
        from nightshift.attempt.branch_integration import BranchIntegrator  # noqa: PLC0415  # as above

        return self._run(task_id, lambda services: BranchIntegrator(services).integrate(task_id, force=force))

    def discard(self, task_id: int) -> Future[Discarded]:
        from nightshift.attempt.branch_integration import BranchIntegrator  # noqa: PLC0415  # as above

        return self._run(task_id, lambda services: BranchIntegrator(services).discard(task_id))

    def _run(self, task_id: int, act: Callable[[CommitServices], Awaitable[T]]) -> Future[T]:
        import asyncio  # noqa: PLC0415  # what the status does without

        from nightshift.app.commit_actions import services_alone  # noqa: PLC0415  # few requests need it

        async def run() -> T:
            async with services_alone(task_id, self._settings) as services:
                return await act(services)

        done = Future[T]()
        done.set_result(asyncio.run(run()))
        return done


def _check(spec: TaskSpec, settings: Settings, database: Database) -> None:
    from nightshift.app.repository_settings import kept_for  # noqa: PLC0415  # only a new task is held against the machine
    from nightshift.app.submission import machine_check  # noqa: PLC0415  # as above

    machine_check(settings)(kept_for(spec, database, settings).apply_to(spec))


def read_stopped_status(database: Database) -> DaemonStatus:
    """Read the status of a stopped daemon from the database; a notice gives the time of its last event."""
    last = EventLog(database).last(1)
    at = last[0].at if last else None
    notice = f"daemon stopped, as of {at.astimezone():%Y-%m-%d %H:%M:%S}" if at else "daemon stopped"
    conn = database.reader()
    return replace(read_stored_status(conn, utc_now()), notices=(notice, *inbox_notices(conn)))


def _raise(error: Exception) -> NoReturn:
    raise error
