"""Defines the context of the server: the daemon's services that the pages and the API use."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Never, Protocol, TypeVar

from nightshift.config.reloaded import Reloaded
from nightshift.core.clock import Clock, utc_now
from nightshift.core.code.environments import MadeEnvironment
from nightshift.core.code.tree import Tree
from nightshift.core.errors import GitError, StoreError
from nightshift.core.hub import Hub
from nightshift.core.status import DaemonStatus, ModelStatus, Restart
from nightshift.core.tasks.commit_message import Discarded, Integrated, Reverted
from nightshift.core.tasks.forecast import WorkSettings
from nightshift.core.tasks.repository_settings import RepositoryOptions
from nightshift.core.tasks.revisions import RepositoryStates
from nightshift.core.tasks.submission import parse_spec
from nightshift.core.tasks.task import TaskSpec
from nightshift.core.text.masking import Masker
from nightshift.models.live import LiveCalls
from nightshift.queue.manager import QueueManager
from nightshift.server.reads import Reads
from nightshift.storage.db.database import Database
from nightshift.storage.db.event_log import EventLog
from nightshift.storage.db.step_store import StepStore

if TYPE_CHECKING:
    from nightshift.attempt.verifying import UnderWay, Verified
    from nightshift.server.proof.page import Proof
    from nightshift.server.settings_answers import (
        ChangeIn,
        ModelTested,
        ModelTestIn,
        NoticeTestIn,
        SettingsChanged,
        SettingsShown,
    )
    from nightshift.storage.db.state_store import Commit
    from nightshift.storage.memory.store import LongTermMemory

WRITE_WALL_S = 20.0
COMMIT_WALL_S = 900.0
"""Seconds a request waits for the owner's action on a commit. Long, because the action may include a test run."""
CLARIFY_WAIT_S = 14_400.0

_T = TypeVar("_T")


class CommitActionsPort(Protocol):
    """The owner's actions on commits; safe to call from any thread."""

    def revert(self, task_id: int, force: bool, reapply: bool) -> Future[Reverted]:
        """Revert the commits that a task integrated, or with `reapply` apply them again.

        The future fails with `NotReverted`.
        """
        ...

    def integrate(self, task_id: int, force: bool) -> Future[Integrated]:
        """Integrate the commit that waits on the task's branch; the future fails with `BranchRefused`."""
        ...

    def discard(self, task_id: int) -> Future[Discarded]:
        """Remove the branch on which a commit of the task waits; the future fails with `BranchRefused`."""
        ...


class RepositorySettingsPort(Protocol):
    """Access to the settings of repositories; safe to call from any thread."""

    def list_repositories(self) -> list[str]:
        """List the folders of the known repositories."""
        ...

    def show(self, repo: str) -> RepositoryOptions:
        """Return the settings of the repository that contains the folder `repo`; fails with `GitError`."""
        ...

    def change(self, repo: str, changes: Mapping[str, Any]) -> RepositoryOptions:
        """Change settings of a repository and return them all. The value None resets a setting.

        Fails with `InvalidTask` and `GitError`.
        """
        ...


class VerifyingPort(Protocol):
    """Runs verifications of commits in the ledger, one at a time; safe to call from any thread."""

    def begin(self, entry: Commit) -> None:
        """Start to verify a commit; fails with `NotVerified` while another verification is running."""
        ...

    def cancel(self, entry: Commit) -> None:
        """Cancel the verification of this commit; fails with `NotVerified` if this commit is not being verified."""
        ...

    def standing(self, entry: Commit) -> tuple[UnderWay | None, Verified | None]:
        """Return the running verification and the last result.

        Returns:
            The verification that is running, which may be of another commit, and the result of the last verification of
            this commit. Each is None if there is none.
        """
        ...


class Busy(StoreError):
    """Something was not done within the timeout, but may still be done."""


class NoDaemon:
    """Stand-in for a daemon's services in a context without a daemon. It holds no data and refuses every action."""

    def __call__(self, *_: object) -> Never:
        """Refuse the call by raising `Busy`."""
        raise Busy("this server runs without a daemon")

    def __getattr__(self, _: str) -> NoDaemon:
        """Return this stand-in for any attribute, so that calling the attribute is refused."""
        return self

    def standing(self, _entry: Commit) -> tuple[None, None]:
        """Return that no verification is running and that no result exists."""
        return None, None

    def list_repositories(self) -> list[str]:
        """Return an empty list, because without a daemon no repository is known."""
        return []


NO_DAEMON: Any = NoDaemon()


