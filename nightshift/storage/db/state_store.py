"""Memory of the daemon as a whole: its state, the ledger of commits, the cost of models, and backups."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from nightshift.core.built_in import BUILT_IN
from nightshift.core.clock import Clock, from_text, to_text, utc_now
from nightshift.core.events import CommitData, Event, Kind, Level
from nightshift.core.status import SavedReplies
from nightshift.core.tasks.best_change import tests_in_words
from nightshift.core.tasks.task import Spent
from nightshift.core.tasks.verdicts import Label
from nightshift.storage.db import spending
from nightshift.storage.db.codec import encode, storable
from nightshift.storage.db.commit_signs import ChangedFile, Signs, files_of, files_text, signs_of, signs_text
from nightshift.storage.db.database import Database
from nightshift.storage.db.event_log import EventLog
from nightshift.storage.db.sqlite import Connection, Row


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """A commit that the agent made. `label` is its verdict's worth (`core.tasks.verdicts.Label`), or that of a draft.

    `files` and `signs` are None where they are not known. `target` is the full name of the branch that took it, or
    that it is meant for; empty where that is no branch, or was not noted. `reviewed_at` tells when its owner had read
    it, `reverted_by` is the id of the commit that takes it back, `discarded_at` when its branch was discarded. `id` is
    given by the ledger.
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
        """Tell whether it did not pass and was left for its owner."""
        return self.label == Label.DRAFT

    @property
    def waits(self) -> bool:
        """Tell whether it waits on the task's own branch for its owner."""
        return not (self.integrated or self.discarded_at or self.reverted_by)


WORKSPACE = "workspace"
"""The key under which each start notes where the daemon's own repository lies."""


def read_state(conn: Connection, key: str) -> Any:
    """The JSON value of a key, or None."""
    row = conn.execute("SELECT value FROM system_state WHERE key = ?", (key,)).fetchone()
    return None if row is None else json.loads(row["value"])


def write_state(conn: Connection, key: str, value: object, at: datetime) -> None:
    """Set a key inside a write job; None removes it."""
    if value is None:
        conn.execute("DELETE FROM system_state WHERE key = ?", (key,))
        return
    conn.execute(
        "INSERT OR REPLACE INTO system_state (key, value, at) VALUES (?, ?, ?)",
        (key, encode(value), to_text(at)),
    )


def workspace_of(conn: Connection) -> str:
    """The folder of the daemon's own repository, by which its commits go outside of the ledger; empty: not known."""
    return str(read_state(conn, WORKSPACE) or "")


def shorten_repo(conn: Connection, repo: str) -> str:
    """The repository as the ledger has it: no path for the daemon's own, which may be moved with its home."""
    return "" if repo == workspace_of(conn) else repo


def unread(conn: Connection) -> int:
    """Count the commits that wait to be read by their owner; a step for each, in an index of their own."""
    return int(conn.execute("SELECT count(*) FROM git_commits WHERE reviewed_at IS NULL").fetchone()[0])


def read_draft(conn: Connection, task_id: int) -> Commit | None:
    """The draft of a task that waits on its branch; the newest, where its owner looks at the branch of another."""
    query = (
        "SELECT * FROM git_commits WHERE task_id = ? AND label = 'draft' AND discarded_at IS NULL "
        "ORDER BY id DESC LIMIT 1"
    )
    row = conn.execute(query, (task_id,)).fetchone()
    return row and commit_of(row, workspace_of(conn))


def describe_draft(entry: Commit) -> str:
    """Say where a draft is and how its tests ended, such as “draft on agent/12-add-sum: 3 of 5 tests pass”."""
    signs = entry.signs
    tests = tests_in_words(signs.tests_passed, signs.tests) if signs else "its tests are not known"
    return f"draft on {entry.branch}: {tests}"


