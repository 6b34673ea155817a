"""Durable data of the daemon as a whole: values under state keys, the ledger of commits, and the cost of models."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from nightshift.core.built_in import BUILT_IN
from nightshift.core.clock import Clock, to_text, utc_now
from nightshift.core.events import CommitData, Event, Kind, Level
from nightshift.core.status import SavedReplies
from nightshift.core.tasks.attempt_state import tests_in_words
from nightshift.core.tasks.revisions import ChangedFile
from nightshift.core.tasks.task import Spent
from nightshift.core.tasks.verdicts import Label
from nightshift.storage.db import spending
from nightshift.storage.db.codec import encode, read_row, storable
from nightshift.storage.db.commit_signs import Signs, files_of, files_text, signs_of, signs_text
from nightshift.storage.db.database import Database
from nightshift.storage.db.event_log import EventLog
from nightshift.storage.db.sqlite import Connection, Row


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """A commit of the agent.

    Attributes:
        label: how much its verdict proves (`core.tasks.verdicts.Label`), or `draft`.
        files: the changed files; None if they are not known.
        signs: signs of risk from its attempt; None if they are not known.
        target: full name of the branch that it was integrated into or is meant for; empty if there is no such branch,
            or if it was not recorded.
        reviewed_at: when the owner had read it; None if it is unread.
        reverted_by: the id of the commit that reverts it; None if it was not reverted.
        discarded_at: when its branch was discarded; None if it was not discarded.
        id: its number in the ledger, which the ledger assigns.
    """

    task_id: int
    attempt: int
    repo: str
    branch: str
    commit: str
    base: str
    subject: str
    label: str
    model: str = ""
    iterations: int = 0
    integrated: bool = False
    files: tuple[ChangedFile, ...] | None = None
    signs: Signs | None = None
    pushed_at: datetime | None = None
    at: datetime | None = None
    target: str = ""
    reviewed_at: datetime | None = None
    reverted_by: str | None = None
    discarded_at: datetime | None = None
    id: int = field(default=0, compare=False)

    @property
    def is_draft(self) -> bool:
        """True if the commit did not pass and was left for the owner as a draft."""
        return self.label == Label.DRAFT

    @property
    def waits(self) -> bool:
        """True if the commit waits on the task's own branch for the owner."""
        return not (self.integrated or self.discarded_at or self.reverted_by)


WORKSPACE = "workspace"
"""State key. The value is the path of the daemon's own repository, stored at each start."""


def read_state(conn: Connection, key: str) -> Any:
    """Return the JSON value of a key, or None."""
    row = conn.execute("SELECT value FROM system_state WHERE key = ?", (key,)).fetchone()
    return None if row is None else json.loads(row["value"])


def write_state(conn: Connection, key: str, value: object, at: datetime) -> None:
    """Store a value under a key, inside a write job. None deletes the key."""
    if value is None:
        conn.execute("DELETE FROM system_state WHERE key = ?", (key,))
        return
    conn.execute(
        "INSERT OR REPLACE INTO system_state (key, value, at) VALUES (?, ?, ?)",
        (key, encode(value), to_text(at)),
    )


def workspace_of(conn: Connection) -> str:
    """Return the path of the daemon's own repository; empty if it is not known. The ledger does not store this path."""
    return str(read_state(conn, WORKSPACE) or "")


def shorten_repo(conn: Connection, repo: str) -> str:
    """Return the repository as the ledger stores it: empty for the daemon's own, which may be moved with its home."""
    return "" if repo == workspace_of(conn) else repo


def unread(conn: Connection) -> int:
    """Count the commits that the owner has not read. A partial index makes this fast if they are few."""
    return int(conn.execute("SELECT count(*) FROM git_commits WHERE reviewed_at IS NULL").fetchone()[0])


def read_draft(conn: Connection, task_id: int) -> Commit | None:
    """Return the newest draft of a task that was not discarded; None if there is none."""
    query = (
        "SELECT * FROM git_commits WHERE task_id = ? AND label = 'draft' AND discarded_at IS NULL "
        "ORDER BY id DESC LIMIT 1"
    )
    row = conn.execute(query, (task_id,)).fetchone()
    return row and commit_of(row, workspace_of(conn))


def describe_draft(entry: Commit) -> str:
    """Describe a draft's branch and the result of its tests, as in “draft on agent/12-add-sum: 3 of 5 tests pass”."""
    signs = entry.signs
    tests = tests_in_words(signs.tests_passed, signs.tests) if signs else "its tests are not known"
    return f"draft on {entry.branch}: {tests}"


