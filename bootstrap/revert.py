"""Reverting a task's commit: within a daemon, or alone on a home that no daemon works on."""

from __future__ import annotations

import asyncio
import tempfile
from collections import defaultdict
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextlib import ExitStack
from pathlib import Path

from attempt.revert import Reverter, RevertServices
from attempt.verify import OpenedSuite
from bootstrap.services import Services, defaults, make_git
from bootstrap.store import StoreServices, open_store
from bootstrap.verify import suites
from config import Settings
from core.clock import utc_now
from core.dependencies import ImportCache
from core.errors import UnknownTask
from core.revert import Reverted
from db.commit_ledger import CommitLedger
from git_manager import GitManager
from maintenance.instance_lock import InstanceLock


def make_reverter(settings: Settings, store: StoreServices, services: Services) -> Reverter:
    """The daemon's: it shares the locks of its integrations, and judges in its sandbox once there is one."""
    opened = services.opened_suite
    return Reverter(_revert_services(settings, store, services.git, opened, services.merge_locks))


class Reverts:
    """What other threads call to take work back.

    Args:
        reverter: reverts it.
        loop: the workers', on which that happens.
    """

    def __init__(self, reverter: Reverter, loop: asyncio.AbstractEventLoop) -> None:
        self._reverter, self._loop = reverter, loop
        self._asked: set[Future[Reverted]] = set()

    def __call__(self, task_id: int, force: bool, reapply: bool) -> Future[Reverted]:
        """Revert what a task integrated, or reapply it; the future fails like `Reverter.revert`."""
        revert = self._reverter.revert(task_id, force=force, reapply=reapply)
        asked = asyncio.run_coroutine_threadsafe(revert, self._loop)
        self._asked.add(asked)
        asked.add_done_callback(self._asked.discard)
        return asked

    def stop(self) -> None:
        """Let go of those who wait, so that no thread of theirs is in the way of the daemon's end.

        What was under way is finished or forgotten at the next start (`Reverter.recover`).
        """
        for asked in tuple(self._asked):
            asked.cancel()


async def revert_alone(task_id: int, settings: Settings, *, force: bool, reapply: bool) -> Reverted:
    """Revert what a task integrated, or reapply it, on a home whose daemon does not run.

    Raises:
        AlreadyRunning: a daemon works on this home; ask it.
        UnknownTask: there is no such task.
        NotReverted: it cannot, need not or should not be; says why.
        GitError: the repository cannot be used.
    """
    if not settings.db_path.exists():
        raise UnknownTask(task_id)
    with ExitStack() as stack:
        stack.enter_context(InstanceLock(settings.lock_file, settings.db_lock_file))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="nightshift-undo-")))
        store = open_store(settings, stack)
        git = make_git(settings, store, utc_now)
        stack.callback(git.close)
        reverter = Reverter(_revert_services(settings, store, git, suites(settings, folder), defaultdict(asyncio.Lock)))
        return await reverter.revert(task_id, force=force, reapply=reapply)


def _revert_services(
    settings: Settings,
    store: StoreServices,
    git: GitManager,
    opened: Callable[[], Awaitable[OpenedSuite]],
    locks: defaultdict[Path, asyncio.Lock],
) -> RevertServices:
    return RevertServices(
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
    )
