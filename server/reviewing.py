"""What is done with commits, behind the API and behind the command line alike."""

from __future__ import annotations

from core.errors import UnknownCommit
from core.masking import Masker
from db.commit_ledger import CommitLedger
from db.database import Database
from db.event_log import EventLog
from db.state_store import StateStore
from queue_manager import QueueManager
from server.commits import Commits, CommitsQuery, Reviewed, ReviewIn, commit_row
from server.context import settled


class Reviewing:
    """The ledger's questions and answers; thread-safe.

    Args:
        database: where it is kept; one that is open for reading answers `commits` alone.
        queue: knows the tasks.
        events: gets an event for each review.
        mask: takes secrets out of what is shown.
    """

    def __init__(self, database: Database, queue: QueueManager, events: EventLog, mask: Masker) -> None:
        self._state, self._queue = StateStore(database), queue
        self._ledger, self._mask = CommitLedger(database, events), mask

    def commits(self, query: CommitsQuery) -> Commits:
        """A page of commits."""
        found = self._ledger.page(
            query.limit + 1,
            after=query.after,
            task_id=query.task,
            unread=query.unread,
            standing=query.standing,
        )
        page = found[: query.limit]
        return Commits(
            commits=[commit_row(commit, self._mask) for commit in page],
            next_after=page[-1].id if len(found) > len(page) else None,
            unread=self._state.unread_count(),
        )

    def reverted_by(self, task_id: int) -> str | None:
        """The commit that takes back what a task integrated last, None where it stands or there is nothing."""
        integrated = (commit for commit in self._ledger.page(500, task_id=task_id) if commit.integrated)
        return next((commit.reverted_by for commit in integrated), None)

    def review_task(self, task_id: int) -> Reviewed:
        """Mark all commits of a task as read.

        Raises:
            UnknownTask: there is none with that id.
            UnknownCommit: it made no commit.
        """
        self._queue.get(task_id)
        if not self._ledger.page(1, task_id=task_id):
            raise UnknownCommit(f"task {task_id} made no commit")
        return self._answer(task_id=task_id)

    def review(self, asked: ReviewIn) -> Reviewed:
        """Mark one commit as read, or all.

        Raises:
            UnknownCommit: no commit begins so, or several do.
        """
        return self._answer() if asked.commit is None else self._answer(entries=self._named(asked.commit.lower()))

    def _named(self, start: str) -> list[int]:
        found = self._ledger.named(start)
        names = {commit.commit for commit in found}
        if not names:
            raise UnknownCommit(f"Nightshift made no commit that begins with {start}")
        if len(names) > 1:
            raise UnknownCommit(f"{len(names)} commits begin with {start}; give more of it")
        return [commit.id for commit in found]

    def _answer(self, *, task_id: int | None = None, entries: list[int] | None = None) -> Reviewed:
        done = settled(self._ledger.review(task_id=task_id, entries=entries))
        return Reviewed(commits=[commit_row(commit, self._mask) for commit in done], unread=self._state.unread_count())
