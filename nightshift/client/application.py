"""The server's application over a database alone, with the part of the API that the command line uses."""

from __future__ import annotations

from collections.abc import Callable

from flask import Flask

from nightshift.config.load import Settings
from nightshift.core.code.environments import MadeEnvironment
from nightshift.core.code.tree import Tree
from nightshift.core.status import DaemonStatus
from nightshift.core.tasks.task import Language, TaskSpec
from nightshift.core.text.masking import Masker
from nightshift.queue.manager import QueueManager
from nightshift.server.app import create_api
from nightshift.server.context import AppContext, cannot_read
from nightshift.server.routes import approvals, brief, commits, environments, logs, running, steering, tasks, timeline
from nightshift.storage.db.database import Database
from nightshift.storage.db.event_log import EventLog
from nightshift.storage.db.step_store import StepStore

ENDPOINTS = (
    *tasks.routes.endpoints,
    *timeline.routes.endpoints,
    *approvals.routes.endpoints,
    *brief.routes.endpoints,
    *commits.routes.endpoints,
    *environments.routes.endpoints,
    *running.routes.endpoints,
    *steering.routes.endpoints,
    *logs.routes.endpoints,
)
"""All of the API would take a tenth of a second longer to import."""


def application(
    database: Database,
    settings: Settings,
    status: Callable[[], DaemonStatus],
    tree: Callable[[str | None, str], Tree] = cannot_read,
) -> Flask:
    """The API on a database that no daemon is behind.

    Args:
        database: closed by the caller.
        settings: of its home.
        status: of the daemon.
        tree: opens a commit, as `AppContext` says.
    """
    mask = Masker(settings.secrets)
    events = EventLog(database, mask=mask)
    queue = QueueManager(database, events, mask=mask, check_new=lambda spec: _check(spec, settings, database))
    queue.choose_language = lambda spec: _choose_language(spec, settings)
    context = AppContext(
        database=database,
        queue=queue,
        events=events,
        mask=mask,
        steps=StepStore(database, events, mask=mask),
        status=status,
        clarify_wait_s=lambda: settings.clarify_wait_s,
        environments=lambda: _environments(settings),
        tree=tree,
    )
    return create_api(context, ENDPOINTS)


def _environments(settings: Settings) -> list[MadeEnvironment]:
    from nightshift.app.environments import made_environments  # noqa: PLC0415  # only who asks for them waits for that

    return made_environments(settings)


def _choose_language(spec: TaskSpec, settings: Settings) -> Language:
    from nightshift.app.submission import choose_language_here  # noqa: PLC0415  # only a new task waits for it

    return choose_language_here(spec, settings)


def _check(spec: TaskSpec, settings: Settings, database: Database) -> None:
    from nightshift.app.repository_settings import kept_for  # noqa: PLC0415  # only a new task is held against the machine
    from nightshift.app.submission import machine_check  # noqa: PLC0415  # as above

    machine_check(settings)(kept_for(spec, database, settings).applied(spec))
