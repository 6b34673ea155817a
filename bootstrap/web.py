"""Opens the dashboard and the API."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from bootstrap.reporting import Reporter
from bootstrap.repository_watch import RepositoryWatch
from bootstrap.services import Rooms
from bootstrap.store import Store
from config import Settings
from core.clock import utc_now
from core.status import DaemonStatus, Restart
from core.undo import Reverted
from files.whole import write_whole
from maintenance.health import Vitals
from server.desk import Desk
from server.gate.access import kept_token
from server.serving.host import Host, Listen
from server.settings_door import SettingsDoor


@dataclass(frozen=True, slots=True, kw_only=True)
class Acts:
    """What the server's threads have done on the workers' loop; see `Desk`."""

    revert: Callable[[int, bool, bool], Future[Reverted]]
    restart: Callable[[str], Future[Restart]]


def open_web(
    settings: Callable[[], Settings],
    store: Store,
    status: Callable[[], DaemonStatus],
    vitals: Vitals,
    acts: Acts,
    door: SettingsDoor,
    rooms: Rooms,
    stack: ExitStack,
) -> Host:
    """Start the server and note its port for others on this machine; `stack` stops it.

    `settings` gives those that hold when it is called.

    Raises:
        ConfigError: the address cannot be used.
    """
    repositories = RepositoryWatch(settings, store.db, rooms.git, utc_now)
    stack.callback(repositories.stop)
    desk = Desk(
        database=store.db,
        queue=store.queue,
        events=store.events,
        mask=store.mask,
        steps=store.steps,
        status=status,
        loop_lag_s=lambda: vitals.lag_s,
        faults=vitals.faults,
        revert=acts.revert,
        restart=acts.restart,
        reload=door.reload,
        settings=door,
        clarify_wait_s=lambda: settings().clarify_wait_s,
        tree=rooms.git.tree,
        memory=lambda: rooms.memory,
        reports_dir=lambda: settings().reports_dir,
        report=Reporter(settings, store, utc_now).of_week,
        repositories=repositories,
    )
    return _started(_host(settings(), desk), settings().port_file, stack)


def _started(host: Host, port_file: Path, stack: ExitStack) -> Host:
    host.start()
    stack.callback(host.stop)
    write_whole(port_file, f"{host.port}\n")
    stack.callback(port_file.unlink, missing_ok=True)
    return host


def entrance(settings: Settings) -> str:
    """What visitors are asked for, in a sentence for the owner; empty where nothing is."""
    if settings.api_token:
        return "Dashboard and API ask for the token that is set as API_TOKEN."
    if settings.sandbox == "process":
        return f"Dashboard and API ask for a token, because the sandbox isolates nothing: see {settings.token_file}"
    return ""


def _host(settings: Settings, desk: Desk) -> Host:
    """With the weakest sandbox the code of a task could reach this API, so it takes a token then.

    It is kept in a file that only the owner can read.
    """
    exposed = settings.sandbox == "process"
    token = settings.api_token.get_secret_value() if settings.api_token else None
    if exposed and token is None:
        token = kept_token(settings.token_file)
    return Host(desk, Listen(address=settings.flask_host, port=settings.flask_port, token=token, exposed=exposed))
