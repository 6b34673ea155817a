"""Context of the server: the services of the daemon that its pages and its API work with."""

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
from nightshift.core.repositories import RepositoryStates
from nightshift.core.status import DaemonStatus, ModelStatus, Restart
from nightshift.core.tasks.forecast import WorkSettings
from nightshift.core.tasks.integrating import Discarded, Integrated
from nightshift.core.tasks.repository_settings import RepositoryOptions
from nightshift.core.tasks.revert import Reverted
from nightshift.core.tasks.submission import parse_spec
from nightshift.core.tasks.task import TaskSpec
from nightshift.core.text.masking import Masker
from nightshift.models.live import LiveCalls
from nightshift.queue.manager import QueueManager
from nightshift.server.reads import Reads
from nightshift.server.settings_answers import (
    ChangeIn,
    ModelTested,
    ModelTestIn,
    NoticeTestIn,
    SettingsChanged,
    SettingsShown,
)
from nightshift.storage.db.database import Database
from nightshift.storage.db.event_log import EventLog
from nightshift.storage.db.step_store import StepStore

if TYPE_CHECKING:
    from nightshift.attempt.verifying import UnderWay, Verified
    from nightshift.server.proof.page import Proof
    from nightshift.storage.db.state_store import Commit
    from nightshift.storage.memory.store import LongTermMemory

WRITE_WALL_S = 20.0
COMMIT_WALL_S = 900.0
"""How long an answer waits for what the owner does with a commit, tests included."""
CLARIFY_WAIT_S = 14_400.0

_T = TypeVar("_T")


class CommitActionsPort(Protocol):
    """Actions of the owner on commits; may be called from any thread."""

    def revert(self, task_id: int, force: bool, reapply: bool) -> Future[Reverted]:
        """Revert what a task integrated, or reapply it; fails with `NotReverted`."""
        ...

    def integrate(self, task_id: int, force: bool) -> Future[Integrated]:
        """Integrate the commit that waits on the branch of a task; fails with `BranchRefused`."""
        ...

    def discard(self, task_id: int) -> Future[Discarded]:
        """Remove the branch on which a commit of a task waits; fails with `BranchRefused`."""
        ...


class RepositorySettingsPort(Protocol):
    """Settings of repositories; may be called from any thread."""

    def list_repositories(self) -> list[str]:
        """The folders of those that are known."""
        ...

    def show(self, repo: str) -> RepositoryOptions:
        """Show the settings of a repository, by a folder in it; fails with `GitError`."""
        ...

    def change(self, repo: str, changes: Mapping[str, Any]) -> RepositoryOptions:
        """Set values, None takes one back; fails with `InvalidTask` and `GitError`."""
        ...


class VerifyingPort(Protocol):
    """Verifies commits of the ledger again, one at a time; may be called from any thread."""

    def begin(self, entry: Commit) -> None:
        """Begin; fails with `NotVerified` while another one is verified."""
        ...

    def cancel(self, entry: Commit) -> None:
        """End it; fails with `NotVerified` where it is not under way."""
        ...

    def standing(self, entry: Commit) -> tuple[UnderWay | None, Verified | None]:
        """Return the run under way, for this commit or another one, and the result of this commit's last run."""
        ...


class Busy(StoreError):
    """The database did not take the change in time; it may still do so."""


class NoDaemon:
    """Daemon of a context without one: it knows nothing, and refuses what is asked of it."""

    def __call__(self, *_: object) -> Never:
        """Refuse."""
        raise Busy("no daemon is behind this server")

    def __getattr__(self, _: str) -> NoDaemon:
        """Return a method that refuses."""
        return self

    def standing(self, _entry: Commit) -> tuple[None, None]:
        """Return no run and no result of a verification."""
        return None, None

    def list_repositories(self) -> list[str]:
        """Return no folders of repositories."""
        return []


NO_DAEMON: Any = NoDaemon()


def cannot_read(_repo: str | None, _commit: str) -> Tree:
    """Refuse to read a tree; for a context without a daemon behind it."""
    raise GitError("repositories are not read here: no daemon is behind this server")


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsPort:
    """Port to the daemon's settings; all may be called from any thread and fail with `ConfigError`."""

    show: Callable[[], SettingsShown]
    change: Callable[[ChangeIn], Future[SettingsChanged]]
    try_model: Callable[[ModelTestIn], Future[ModelTested]]
    try_notices: Callable[[NoticeTestIn], Future[Mapping[str, str]]]
    reload: Callable[[], Future[Reloaded]]


@dataclass(frozen=True, slots=True, kw_only=True)
class AppContext:
    """Services that the API and the pages work with; what only a daemon has is refused without one.

    `mask` takes secrets out of what is shown. `status` is called from several threads and reads what holds now; after
    `queue.pause` has finished it says so. `loop_lag_s` is how late the workers' loop lately was, `faults` what else is
    not well with the daemon. `reload` reads the settings again and fails with `ConfigError`. `clarify_wait_s` is how
    long a question waits before its default is assumed. `tree` gives the files of a commit (full id) of a repository
    (None: the daemon's own), and fails with `GitError`. `proof` writes that of a commit in the ledger, and fails with
    `NoEvidence` or `GitError`. `report` writes the report of a week (empty: since the last
    checkpoint) into `reports_dir` and gives its path; it fails with `ValueError` where there is no such week. `restart`
    has a worker begin anew, and fails with `UnknownWorker`. `install_extra` begins to install optional packages,
    `ensure_extra` returns when they are there. `work` has the settings that a forecast rests on. `check_models` looks
    now which models answer. `live` has what models write just now. `forge_hook` takes a webhook's headers (names in
    lower case) and body, and fails with `HookRefused`. `hub` is that of the settings, None where they name none.
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
        """Queries of the views by name."""
        return Reads(self.database, self.events)


def wait_for(write: Future[_T]) -> _T:
    """Wait until a write is on the disk.

    Raises:
        Busy: it took too long. A write that was accepted cannot be withdrawn.
    """
    try:
        return write.result(WRITE_WALL_S)
    except TimeoutError:
        raise Busy(
            "the database is busy and may still take this change: look before you send it again, or send a key"
        ) from None
