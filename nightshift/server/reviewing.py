"""Implements the queries and actions on commits for the API and for the command line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from concurrent.futures import Future

from nightshift.core.clock import Clock, utc_now
from nightshift.core.errors import UnknownCommit
from nightshift.core.text.masking import Masker
from nightshift.queue.manager import QueueManager
from nightshift.report.ranking import find_regressions, ranks
from nightshift.server.commits import CommitRow, Commits, CommitsQuery, Reviewed, ReviewIn, commit_row
from nightshift.server.context import wait_for
from nightshift.server.query import BadQuery, moment
from nightshift.storage.db.commit_ledger import CommitLedger
from nightshift.storage.db.database import Database
from nightshift.storage.db.event_log import EventLog
from nightshift.storage.db.state_store import Commit, StateStore

MOST = 500
"""Number of commits whose current risk is computed for a list that is sorted by risk.

These are the commits with the highest risk points in the ledger.
"""
_BEGINNING = re.compile(r"[0-9a-fA-F]{4,64}")


class Reviewing:
    """Queries and actions on the ledger of commits; thread-safe.

    Args:
        database: contains the ledger; if it is read-only, only `commits` works.
        queue: contains the tasks.
        events: receives an event for each review.
        mask: removes secrets from shown texts.
        clock: returns the time for which risk is computed.
    """

    def __init__(
        self, database: Database, queue: QueueManager, events: EventLog, mask: Masker, clock: Clock = utc_now
    ) -> None:
        self._database, self._clock = database, clock
        self._state, self._queue = StateStore(database), queue
        self._ledger, self._mask = CommitLedger(database, events), mask

    def commits(self, query: CommitsQuery) -> Commits:
        """Return a page of commits, newest first or riskiest first."""
        by_risk = query.order == "risk"
        if by_risk and query.after is not None:
            raise BadQuery({"after": "works only with the newest first; leave it out, or leave out `order=risk`"})
        page = self._ledger.page(
            MOST if by_risk else query.limit + 1,
            after=query.after,
            task_id=query.task,
            unread=query.unread,
            integrated=query.standing or query.integrated,
            drafts=query.drafts,
            span=(moment(query.since), moment(query.until)),
            # The risk points in the ledger do not count tests that failed after the commit, although nothing raises the
            # risk more than such tests. The commits with such tests are therefore added here.
            riskiest=find_regressions(self._database, self._clock()) if by_risk else None,
        )
        rows = self._rows(page, query.limit, by_risk=by_risk)
        return Commits(
            commits=rows,
            next_after=rows[-1].id if len(page) > len(rows) and not by_risk else None,
            unread=self._state.unread_count(),
        )

    def _rows(self, commits: Sequence[Commit], limit: int | None = None, *, by_risk: bool = False) -> list[CommitRow]:
        """Return rows for commits with their current risk, in the given order or riskiest first.

        With a `limit`, only the first rows are returned.
        """
        ranked, by_id = ranks(self._database, [each.id for each in commits], self._clock()), {c.id: c for c in commits}
        return [commit_row(by_id[n], ranked[n], self._mask) for n in list(ranked if by_risk else by_id)[:limit]]

    def review_task(self, task_id: int) -> Reviewed:
        """Mark all commits of a task as read.

        Raises:
            UnknownTask: no task has this id.
            UnknownCommit: the task made no commit.
        """
        self._queue.get(task_id)
        if not self._ledger.page(1, task_id=task_id):
            raise UnknownCommit(f"task {task_id} made no commit")
        return self._answer(self._ledger.review(task_id=task_id))

    def review(self, asked: ReviewIn) -> Reviewed:
        """Mark one commit or all commits as read, or mark commits as unread again.

        Raises:
            UnknownCommit: no commit or more than one commit matches.
        """
        if asked.undo is not None:
            return self._answer(self._ledger.unread(asked.undo))
        entries = None if asked.commit is None else [each.id for each in self._entries(asked.commit.lower())]
        return self._answer(self._ledger.review(entries=entries))

    def entry(self, start: str) -> Commit:
        """Return the newest ledger entry of the commit whose id begins with `start`.

        Raises:
            UnknownCommit: no commit or more than one commit matches.
        """
        if not _BEGINNING.fullmatch(start):
            raise UnknownCommit("a commit is named by at least four digits of its id")
        return self._entries(start.lower())[0]

    def _entries(self, start: str) -> list[Commit]:
        commits = self._ledger.named(start)
        names = {commit.commit for commit in commits}
        if not names:
            raise UnknownCommit(f"Nightshift made no commit that begins with {start}")
        if len(names) > 1:
            raise UnknownCommit(f"{len(names)} commits begin with {start}; give more digits")
        return commits

    def _answer(self, write: Future[list[Commit]]) -> Reviewed:
        done = wait_for(write)
        return Reviewed(commits=self._rows(done), unread=self._state.unread_count())
