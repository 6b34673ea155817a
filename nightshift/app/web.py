"""Opens the dashboard and the API, and watches the repositories that the dashboard shows."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from nightshift.app.environments import list_environments
from nightshift.app.hub_client import hub_client
from nightshift.app.maintenance import Reporter
from nightshift.app.outlook import work_settings
from nightshift.app.services import Services
from nightshift.app.store import StoreServices
from nightshift.config.load import Settings
from nightshift.core.clock import Clock, utc_now
from nightshift.core.errors import GitError
from nightshift.core.status import DaemonStatus, ModelStatus, Restart
from nightshift.core.tasks.revisions import OurCommits, RepositoryState, RepositoryStates
from nightshift.git.manager import GitManager
from nightshift.maintenance.health import Vitals
from nightshift.server.auth.access import read_or_make_token
from nightshift.server.context import AppContext, CommitActionsPort, SettingsPort, VerifyingPort
from nightshift.server.proof.page import proof_of, subject_of
from nightshift.server.serving.host import Host, Listen
from nightshift.storage.db import repositories
from nightshift.storage.db.database import Database
from nightshift.storage.files.whole import write_whole

FRESH_S = 5.0
PATIENCE_S = 1.0
MOST = 7
"""Maximum number of the owner's repositories that are watched; `git.registry` keeps no more git processes open."""


class RepositoryWatch:
    """The states of the repositories, for `/api/git`; may be called from any thread.

    The states are read at most every few seconds, in a separate thread, because git may be slow (a large checkout or a
    sleeping disk). A caller gets the latest known states; if they are old, the caller waits a moment for new ones.

    Args:
        settings: returns the current settings.
        db: contains the repositories that tasks have used.
        git: reads the repositories.
        clock: gives the times of the states.
    """

    def __init__(self, settings: Callable[[], Settings], db: Database, git: GitManager, clock: Clock) -> None:
        self._settings, self._db, self._git, self._clock = settings, db, git, clock
        self._lock, self._stopping = threading.Lock(), threading.Event()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="repositories")
        self._newest, self._known_at = RepositoryStates(auto_push=False), float("-inf")
        self._look: Future[RepositoryStates] | None = None

    def __call__(self) -> RepositoryStates:
        """Return the states of the repositories; they are some seconds old, or older while git is slow.

        Raises:
            Exception: the last read failed with this error, which may be of any type.
        """
        with self._lock:
            if time.monotonic() - self._known_at < FRESH_S:
                return self._newest
            look = self._look
            if look is None or look.done():
                look = self._look = self._thread.submit(self._read_states)
        done, _ = wait([look], PATIENCE_S)
        return look.result() if done else self._newest

    def stop(self) -> None:
        """Stop reading; a read in progress ends after its current git command."""
        self._stopping.set()
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _read_states(self) -> RepositoryStates:
        conn, settings = self._db.reader(), self._settings()
        named, ours = repositories.list_used(conn), repositories.ours(conn)
        own = str(settings.workspace.resolve())
        begun = (settings.workspace / ".git" / "HEAD").exists()
        repository_states = [self._state(own, None, ours) if begun else _not_begun(own)]
        for repo in named[:MOST]:
            if self._stopping.is_set():
                break
            state = self._state(repo, repo, ours)
            if state.repo not in {each.repo for each in repository_states}:
                repository_states.append(state)
        states = RepositoryStates(
            auto_push=settings.git_auto_push,
            at=self._clock(),
            repositories=tuple(repository_states),
            more=max(0, len(named) - MOST),
        )
        with self._lock:
            self._newest, self._known_at = states, time.monotonic()
        return states

    def _state(self, repo: str, where: str | None, ours: dict[str, OurCommits]) -> RepositoryState:
        try:
            status = self._git.statuses.read(where)
        except (GitError, OSError) as error:
            our_commits = ours.get(repo) or OurCommits(repo=repo)
            return RepositoryState(repo=repo, is_own=where is None, ours=our_commits, error=str(error))
        our_commits = ours.get(status.root) or OurCommits(repo=status.root)
        return RepositoryState(repo=status.root, is_own=where is None, ours=our_commits, status=status)