class StateStore:
    """Small durable facts, and the ledger of commits.

    Args:
        db: the database.
        clock: returns the time of the entries.
        events: receives an event for each recorded commit; None if there is no event log.
    """

    def __init__(self, db: Database, *, clock: Clock = utc_now, events: EventLog | None = None) -> None:
        self._db, self._clock, self._events = db, clock, events
        self._with_each_commit: Callable[[Connection], None] = lambda _: None
        self._saved: tuple[tuple[object, ...], SavedReplies] | None = None

    def with_each_commit(self, job: Callable[[Connection], None]) -> None:
        """Register a job that runs in each transaction that records a commit, after the commit was recorded."""
        self._with_each_commit = job

    def get(self, key: str) -> Any:
        """Return the JSON value of a key, or None."""
        return read_state(self._db.reader(), key)

    def set(self, key: str, value: object) -> Future[None]:
        """Store a JSON value under a key. None deletes the key."""
        return self._db.write(lambda conn: write_state(conn, key, value, self._clock()))

    def record_commit(self, commit: Commit) -> Future[None]:
        """Record a commit in the ledger, with its event. Recording a commit again updates its entry.

        The entry replaces an earlier commit on the same branch of the same task that was never integrated. A draft does
        not count as unread.
        """
        at = to_text(commit.at or self._clock())

        def job(conn: Connection) -> None:
            repo = shorten_repo(conn, commit.repo)
            conn.execute(
                "INSERT INTO git_commits (at, task_id, attempt, repo, branch, commit_id, base, subject, label, model, "
                "iterations, integrated, target, files, signs, reviewed_at) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
                "ON CONFLICT (repo, commit_id) DO UPDATE SET branch = excluded.branch, label = excluded.label, "
                "integrated = excluded.integrated, target = excluded.target, points = NULL, "
                "files = coalesce(excluded.files, files), signs = coalesce(excluded.signs, signs)",
                (
                    *(at, commit.task_id, commit.attempt, repo, commit.branch, commit.commit, commit.base),
                    *(storable(commit.subject), commit.label, commit.model, commit.iterations, commit.integrated),
                    *(commit.target, files_text(commit.files), signs_text(commit.signs)),
                    at if commit.is_draft else None,
                ),
            )
            conn.execute(
                "DELETE FROM git_commits WHERE repo = ? AND task_id = ? AND branch = ? AND commit_id <> ? "
                "AND NOT integrated",
                (repo, commit.task_id, commit.branch, commit.commit),
            )
            if self._events:
                self._events.append(conn, _tell_recorded(commit))
            self._with_each_commit(conn)

        return self._db.write(job)

    def forget_commit(self, repo: str, commit: str) -> Future[None]:
        """Remove from the ledger a commit that is no longer on any branch."""

        def job(conn: Connection) -> None:
            query = "DELETE FROM git_commits WHERE repo = ? AND commit_id = ?"
            conn.execute(query, (shorten_repo(conn, repo), commit))

        return self._db.write(job)

    def record_push(self, repo: str, commit: str) -> Future[None]:
        """Record that a commit in the ledger was pushed. If it is pushed again, the first time remains."""
        at = to_text(self._clock())

        def job(conn: Connection) -> None:
            query = "UPDATE git_commits SET pushed_at = coalesce(pushed_at, ?) WHERE repo = ? AND commit_id = ?"
            conn.execute(query, (at, shorten_repo(conn, repo), commit))

        return self._db.write(job)

    def commits(self, limit: int, *, task_id: int | None = None) -> list[Commit]:
        """List the newest commits of all tasks or of one task, newest first."""
        query = "SELECT * FROM git_commits WHERE (? IS NULL OR task_id = ?) ORDER BY id DESC LIMIT ?"
        conn = self._db.reader()
        rows = conn.execute(query, (task_id, task_id, limit)).fetchall()
        return [commit_of(row, workspace_of(conn)) for row in rows]

    def draft(self, task_id: int) -> Commit | None:
        """Return the draft of a task; None if it has none."""
        return read_draft(self._db.reader(), task_id)

    def unread_count(self) -> int:
        """Count the commits that the owner has not read."""
        return unread(self._db.reader())

    def commit_count(self) -> int:
        """Count all commits that the agent ever made, without drafts."""
        query = "SELECT COUNT(*) FROM git_commits WHERE label <> 'draft'"
        return int(self._db.reader().execute(query).fetchone()[0])

    def spent_since(self, moment: datetime | None) -> Spent:
        """Sum the usage of all model calls since `moment`. None means all time, which reads every call."""
        return spending.since(self._db.reader(), moment)

    def sum_spent(self) -> Spent:
        """Sum the usage of all model calls of all time. Reads every call, so call this once and add later usage."""
        return self.spent_since(None)

    def count_saved_replies(self) -> SavedReplies:
        """Count the replies of the last days for which the built-in engine saved a model call.

        The result is cached until there is a call, a commit or a new hour.
        """
        now, conn = self._clock(), self._db.reader()
        query = "SELECT (SELECT MAX(rowid) FROM model_stats), (SELECT MAX(id) FROM git_commits)"
        key = (*conn.execute(query).fetchone(), now.replace(minute=0, second=0, microsecond=0))
        if self._saved is None or self._saved[0] != key:
            self._saved = key, count_saved_replies(conn, now)
        return self._saved[1]


def count_saved_replies(conn: Connection, now: datetime, days: float = 7.0) -> SavedReplies:
    """Count the replies of the last days for which the built-in engine saved a model call."""
    since = to_text(now - timedelta(days=days))
    query = "SELECT COUNT(*), COALESCE(SUM(saved <> ''), 0) FROM model_stats WHERE at >= ?"
    replies, saved = conn.execute(query, (since,)).fetchone()
    query = "SELECT COUNT(DISTINCT task_id) FROM git_commits WHERE at >= ? AND model = ? AND label <> 'draft'"
    solved = conn.execute(query, (since, BUILT_IN)).fetchone()[0]
    return SavedReplies(days=days, replies=replies, saved=saved, solved=solved)


def _tell_recorded(commit: Commit) -> Event:
    """Return the event that makes readers reload the ledger.

    The events COMMITTED and INTEGRATED come too early for a reload, because the entry is not in the ledger yet.
    """
    return Event(
        kind=Kind.COMMIT_RECORDED,
        level=Level.DEBUG,
        message=f"{commit.commit[:10]} is in the ledger: {commit.subject}",
        task_id=commit.task_id,
        attempt=commit.attempt,
        data=CommitData(commit=commit.commit, branch=commit.branch),
    )


def commit_of(row: Row, workspace: str) -> Commit:
    """Convert a row of `git_commits`. `workspace` is the path of the daemon's own repository."""
    return read_row(
        Commit,
        row,
        repo=row["repo"] or workspace,
        commit=row["commit_id"],
        files=files_of(row["files"]),
        signs=signs_of(row["signs"]),
    )
