"""Ledger of the owner's actions on the agent's commits: reading, integrating, reverting and discarding.

A reverted or discarded commit no longer needs to be read, so both actions mark the commit as read. Therefore a commit
is unread exactly if it has no `reviewed_at`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import asdict, dataclass, replace
from datetime import datetime

from nightshift.core.clock import Clock, to_text, utc_now
from nightshift.core.events import CommitData, Event, Kind
from nightshift.core.tasks.revisions import ChangedFile
from nightshift.storage.db.codec import storable
from nightshift.storage.db.commit_signs import Signs, files_text, signs_text
from nightshift.storage.db.database import Database
from nightshift.storage.db.event_log import EventLog
from nightshift.storage.db.sqlite import Connection, Row
from nightshift.storage.db.state_store import Commit, commit_of, read_state, workspace_of, write_state

_PENDING, _INTEGRATING = "revert_pending", "integration_pending"


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingIntegration:
    """An integration that is about to move the branch `target` to `commit`.

    Attributes:
        entry: id of the commit's row in the ledger.
        commit: the commit to integrate.
        base: the commit's parent.
        subject: the first line of the commit's message.
        target: full name of the branch to move.
        label: how much the commit's verdict proves (`core.tasks.verdicts.Label`).
        judged: a sentence about the run that judged the commit.
    """

    entry: int
    commit: str
    base: str
    subject: str
    target: str
    label: str
    judged: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """A revert that is about to move its branch.

    The commit `by` reverts `entry`, or restores `entry` if `reapply` is True.
    """

    entry: int
    by: str
    reapply: bool


_BY_RISK = "(reviewed_at IS NOT NULL OR reverted_by IS NOT NULL), coalesce(points, 1000) DESC, id"
_WAITS = "NOT integrated AND reverted_by IS NULL AND discarded_at IS NULL"


class CommitLedger:
    """The ledger of commits, with the owner's actions on it.

    Args:
        db: the database of the ledger.
        events: receives an event for each change, in the same transaction.
        clock: returns the time of the actions.
    """

    def __init__(self, db: Database, events: EventLog, *, clock: Clock = utc_now) -> None:
        self._db, self._events, self._clock = db, events, clock

    def page(
        self, limit: int, *, after: int | None = None, task_id: int | None = None, unread: bool = False,
        integrated: bool | None = None, drafts: bool | None = None,
        span: tuple[datetime | None, datetime | None] = (None, None), riskiest: Collection[str] | None = None,
    ) -> list[Commit]:  # fmt: skip
        """List commits, newest first.

        Args:
            limit: maximum number.
            after: the last id of the previous page; older commits follow.
            task_id: only commits of this task.
            unread: only commits that wait to be read.
            integrated: True for only the commits that were integrated and not reverted; False for only those that wait
                on a branch.
            drafts: True for only the drafts that wait; False for only commits that are no drafts.
            span: only commits made at the first time or later, and before the second.
            riskiest: if given, select the commits by risk: unread commits before all others, and commits with more
                points before those with fewer. The commits with these full ids are added, and the result is in no
                particular order.
        """
        since, until = span
        where = "(? IS NULL OR id < ?) AND (? IS NULL OR task_id = ?)"
        where += " AND reviewed_at IS NULL" if unread else ""
        where += " AND integrated AND reverted_by IS NULL" if integrated else ""
        where += f" AND {_WAITS} AND label <> 'draft'" if integrated is False else ""
        where += f" AND {_WAITS} AND label = 'draft'" if drafts else " AND label <> 'draft'" if drafts is False else ""
        # The conditions on the time are added only if needed. With them, SQLite reads the rows by time, and has to sort
        # all of them to find the newest.
        where += (" AND at >= ?" if since else "") + (" AND at < ?" if until else "")
        asked = [after, after, task_id, task_id, *(to_text(bound) for bound in span if bound)]
        query = f"SELECT * FROM git_commits WHERE {where}"  # noqa: S608  # constants
        if riskiest is None:
            return self._rows(f"{query} ORDER BY id DESC LIMIT ?", *asked, limit)
        these = f"{query} AND commit_id IN (SELECT value FROM json_each(?))"  # noqa: S608  # constants
        union = f"SELECT * FROM ({query} ORDER BY {_BY_RISK} LIMIT ?) UNION {these}"  # noqa: S608  # constants
        return self._rows(union, *asked, limit, *asked, json.dumps(list(riskiest)))

    def list_uncounted(self, limit: int) -> list[int]:
        """List the ids of commits whose risk points are not counted yet, newest first."""
        query = "SELECT id FROM git_commits WHERE points IS NULL ORDER BY id DESC LIMIT ?"
        return [int(row[0]) for row in self._db.reader().execute(query, (limit,))]

    def count(self, points: Mapping[int, int]) -> Future[None]:
        """Store the points of commits, by the ids of their rows."""

        def job(conn: Connection) -> None:
            conn.executemany(
                "UPDATE git_commits SET points = ? WHERE id = ?", [(n, each) for each, n in points.items()]
            )

        return self._db.write(job)

    def entry(self, entry_id: int) -> Commit | None:
        """Read a row by its id; None if there is none."""
        return next(iter(self._rows("SELECT * FROM git_commits WHERE id = ?", entry_id)), None)

    def named(self, start: str) -> list[Commit]:
        """List the commits whose id starts with `start` (lower-case hexadecimal), newest first; at most 100."""
        query = "SELECT * FROM git_commits WHERE commit_id >= ? AND commit_id < ? ORDER BY id DESC LIMIT 100"
        return self._rows(query, start, f"{start}g")

    def on_branches(self, starts: Collection[str]) -> list[Commit]:
        """List the newest commit of each task on branches whose name starts with one of these prefixes; at most 100."""
        where = " OR ".join("substr(branch, 1, length(?)) = ?" for _ in starts)
        query = f"SELECT *, max(id) FROM git_commits WHERE {where} GROUP BY task_id, branch ORDER BY id DESC LIMIT 100"  # noqa: S608  # constants
        return self._rows(query, *(each for start in starts for each in (start, start)))

    def holds_all(self, commits: Collection[str]) -> bool:
        """Return True if all of these commits (full ids) were made by the agent; False if the collection is empty."""
        asked = json.dumps(sorted(commits))
        query = "SELECT count(DISTINCT commit_id) FROM git_commits WHERE commit_id IN (SELECT value FROM json_each(?))"
        row: Row = self._db.reader().execute(query, (asked,)).fetchone()
        return bool(commits) and int(row[0]) == len(commits)

    def review(self, *, task_id: int | None = None, entries: Sequence[int] | None = None) -> Future[list[Commit]]:
        """Mark a task's commits, the commits with these ids, or all commits as read. Returns the newly read ones."""
        return self._mark("NULL", to_text(self._clock()), "read by the owner", task_id, entries)

    def unread(self, entries: Sequence[int]) -> Future[list[Commit]]:
        """Mark the commits with these ids as unread again. Returns the commits that changed."""
        return self._mark("NOT NULL", None, "marked as unread again", None, entries)

    def _mark(
        self, was: str, at: str | None, message: str, task_id: int | None, entries: Sequence[int] | None
    ) -> Future[list[Commit]]:
        ids = None if entries is None else json.dumps(list(entries))
        query = (
            f"SELECT * FROM git_commits WHERE reviewed_at IS {was} AND (? IS NULL OR task_id = ?) "  # noqa: S608  constants
            "AND (? IS NULL OR id IN (SELECT value FROM json_each(?))) ORDER BY id"
        )

        def job(conn: Connection) -> list[Commit]:
            rows, workspace = conn.execute(query, (task_id, task_id, ids, ids)).fetchall(), workspace_of(conn)
            commits = [replace(commit_of(row, workspace), reviewed_at=None) for row in rows]
            conn.executemany("UPDATE git_commits SET reviewed_at = ? WHERE id = ?", [(at, each.id) for each in commits])
            if commits:
                self._events.append(conn, _tell_reviewed(commits, message))
            return commits

        return self._db.write(job)

    def pending(self) -> Pending | None:
        """Return the revert that was in progress when the process died; None if there was none."""
        fields = read_state(self._db.reader(), _PENDING)
        return Pending(**fields) if fields else None

    def begin(self, pending: Pending | None) -> Future[None]:
        """Store a revert before its branch is moved.

        None deletes the stored revert, for the case that the branch was not moved.
        """
        return self._note(_PENDING, pending)

    def settle(self, done: Pending, event: Event) -> Future[None]:
        """Record a revert whose branch was moved, with its event, and mark it as no longer in progress."""

        def job(conn: Connection) -> None:
            conn.execute(
                "UPDATE git_commits SET reverted_by = ?, reviewed_at = coalesce(reviewed_at, ?) WHERE id = ?",
                (None if done.reapply else done.by, to_text(self._clock()), done.entry),
            )
            write_state(conn, _PENDING, None, self._clock())
            self._events.append(conn, event)

        return self._db.write_retrying(job)

    def integrating(self) -> PendingIntegration | None:
        """Return the integration that was in progress when the process died; None if there was none."""
        fields = read_state(self._db.reader(), _INTEGRATING)
        return PendingIntegration(**fields) if fields else None

    def begin_integrating(self, pending: PendingIntegration | None) -> Future[None]:
        """Store an integration before its target is moved.

        None deletes the stored integration, for the case that the target was not moved.
        """
        return self._note(_INTEGRATING, pending)

    def _note(self, key: str, pending: Pending | PendingIntegration | None) -> Future[None]:
        noted = pending and asdict(pending)
        return self._db.write_retrying(lambda conn: write_state(conn, key, noted, self._clock()))

    def settle_integration(
        self,
        done: PendingIntegration,
        event: Event,
        files: Sequence[ChangedFile] | None,
        signs: Signs | None,
        also: Callable[[Connection], None],
    ) -> Future[None]:
        """Record an integration whose target was moved, and mark it as no longer in progress.

        Args:
            done: the integration.
            event: the event about the integration.
            files: the files that the commit changes; None keeps the stored ones.
            signs: signs of the commit's risk, from its attempt; None keeps the stored ones.
            also: makes further changes in the same transaction.
        """

        def job(conn: Connection) -> None:
            conn.execute(
                "UPDATE OR REPLACE git_commits SET commit_id = ?, base = ?, subject = ?, label = ?, integrated = 1, "
                "target = ?, discarded_at = NULL, points = NULL, files = coalesce(?, files), "
                "signs = coalesce(?, signs) WHERE id = ?",
                (
                    *(done.commit, done.base, storable(done.subject), done.label, done.target),
                    *(files_text(files), signs_text(signs), done.entry),
                ),
            )
            write_state(conn, _INTEGRATING, None, self._clock())
            also(conn)
            self._events.append(conn, event)

        return self._db.write_retrying(job)

    def discard(self, entry: Commit) -> Future[None]:
        """Record that the branch of a commit was discarded."""
        text = f"{entry.commit[:10]} ({entry.subject}) was discarded: its branch {entry.branch} is gone"
        data = CommitData(commit=entry.commit, branch=entry.branch)
        event = Event(kind=Kind.DISCARDED, task_id=entry.task_id, message=text, data=data)

        def job(conn: Connection) -> None:
            at = to_text(self._clock())
            query = "UPDATE git_commits SET discarded_at = ?, reviewed_at = coalesce(reviewed_at, ?) WHERE id = ?"
            conn.execute(query, (at, at, entry.id))
            self._events.append(conn, event)

        return self._db.write_retrying(job)

    def _rows(self, query: str, *values: object) -> list[Commit]:
        conn = self._db.reader()
        workspace, rows = workspace_of(conn), conn.execute(query, values).fetchall()
        return [commit_of(row, workspace) for row in rows]


def _tell_reviewed(commits: Sequence[Commit], message: str) -> Event:
    tasks = sorted({each.task_id for each in commits})
    many = f"{len(commits)} commits" if len(commits) > 1 else commits[0].commit[:10]
    return Event(
        kind=Kind.REVIEWED,
        message=f"{many} {message}",
        task_id=tasks[0] if len(tasks) == 1 else None,
        data={"commits": [each.commit for each in commits[:50]], "count": len(commits)},
    )