def _not_begun(own: str) -> RepositoryState:
    """Return the state of a workspace that does not exist yet.

    The workspace is not read, because reading would create it. Only the first task may create it.
    """
    return RepositoryState(repo=own, is_own=True, ours=OurCommits(repo=own))


@dataclass(frozen=True, slots=True, kw_only=True)
class Actions:
    """Actions that the server's threads start on the workers' event loop; see `AppContext`."""

    commit_actions: CommitActionsPort
    restart: Callable[[str], Future[Restart]]
    check_models: Callable[[], Future[Sequence[ModelStatus]]]
    verifying: VerifyingPort
    forge_hook: Callable[[Mapping[str, str], bytes], Sequence[str]]


def open_web(
    settings: Callable[[], Settings],
    store: StoreServices,
    status: Callable[[], DaemonStatus],
    vitals: Vitals,
    actions: Actions,
    settings_port: SettingsPort,
    services: Services,
    stack: ExitStack,
) -> Host:
    """Start the server, and write its port to a file for other processes on this machine; `stack` stops the server.

    `settings` returns the current settings.

    Raises:
        ConfigError: the address cannot be used.
    """
    repositories = RepositoryWatch(settings, store.db, services.git, utc_now)
    stack.callback(repositories.stop)
    hub = hub_client(settings(), store.state)
    if hub:
        stack.callback(hub.close)
    context = AppContext(
        database=store.db,
        queue=store.queue,
        events=store.events,
        mask=store.mask,
        steps=store.steps,
        status=status,
        loop_lag_s=lambda: vitals.lag_s,
        faults=vitals.faults,
        commit_actions=actions.commit_actions,
        restart=actions.restart,
        reload=settings_port.reload,
        settings=settings_port,
        clarify_wait_s=lambda: settings().clarify_wait_s,
        tree=services.git.tree,
        proof=lambda entry: proof_of(services.git, subject_of(store.queue, entry), store.mask),
        verifying=actions.verifying,
        forge_hook=actions.forge_hook,
        memory=lambda: services.memory,
        reports_dir=lambda: settings().reports_dir,
        report=Reporter(settings, store, utc_now).of_week,
        repositories=repositories,
        repository_settings=services.repository_settings,
        environments=lambda: list_environments(settings()),
        check_models=actions.check_models,
        live=services.models.live,
        install_extra=services.extras.install,
        work=lambda: work_settings(settings()),
        ensure_extra=services.extras.ensure,
        hub=hub,
    )
    return _start(_host(settings(), context), settings().port_file, stack)


def _start(host: Host, port_file: Path, stack: ExitStack) -> Host:
    host.start()
    stack.callback(host.stop)
    write_whole(port_file, f"{host.port}\n")
    stack.callback(port_file.unlink, missing_ok=True)
    return host


def entrance(settings: Settings) -> str:
    """Return a sentence that says which token visitors need; empty if they need none."""
    if settings.api_token:
        return "Dashboard and API ask for the token that is set as API_TOKEN."
    if settings.sandbox == "process":
        return f"Dashboard and API ask for a token, because the sandbox isolates nothing: see {settings.token_file}"
    return ""


def _host(settings: Settings, context: AppContext) -> Host:
    """Make the host of the server.

    With the weakest sandbox the host requires a token, because the code of a task could reach this API. The token is
    stored in a file that only the owner can read.
    """
    exposed = settings.sandbox == "process"
    token = settings.api_token.get_secret_value() if settings.api_token else None
    if exposed and token is None:
        token = read_or_make_token(settings.token_file)
    listen = Listen(
        address=settings.flask_host,
        port=settings.flask_port,
        names=tuple(settings.dashboard_names),
        page=settings.dashboard_url,
        token=token,
        exposed=exposed,
    )
    return Host(context, listen)
