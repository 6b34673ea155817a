"""Looks at the repositories for the dashboard, at most every few seconds, and never while somebody waits for long.

Git may take its time (a large checkout, a sleeping disk), so a look happens in a thread of its own. Who asks gets the
newest known answer; only where that is old does he wait a moment for the look that is under way.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait

from config import Settings
from core.clock import Clock
from core.errors import GitError
from core.repositories import OurCommits, RepositoryState, RepositoryStates
from db import repositories
from db.database import Database
from git_manager import GitManager

FRESH_S = 5.0
PATIENCE_S = 1.0
MOST = 7
"""So many repositories of the owner's; git's processes for more of them are not kept open (gitrepo.registry)."""


class RepositoryWatch:
    """What `/api/git` asks; may be called from any thread.

    Args:
        settings: those that hold now.
        db: knows which repositories tasks used.
        git: looks at them.
        clock: dates the looks.
    """

    def __init__(self, settings: Callable[[], Settings], db: Database, git: GitManager, clock: Clock) -> None:
        self._settings, self._db, self._git, self._clock = settings, db, git, clock
        self._lock, self._stopping = threading.Lock(), threading.Event()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="repositories")
        self._newest, self._known_at = RepositoryStates(auto_push=False), float("-inf")
        self._look: Future[RepositoryStates] | None = None

    def __call__(self) -> RepositoryStates:
        """How the repositories stand; some seconds old, or older while git takes its time over the next look.

        Raises:
            Exception: the look failed; whatever it met.
        """
        with self._lock:
            if time.monotonic() - self._known_at < FRESH_S:
                return self._newest
            look = self._look
            if look is None or look.done():
                look = self._look = self._thread.submit(self._looked)
        done, _ = wait([look], PATIENCE_S)
        return look.result() if done else self._newest

    def stop(self) -> None:
        """Look no more; what is under way ends with the command that runs."""
        self._stopping.set()
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _looked(self) -> RepositoryStates:
        conn, settings = self._db.reader(), self._settings()
        named, ours = repositories.used(conn), repositories.ours(conn)
        own = str(settings.workspace.resolve())
        begun = (settings.workspace / ".git" / "HEAD").exists()
        found = [self._state(own, None, ours) if begun else _not_begun(own)]
        for repo in named[:MOST]:
            if self._stopping.is_set():
                break
            state = self._state(repo, repo, ours)
            if state.repo not in {each.repo for each in found}:
                found.append(state)
        states = RepositoryStates(
            auto_push=settings.git_auto_push, at=self._clock(), found=tuple(found), more=max(0, len(named) - MOST)
        )
        with self._lock:
            self._newest, self._known_at = states, time.monotonic()
        return states

    def _state(self, repo: str, where: str | None, ours: dict[str, OurCommits]) -> RepositoryState:
        try:
            glance = self._git.looking.glance(where)
        except (GitError, OSError) as error:
            known = ours.get(repo) or OurCommits(repo=repo)
            return RepositoryState(repo=repo, is_own=where is None, ours=known, error=str(error))
        known = ours.get(glance.root) or OurCommits(repo=glance.root)
        return RepositoryState(repo=glance.root, is_own=where is None, ours=known, glance=glance)


def _not_begun(own: str) -> RepositoryState:
    """Looking at it would make it; the first task does."""
    return RepositoryState(repo=own, is_own=True, ours=OurCommits(repo=own))
