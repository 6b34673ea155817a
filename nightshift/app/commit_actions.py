"""The owner's actions on commits (revert, integrate, discard), within a daemon or while no daemon runs on the home."""

from __future__ import annotations

import asyncio
import tempfile
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from concurrent.futures import Future
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from nightshift.app.repository_settings import kept_for
from nightshift.app.services import Services, defaults, make_git
from nightshift.app.store import StoreServices, open_store
from nightshift.app.verify import suites
from nightshift.attempt import evidence
from nightshift.attempt.branch_integration import BranchIntegrator
from nightshift.attempt.revert import CommitServices, Reverter
from nightshift.attempt.verify import OpenedSuite
from nightshift.config.load import Settings
from nightshift.core.clock import utc_now
from nightshift.core.code.dependencies import ImportCache
from nightshift.core.errors import UnknownTask
from nightshift.core.tasks.commit_message import Discarded, Integrated, Reverted
from nightshift.git.manager import GitManager
from nightshift.maintenance.instance_lock import InstanceLock
from nightshift.storage.db.commit_ledger import CommitLedger

T = TypeVar("T")


def make_commit_services(settings: Settings, store: StoreServices, services: Services) -> CommitServices:
    """Make the services for commits in the daemon.

    They share the daemon's integration locks, and judge commits in the daemon's sandbox as soon as it exists.
    """
    return _commit_services(settings, store, services.git, services.open_suite, services.merge_locks)


class CommitActions:
    """Lets other threads start actions on commits. Each returned future fails with the errors of the service's method.

    Args:
        reverter: reverts integrated commits.
        integrator: integrates or discards commits that wait on a branch.
        loop: the event loop of the workers, on which the actions run.
    """

    def __init__(self, reverter: Reverter, integrator: BranchIntegrator, loop: asyncio.AbstractEventLoop) -> None:
        self._reverter, self._integrator, self._loop = reverter, integrator, loop
        self._asked: set[Future[Any]] = set()

    def revert(self, task_id: int, force: bool, reapply: bool) -> Future[Reverted]:
        """Revert the commit that a task integrated, or reapply it."""
        return self._ask(self._reverter.revert(task_id, force=force, reapply=reapply))

    def integrate(self, task_id: int, force: bool) -> Future[Integrated]:
        """Integrate the commit that waits on the branch of a task."""
        return self._ask(self._integrator.integrate(task_id, force=force))

    def discard(self, task_id: int) -> Future[Discarded]:
        """Remove the branch on which a commit of a task waits."""
        return self._ask(self._integrator.discard(task_id))

    def _ask(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        asked = asyncio.run_coroutine_threadsafe(work, self._loop)
        self._asked.add(asked)
        asked.add_done_callback(self._asked.discard)
        return asked

    def stop(self) -> None:
        """Cancel the pending futures, so that no waiting thread delays the daemon's end.

        `Reverter.recover` or `BranchIntegrator.recover` finishes or forgets interrupted actions at the next start.
        """
        for asked in tuple(self._asked):
            asked.cancel()


@asynccontextmanager
async def services_alone(task_id: int, settings: Settings) -> AsyncIterator[CommitServices]:
    """Yield the services for a task's commit on a home whose daemon does not run.

    Raises:
        AlreadyRunning: a daemon works on this home; the caller must send the request to that daemon.
        UnknownTask: there is no such task.
    """
    if not settings.db_path.exists():
        raise UnknownTask(task_id)
    with ExitStack() as stack:
        stack.enter_context(InstanceLock(settings.lock_file, settings.db_lock_file))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="nightshift-undo-")))
        store = open_store(settings, stack)
        git = make_git(settings, store, utc_now)
        stack.callback(git.close)
        yield _commit_services(settings, store, git, suites(settings, folder), defaultdict(asyncio.Lock))


def _commit_services(
    settings: Settings,
    store: StoreServices,
    git: GitManager,
    opened: Callable[[], Awaitable[OpenedSuite]],
    locks: defaultdict[Path, asyncio.Lock],
) -> CommitServices:
    return CommitServices(
        git=git,
        queue=store.queue,
        state=store.state,
        steps=store.steps,
        events=store.events,
        ledger=CommitLedger(store.db, store.events),
        limits=defaults(settings).limits,
        open_suite=opened,
        merge_locks=locks,
        imports=ImportCache(),
        read_repository_settings=lambda spec: kept_for(spec, store.db, settings),
        seal_key=evidence.read_or_make_key(settings.seal_file),
    )
