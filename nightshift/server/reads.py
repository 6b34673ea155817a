"""Collects the views' queries of the database. Each query is a named method, so that views do not depend on tables."""

from __future__ import annotations

from concurrent.futures import Future
from datetime import datetime

from nightshift.core.tasks.forecast import Forecast, WorkSettings
from nightshift.core.tasks.forking import Fork
from nightshift.core.tasks.task import Task
from nightshift.queue import checkpoints, listing, store
from nightshift.report import brief, outlook
from nightshift.report.brief import Brief, Span
from nightshift.report.causes import Cause, cluster
from nightshift.storage.db import pruning, tool_store
from nightshift.storage.db.brief_queries import BriefQueries
from nightshift.storage.db.commit_ledger import CommitLedger
from nightshift.storage.db.database import Database
from nightshift.storage.db.event_log import EventLog
from nightshift.storage.db.pruning import Pruned
from nightshift.storage.db.state_store import Commit, StateStore, read_draft
from nightshift.storage.db.tool_store import StoredCall
from nightshift.storage.memory.recall_log import NearLesson, of_task

MOST_COMMITS = 500
"""Maximum number of commits of one task that a query examines."""


class Reads:
    """Named queries of the daemon's database; thread-safe.

    Args:
        database: the daemon's database.
        events: the daemon's event log.

    Attributes:
        ledger: the ledger of commits.
    """

    def __init__(self, database: Database, events: EventLog) -> None:
        self._database = database
        self.ledger = CommitLedger(database, events)

    # Queries about tasks

    def find_pruned(self, task_id: int) -> Pruned | None:
        """Return when the steps of a task were pruned, and because of which setting; None if they were not pruned."""
        return pruning.work_pruned(self._database.reader(), task_id)

    def list_pruned(self, task: Task) -> list[str]:
        """Describe the pruned data of a task, in sentences for the owner."""
        return pruning.notes(self._database.reader(), task.id, task.ended_at)

    def find_draft(self, task_id: int) -> Commit | None:
        """Find the newest draft of a task."""
        return read_draft(self._database.reader(), task_id)

    def find_commit(self, task_id: int) -> Commit | None:
        """Find the newest commit of a task, drafts included."""
        return next(iter(self.ledger.page(1, task_id=task_id)), None)

    def find_revert(self, task_id: int) -> str | None:
        """Find the commit that reverts a task's newest integrated commit.

        None if the task has no integrated commit, or if that commit is not reverted.
        """
        entries = self.ledger.page(MOST_COMMITS, task_id=task_id)
        return next((entry.reverted_by for entry in entries if entry.integrated), None)

    def find_fork(self, task_id: int) -> tuple[Fork, str] | None:
        """Return the step after which a fork began, and the digest of the attempt's stored state after that step.

        None if the task is not a fork.
        """
        return store.fork_origin(self._database.reader(), task_id)

    def list_forks(self, task_id: int) -> list[tuple[int, Fork]]:
        """List the forks of a task, each with the number of the new task."""
        return list(store.forks_of(self._database.reader(), task_id))

    def list_tool_calls(self, task_id: int, attempt: int, step_no: int) -> list[StoredCall]:
        """List the tool calls of a step."""
        return tool_store.calls(self._database.reader(), task_id, attempt, step_no)

    def count_tool_calls(self, task_id: int, attempt: int) -> dict[int, tuple[int, int]]:
        """Count the tool calls of each step of an attempt.

        Returns:
            For each step number, the number of tool calls and the number of those that failed.
        """
        return tool_store.counts(self._database.reader(), task_id, attempt)

    def list_near_lessons(self, task_id: int) -> list[NearLesson]:
        """List, for each attempt of a task, the lessons that were similar to what it was working on."""
        return of_task(self._database.reader(), task_id)

    # Queries about the daemon

    def find_oldest_queued(self) -> datetime | None:
        """Find the creation time of the oldest task that may be claimed now."""
        return listing.read_queued_since(self._database.reader())

    def forecast(self, work: WorkSettings, now: datetime) -> tuple[Forecast, outlook.Outlook]:
        """Forecast when the open tasks will be done; also return sentences that describe the forecast."""
        return outlook.read(self._database.reader(), work, now)

    def ask_checkpoint(self, now: datetime) -> Future[bool]:
        """Record a request for a checkpoint. The daemon reads the request now, or when it starts the next time."""
        return self._database.write(lambda conn: checkpoints.ask(conn, now))

    # Queries about the brief

    def find_span(self, span: Span, now: datetime) -> tuple[datetime, datetime]:
        """Return the times at which the time span of a brief begins and ends."""
        return brief.bounds(self._database, span, now)

    def read_brief(self, since: datetime, until: datetime) -> Brief:
        """Read the brief for the time from `since` to `until`."""
        return brief.read(self._database, since, until)

    def find_read_time(self) -> datetime | None:
        """Find the time up to which the owner has read the brief."""
        return brief.read_up_to(self._database)

    def mark_read(self, text: str) -> Future[None]:
        """Record the time up to which the owner has read the brief."""
        return StateStore(self._database).set(brief.READ, text)

    def list_causes(self, since: datetime | None, until: datetime) -> list[Cause]:
        """List the causes of the tasks that failed from `since` to `until`. Tasks that were retried do not count."""
        queries = BriefQueries(self._database)
        return cluster(queries.failed(since or queries.first() or until, until))