class StateStore:
    """Small durable facts.

    Args:
        db: where they are kept.
        clock: gives them their time.
        events: takes the event of each commit that is entered, where there is a log.
    """

    def __init__(self, db: Database, *, clock: Clock = utc_now, events: EventLog | None = None) -> None:
        self._db, self._clock, self._events = db, clock, events
        self._with_each_commit: Callable[[Connection], None] = lambda _: None
        self._saved: tuple[tuple[object, ...], SavedReplies] | None = None

    def with_each_commit(self, job: Callable[[Connection], None]) -> None:
        """Run `job` in the transaction that enters a commit, after it was entered."""
        self._with_each_commit = job

    def get(self, key: str) -> Any:
        """The JSON value of a key, or None."""
        return read_state(self._db.reader(), key)

    def set(self, key: str, value: object) -> Future[None]:
        """Set a key to a JSON value; None removes it."""
        return self._db.write(lambda conn: write_state(conn, key, value, self._clock()))

    def record_commit(self, commit: Commit) -> Future[None]:
        """Enter a commit into the ledger, with its event; entering it again renews the entry.

        A commit that was on the same branch of the same task and never left it gives way. A draft is not one of the
        commits that wait to be read.
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
        """Take a commit out of the ledger that is on no branch any more."""

        def job(conn: Connection) -> None:
            query = "DELETE FROM git_commits WHERE repo = ? AND commit_id = ?"
            conn.execute(query, (shorten_repo(conn, repo), commit))

        return self._db.write(job)

    def record_push(self, repo: str, commit: str) -> Future[None]:
        """Note that a commit of the ledger was pushed; the first time stays."""
        at = to_text(self._clock())

        def job(conn: Connection) -> None:
            query = "UPDATE git_commits SET pushed_at = coalesce(pushed_at, ?) WHERE repo = ? AND commit_id = ?"
            conn.execute(query, (at, shorten_repo(conn, repo), commit))

        return self._db.write(job)

    def commits(self, limit: int, *, task_id: int | None = None) -> list[Commit]:
        """The newest commits first, of all tasks or of one."""
        query = "SELECT * FROM git_commits WHERE (? IS NULL OR task_id = ?) ORDER BY id DESC LIMIT ?"
        conn = self._db.reader()
        rows = conn.execute(query, (task_id, task_id, limit)).fetchall()
        return [commit_of(row, workspace_of(conn)) for row in rows]

    def draft(self, task_id: int) -> Commit | None:
        """The draft of a task; None where it has none."""
        return read_draft(self._db.reader(), task_id)

    def unread_count(self) -> int:
        """Count the commits that wait to be read by their owner."""
        return unread(self._db.reader())

    def commit_count(self) -> int:
        """Count the commits that the agent ever made, without drafts."""
        query = "SELECT COUNT(*) FROM git_commits WHERE label <> 'draft'"
        return int(self._db.reader().execute(query).fetchone()[0])

    def spent_since(self, moment: datetime | None) -> Spent:
        """Sum the use by all model calls since `moment`; None means ever and reads every call."""
        return spending.since(self._db.reader(), moment)

    def sum_spent(self) -> Spent:
        """Sum the use by all model calls ever; reads every call, so ask once and add what follows."""
        return self.spent_since(None)

    def count_saved_replies(self) -> SavedReplies:
        """Count the replies that the built-in engine spared in the last days; again after a call, commit or hour."""
        now, conn = self._clock(), self._db.reader()
        query = "SELECT (SELECT MAX(rowid) FROM model_stats), (SELECT MAX(id) FROM git_commits)"
        key = (*conn.execute(query).fetchone(), now.replace(minute=0, second=0, microsecond=0))
        if self._saved is None or self._saved[0] != key:
            self._saved = key, count_saved_replies(conn, now)
        return self._saved[1]


def count_saved_replies(conn: Connection, now: datetime, days: float = 7.0) -> SavedReplies:
    """Count the replies that the built-in engine spared in the last days."""
    since = to_text(now - timedelta(days=days))
    query = "SELECT COUNT(*), COALESCE(SUM(saved <> ''), 0) FROM model_stats WHERE at >= ?"
    replies, saved = conn.execute(query, (since,)).fetchone()
    query = "SELECT COUNT(DISTINCT task_id) FROM git_commits WHERE at >= ? AND model = ? AND label <> 'draft'"
    solved = conn.execute(query, (since, BUILT_IN)).fetchone()[0]
    return SavedReplies(days=days, replies=replies, saved=saved, solved=solved)


def _tell_recorded(commit: Commit) -> Event:
    """Tell readers of the ledger to read it anew: at COMMITTED and INTEGRATED the entry is not there yet."""
    return Event(
        kind=Kind.COMMIT_RECORDED,
        level=Level.DEBUG,
        message=f"{commit.commit[:10]} is in the ledger: {commit.subject}",
        task_id=commit.task_id,
        attempt=commit.attempt,
        data=CommitData(commit=commit.commit, branch=commit.branch),
    )


def commit_of(row: Row, workspace: str) -> Commit:
    """A row of `git_commits`; the daemon's own repository is at `workspace`."""
    return Commit(
        task_id=row["task_id"],
        attempt=row["attempt"],
        repo=row["repo"] or workspace,
        branch=row["branch"],
        commit=row["commit_id"],
        base=row["base"],
        subject=row["subject"],
        label=row["label"],
        model=row["model"],
        iterations=row["iterations"],
        integrated=bool(row["integrated"]),
        files=files_of(row["files"]),
        signs=signs_of(row["signs"]),
        pushed_at=row["pushed_at"] and from_text(row["pushed_at"]),
        at=from_text(row["at"]),
        target=row["target"],
        reviewed_at=row["reviewed_at"] and from_text(row["reviewed_at"]),
        reverted_by=row["reverted_by"],
        discarded_at=row["discarded_at"] and from_text(row["discarded_at"]),
        id=row["id"],
    )