def cannot_read(_repo: str | None, _commit: str) -> Tree:
    """Refuse to read the files of a commit. This is the default in a context without a daemon."""
    raise GitError("repositories cannot be read: this server runs without a daemon")


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsPort:
    """Access to the daemon's settings. All functions are safe to call from any thread and fail with `ConfigError`."""

    show: Callable[[], SettingsShown]
    change: Callable[[ChangeIn], Future[SettingsChanged]]
    try_model: Callable[[ModelTestIn], Future[ModelTested]]
    try_notices: Callable[[NoticeTestIn], Future[Mapping[str, str]]]
    reload: Callable[[], Future[Reloaded]]


@dataclass(frozen=True, slots=True, kw_only=True)
class AppContext:
    """Services that the API and the pages use. Without a daemon, the services that need one refuse every call.

    Attributes:
        mask: removes secrets from all texts that are shown.
        status: returns the current status; called from several threads. A pause is included as soon as `queue.pause`
            has finished.
        loop_lag_s: seconds by which the workers' event loop was late recently.
        faults: returns problems of the daemon that the status does not contain.
        reload: reads the settings again; fails with `ConfigError`.
        clarify_wait_s: seconds a question waits before its default is assumed.
        tree: returns the files of a commit, given the repository (None: the daemon's own) and the commit's full id;
            fails with `GitError`.
        proof: builds the proof of a commit in the ledger; fails with `NoEvidence` or `GitError`.
        report: writes the report of a week (empty: since the last checkpoint) into `reports_dir` and returns its path;
            fails with `ValueError` if there is no such week.
        restart: restarts a worker; fails with `UnknownWorker`.
        install_extra: starts to install optional packages and returns at once.
        ensure_extra: returns when optional packages are installed.
        work: returns the settings that a forecast depends on.
        check_models: checks now which models answer.
        live: holds the texts that models are writing at the moment.
        forge_hook: accepts a webhook's headers (names in lower case) and body; fails with `HookRefused`.
        hub: the hub that the settings name, None if they name no hub.
    """

    database: Database
    queue: QueueManager
    events: EventLog
    mask: Masker
    steps: StepStore
    status: Callable[[], DaemonStatus]
    read_task: Callable[[object], TaskSpec] = parse_spec
    loop_lag_s: Callable[[], float] | None = None
    faults: Callable[[], Sequence[str]] = tuple
    commit_actions: CommitActionsPort = NO_DAEMON
    reload: Callable[[], Future[Reloaded]] = NO_DAEMON
    clarify_wait_s: Callable[[], float] = lambda: CLARIFY_WAIT_S
    tree: Callable[[str | None, str], Tree] = cannot_read
    proof: Callable[[Commit], Proof] = NO_DAEMON
    verifying: VerifyingPort = NO_DAEMON
    memory: Callable[[], LongTermMemory] = NO_DAEMON
    reports_dir: Callable[[], Path] = NO_DAEMON
    report: Callable[[str], Path] = NO_DAEMON
    settings: SettingsPort = NO_DAEMON
    restart: Callable[[str], Future[Restart]] = NO_DAEMON
    repositories: Callable[[], RepositoryStates] = lambda: RepositoryStates(auto_push=False)
    environments: Callable[[], Sequence[MadeEnvironment]] = tuple
    repository_settings: RepositorySettingsPort = NO_DAEMON
    metrics: Callable[[], bytes] = NO_DAEMON
    install_extra: Callable[[str], None] = NO_DAEMON
    ensure_extra: Callable[[str], None] = NO_DAEMON
    work: Callable[[], WorkSettings] = WorkSettings
    check_models: Callable[[], Future[Sequence[ModelStatus]]] = NO_DAEMON
    live: LiveCalls = field(default_factory=LiveCalls)
    forge_hook: Callable[[Mapping[str, str], bytes], Sequence[str]] = NO_DAEMON
    hub: Hub | None = None
    clock: Clock = utc_now

    @property
    def reads(self) -> Reads:
        """The named database queries that the views use."""
        return Reads(self.database, self.events)


def wait_for(
    work: Future[_T],
    wall_s: float = WRITE_WALL_S,
    late: str = "the database is busy and may still apply this change: check before you send it again, or send a key",
) -> _T:
    """Wait until something is done, by default a write to the disk, and return its result.

    Raises:
        Busy: it took too long; `late` is the message. It cannot be withdrawn, so it may still happen.
    """
    try:
        return work.result(wall_s)
    except TimeoutError:
        raise Busy(late) from None
