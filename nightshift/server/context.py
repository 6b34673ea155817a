"""Context of the server: the services of the daemon that its pages and its API work with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from nightshift.config.reloaded import Reloaded
from nightshift.core.clock import Clock, utc_now
from nightshift.core.code.environments import MadeEnvironment
from nightshift.core.code.tree import Tree
from nightshift.core.errors import (
    BranchRefused,
    ConfigError,
    ExtraMissing,
    GitError,
    HookRefused,
    NotReverted,
    NotVerified,
    StoreError,
)
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
from nightshift.server.hub_port import HubPort
from nightshift.server.settings_port import CLOSED, SettingsPort
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


def cannot_reload() -> Future[Reloaded]:
    """Refuse to reload; for a context without a daemon behind it."""
    raise ConfigError(["nothing can be reloaded here: no daemon is behind this server"])


def cannot_read(_repo: str | None, _commit: str) -> Tree:
    """Refuse to read a tree; for a context without a daemon behind it."""
    raise GitError("repositories are not read here: no daemon is behind this server")


def cannot_prove(_entry: Commit) -> Proof:
    """Refuse to prove a commit; for a context without a daemon behind it."""
    raise GitError("repositories are not read here: no daemon is behind this server")


def cannot_restart(_name: str) -> Future[Restart]:
    """Refuse to restart a worker; for a context without a daemon behind it."""
    raise Busy("no worker runs here: no daemon is behind this server")


def cannot_install(_name: str) -> None:
    """Refuse to install an extra; for a context without a daemon behind it."""
    raise ExtraMissing("nothing is installed here: no daemon is behind this server")


def cannot_check() -> Future[Sequence[ModelStatus]]:
    """Refuse to check the models; for a context without a daemon behind it."""
    raise Busy("no model is asked here: no daemon is behind this server")


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


class NoCommitActions:
    """Commit actions of a context without a daemon behind it."""

    def revert(self, task_id: int, _force: bool, _reapply: bool) -> Future[Reverted]:
        """Refuse."""
        raise NotReverted(f"task {task_id} cannot be reverted here: no daemon is behind this server")

    def integrate(self, task_id: int, _force: bool) -> Future[Integrated]:
        """Refuse."""
        raise BranchRefused(f"task {task_id} cannot be integrated here: no daemon is behind this server")

    def discard(self, task_id: int) -> Future[Discarded]:
        """Refuse."""
        raise BranchRefused(f"task {task_id} cannot be discarded here: no daemon is behind this server")


NO_COMMIT_ACTIONS = NoCommitActions()


class RepositorySettingsPort(Protocol):
    """Settings of repositories; may be called from any thread."""

    def known(self) -> list[str]:
        """The folders of those that are known."""
        ...

    def show(self, repo: str) -> RepositoryOptions:
        """Show the settings of a repository, by a folder in it; fails with `GitError`."""
        ...

    def change(self, repo: str, changes: Mapping[str, Any]) -> RepositoryOptions:
        """Set values, None takes one back; fails with `InvalidTask` and `GitError`."""
        ...


class NoRepositorySettings:
    """Repository settings of a context without a daemon behind it."""

    def known(self) -> list[str]:
        """Return no folders."""
        return []

    def show(self, repo: str) -> RepositoryOptions:
        """Refuse."""
        raise GitError(f"{repo}: repositories are not read here: no daemon is behind this server")

    def change(self, repo: str, changes: Mapping[str, Any]) -> RepositoryOptions:
        """Refuse."""
        raise GitError(f"{repo}: {', '.join(changes)} cannot be set here: no daemon is behind this server")


NO_REPOSITORY_SETTINGS = NoRepositorySettings()


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


class NoVerifying:
    """Verification of a context without a daemon behind it."""

    def begin(self, entry: Commit) -> None:
        """Refuse."""
        raise NotVerified(f"commit {entry.commit[:10]} cannot be verified here: no daemon is behind this server")

    def cancel(self, entry: Commit) -> None:
        """Refuse."""
        raise NotVerified(f"commit {entry.commit[:10]} is not being verified: no daemon is behind this server")

    def standing(self, _entry: Commit) -> tuple[None, None]:
        """Return no run and no result."""
        return None, None


NO_VERIFYING = NoVerifying()


def no_hooks(_headers: Mapping[str, str], _body: bytes) -> Sequence[str]:
    """Refuse a webhook; for a context without a daemon behind it."""
    raise HookRefused("no webhook is taken here: no daemon is behind this server")


def no_metrics() -> bytes:
    """Refuse metrics; for a context without a server before it."""
    raise Busy("nothing is measured here: no server runs")


def no_memory() -> LongTermMemory:
    """Refuse access to the memory; for a context without a daemon behind it."""
    raise Busy("lessons are neither searched nor retired here: no daemon is behind this server")


def no_reports() -> Path:
    """Refuse access to reports; for a context without a daemon behind it."""
    raise Busy("there are no reports here: no daemon is behind this server")


def cannot_report(_week: str) -> Path:
    """Refuse to make a report; for a context without a daemon behind it."""
    raise Busy("no report is made here: no daemon is behind this server")


@dataclass(frozen=True, slots=True, kw_only=True)
class AppContext:
    """Services that the API and the pages work with.

    `mask` takes secrets out of what is shown. `status` is called from several threads and reads what holds now; after
    `queue.pause` has finished it says so.
    `loop_lag_s` is how late the workers' loop lately was, `faults` what else is not well with the daemon.
    `commit_actions` reverts, integrates and discards. `reload` may be called from any thread; it reads the settings
    again and fails with `ConfigError`. `clarify_wait_s` is how long a question waits
    before its default is assumed. `tree` gives the files of a commit (full id) of a repository (None: the daemon's
    own), and fails with `GitError`. `proof` writes that of a commit in the ledger, and fails with `NoEvidence` or
    `GitError`; `verifying` runs the evidence of one again. `memory` finds lessons by meaning, retires and restores
    them. `report` writes the report of a week (empty: since the last checkpoint) into `reports_dir` and gives its path;
    it fails with `ValueError` where there is no such week. `settings` shows and changes them. `restart` has a worker
    begin anew, and fails with `UnknownWorker`. `repositories` tells within a second or so how they stand,
    `repository_settings` what holds for their tasks, `environments` what was made of their declarations.
    `install_extra` begins to install optional packages, `ensure_extra` returns when they are there. `work` has the
    settings that a forecast rests on. `check_models` looks now which models answer; what waited for one that does goes
    on. `live` has what models write just now. `forge_hook` takes a
    webhook's headers (names in lower case) and body, has the forges looked at, and fails with `HookRefused`.
    `hub` is that of the settings, None where they name none.
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
    commit_actions: CommitActionsPort = NO_COMMIT_ACTIONS
    reload: Callable[[], Future[Reloaded]] = cannot_reload
    clarify_wait_s: Callable[[], float] = lambda: CLARIFY_WAIT_S
    tree: Callable[[str | None, str], Tree] = cannot_read
    proof: Callable[[Commit], Proof] = cannot_prove
    verifying: VerifyingPort = NO_VERIFYING
    memory: Callable[[], LongTermMemory] = no_memory
    reports_dir: Callable[[], Path] = no_reports
    report: Callable[[str], Path] = cannot_report
    settings: SettingsPort = CLOSED
    restart: Callable[[str], Future[Restart]] = cannot_restart
    repositories: Callable[[], RepositoryStates] = lambda: RepositoryStates(auto_push=False)
    environments: Callable[[], Sequence[MadeEnvironment]] = tuple
    repository_settings: RepositorySettingsPort = NO_REPOSITORY_SETTINGS
    metrics: Callable[[], bytes] = no_metrics
    install_extra: Callable[[str], None] = cannot_install
    ensure_extra: Callable[[str], None] = cannot_install
    work: Callable[[], WorkSettings] = WorkSettings
    check_models: Callable[[], Future[Sequence[ModelStatus]]] = cannot_check
    live: LiveCalls = field(default_factory=LiveCalls)
    forge_hook: Callable[[Mapping[str, str], bytes], Sequence[str]] = no_hooks
    hub: HubPort | None = None
    clock: Clock = utc_now


class Busy(StoreError):
    """The database did not take the change in time; it may still do so."""


def settled(write: Future[_T]) -> _T:
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
