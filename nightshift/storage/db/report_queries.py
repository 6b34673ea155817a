"""Queries for the weekly report: the rows of one time span, as values.

A span includes its first moment and excludes its last (since ≤ t < until). Everything is returned as it was at the end
of the span, so that a report which is made again later says the same: a commit that was read after the span is unread
in the report, and a fix that was found after the span is not known. If a task ended and was tried again after the span,
only the log shows its earlier end (`ReportQueries.earlier_ends`).

Old events are deleted (pruned). `ReportQueries.whole_since` returns the time from which the log is still complete. With
it, a report that is made late names the missing data instead of counting zero.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from nightshift.core.clock import from_text, to_text
from nightshift.core.events import Kind, MoveData
from nightshift.core.tasks.change_checks import Answerer, AskKind
from nightshift.core.tasks.revisions import ChangedFile
from nightshift.core.tasks.states import ENDED, Ending, Status
from nightshift.storage.db.codec import read_row
from nightshift.storage.db.commit_signs import Signs, files_of, signs_of
from nightshift.storage.db.database import Database
from nightshift.storage.db.pruning import events_pruned
from nightshift.storage.db.sqlite import Row


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedTask:
    """One end of a task. `kind` and `repo` are empty if none was given.

    If a task was tried again after its end, each of its ends is one `EndedTask`.
    """

    id: int
    status: Status
    ending: Ending | None
    kind: str
    repo: str
    description: str
    reason: str
    attempt: int
    iterations: int
    created_at: datetime
    not_before: datetime | None
    started_at: datetime | None
    ended_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """One answered model call.

    Attributes:
        cost_usd: the cost; None if the model's price is not known.
        saved: the backend whose call the built-in engine made unnecessary with this reply; empty for other replies.
    """

    at: datetime
    task_id: int | None
    backend: str
    model: str
    tokens_in: int
    tokens_out: int
    cost_usd: float | None
    latency_s: float
    saved: str = ""

    @property
    def tokens(self) -> int:
        """Tokens of prompt and reply together."""
        return self.tokens_in + self.tokens_out


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitRow:
    """One commit as it was at the end of the span.

    Attributes:
        asked_repo: the repository as the task names it; empty for the daemon's own repository.
        model: the names of the models that took part in the commit.
        files: the changed files; None if they are not known.
        signs: signs of the commit's attempt; None if they are not known.
        allowed: the rules of the static checker that the task may break.
        asked: the task's description.
    """

    id: int
    at: datetime
    task_id: int
    attempt: int
    commit: str
    asked_repo: str
    subject: str
    label: str
    model: str
    iterations: int
    integrated: bool
    pushed: bool
    reviewed: bool
    reverted: bool
    discarded: bool = False
    files: tuple[ChangedFile, ...] | None
    signs: Signs | None
    allowed: tuple[str, ...] = ()
    asked: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureRow:
    """A stored failure.

    Attributes:
        signature: the normalised form of the error.
        error: the error's text.
        code: the failing change, as a patch.
        solved: True if a fix was known at the end of the span.
        lesson: the lesson from the failure; empty if no fix was known.
    """

    at: datetime
    task_id: int | None
    signature: str
    error: str
    code: str
    repo: str
    solved: bool
    lesson: str

    @property
    def kind(self) -> str:
        """The kind of the failure: the type of an exception, how a process died, or a rule of the checker."""
        return self.error.partition("\n")[0].partition(":")[0].strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class AskRow:
    """A question of a task to its owner.

    Attributes:
        granted: the answer; None while there is none.
        answered_at: the time of the answer; None while there is none.
        assumed: True if nobody answered in time and the default answer was used.
    """

    task_id: int
    kind: AskKind
    subject: str
    granted: bool | None
    asked_at: datetime
    answered_at: datetime | None
    assumed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialRow:
    """The result of an attempt for which a matching lesson existed.

    `control` is True if the lesson was withheld at random.
    """

    at: datetime
    control: bool
    solved: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRow:
    """An event of the log, with the fields that the report reads."""

    id: int
    at: datetime
    kind: str
    message: str
    task_id: int | None
    data: Mapping[str, Any]


_MOVES = "e.kind IN ('task_moved', 'task_claimed', 'task_recovered')"
_ENDS = ", ".join(f"'{status}'" for status in sorted(ENDED))


TASK_COLUMNS = (
    "t.id, t.status, t.ending, t.reason, t.description, t.attempt, t.iterations, t.created_at, t.not_before, "
    "t.started_at, t.ended_at, coalesce(json_extract(s.spec, '$.kind'), '') AS kind, "
    "coalesce(json_extract(s.spec, '$.repo'), '') AS repo"
)


_COMMITS = (
    "SELECT c.*, coalesce(json_extract(s.spec, '$.repo'), '') AS asked_repo, "
    "coalesce(json_extract(s.spec, '$.allow'), '[]') AS allow, "
    "coalesce(json_extract(s.spec, '$.description'), '') AS asked FROM git_commits c "
    "LEFT JOIN task_specs s ON s.task_id = c.task_id"
)


class ReportQueries:
    """Queries on tasks, commits, calls and the event log. May be used from any thread."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def ended(self, since: datetime, until: datetime) -> list[EndedTask]:
        """List the tasks whose last end is in the span, sorted by id."""
        rows = self._rows(
            f"SELECT {TASK_COLUMNS} FROM tasks t JOIN task_specs s ON s.task_id = t.id "  # noqa: S608  # constants
            "WHERE t.ended_at >= ? AND t.ended_at < ? ORDER BY t.id",
            *(since, until),
        )
        return [read_row(EndedTask, row) for row in rows]

    def count_created(self, since: datetime, until: datetime) -> int:
        """Count the tasks that were submitted in the span."""
        rows = self._rows("SELECT count(*) FROM tasks WHERE created_at >= ? AND created_at < ?", since, until)
        return int(rows[0][0])

    def open_count(self, at: datetime) -> int:
        """Count the tasks that were created before `at` and had not ended by then.

        Tasks that had ended but were tried again later are counted too.
        """
        (row,) = self._rows(
            "SELECT count(*) FROM tasks WHERE created_at < ? AND (ended_at IS NULL OR ended_at >= ?)", at, at
        )
        return int(row[0])

    def calls(self, since: datetime, until: datetime) -> list[ModelCall]:
        """List the model calls that were answered in the span, in order."""
        rows = self._rows(
            "SELECT at, task_id, backend, model, tokens_in, tokens_out, cost_usd, latency_s, saved FROM model_stats "
            "WHERE at >= ? AND at < ? ORDER BY id",
            *(since, until),
        )
        return [read_row(ModelCall, row) for row in rows]

    def commits(self, since: datetime, until: datetime) -> list[CommitRow]:
        """List the commits of the span, oldest first and without drafts."""
        query = f"{_COMMITS} WHERE c.at >= ? AND c.at < ? AND c.label <> 'draft' ORDER BY c.id"
        rows = self._rows(query, since, until)
        return [_commit(row, until) for row in rows]

    def commits_by_id(self, ids: Iterable[int], until: datetime) -> list[CommitRow]:
        """List the commits with these ids, oldest first."""
        query = f"{_COMMITS} WHERE c.id IN (SELECT value FROM json_each(?)) ORDER BY c.id"  # noqa: S608  # a constant
        return [_commit(row, until) for row in self._rows(query, json.dumps(sorted(ids)))]

    def unread_before(self, since: datetime, until: datetime) -> int:
        """Count the commits older than the span that were neither read nor reverted before `until`."""
        (row,) = self._rows(
            "SELECT count(*) FROM git_commits WHERE at < ? AND coalesce(reviewed_at, '9') >= ?", since, until
        )
        return int(row[0])

    def first_uses(self, until: datetime) -> dict[tuple[str, str], int]:
        """Map each (repository, package) to the task of the first commit that was tested with the package.

        The repository is named as tasks name it.
        """
        rows = self._rows(
            "SELECT c.task_id, coalesce(json_extract(s.spec, '$.repo'), '') AS repo, p.key AS package "
            "FROM git_commits c LEFT JOIN task_specs s ON s.task_id = c.task_id, "
            "json_each(c.signs, '$.packages') p "
            "WHERE c.at < ? AND c.signs IS NOT NULL AND c.label <> 'draft' ORDER BY c.id",
            until,
        )
        first = dict[tuple[str, str], int]()
        for row in rows:
            first.setdefault((row["repo"], row["package"]), int(row["task_id"]))
        return first

    def failures(self, since: datetime, until: datetime) -> list[FailureRow]:
        """List the failures of the span, oldest first."""
        rows = self._rows(
            "SELECT f.created_at AS at, f.task_id, f.signature, f.error, f.code, "
            "coalesce(json_extract(s.spec, '$.repo'), '') AS repo, coalesce(f.fixed_at, '9') < ? AS solved, f.lesson "
            "FROM failures f LEFT JOIN task_specs s ON s.task_id = f.task_id "
            "WHERE f.created_at >= ? AND f.created_at < ? ORDER BY f.id",
            *(until, since, until),
        )
        return [read_row(FailureRow, row, lesson=row["lesson"] if row["solved"] else "") for row in rows]

    def list_needed(self, since: datetime, until: datetime) -> dict[int, list[int]]:
        """Return the dependencies of each task of the span that failed because of a dependency."""
        rows = self._rows(
            "SELECT d.task_id, d.depends_on FROM task_dependencies d JOIN tasks t ON t.id = d.task_id "
            "WHERE t.ending = 'dependency' AND t.ended_at >= ? AND t.ended_at < ? ORDER BY d.task_id, d.depends_on",
            *(since, until),
        )
        needed = dict[int, list[int]]()
        for row in rows:
            needed.setdefault(int(row["task_id"]), []).append(int(row["depends_on"]))
        return needed

    def pattern_count(self, since: datetime, until: datetime) -> int:
        """Count the patterns (lessons from solved tasks) that were stored in the span."""
        rows = self._rows("SELECT count(*) FROM patterns WHERE created_at >= ? AND created_at < ?", since, until)
        return int(rows[0][0])

    def trials(self, until: datetime) -> list[TrialRow]:
        """List all attempts that ended before `until` and for which a matching lesson existed, oldest first."""
        rows = self._rows(
            "SELECT coalesce(MAX(ended_at), MAX(at)) AS ended, MAX(arm = 'control') AS control, MAX(solved) AS solved "
            "FROM recalls WHERE solved IS NOT NULL GROUP BY task_id, attempt HAVING ended < ? "
            "ORDER BY ended, task_id, attempt",
            until,
        )
        return [read_row(TrialRow, row, at=from_text(row["ended"])) for row in rows]

    def asks(self, since: datetime, until: datetime) -> list[AskRow]:
        """List the questions that were asked or answered in the span, or were open at its end, oldest first."""
        rows = self._rows(
            "SELECT task_id, kind, subject, granted, asked_at, answered_at, answered_by FROM approvals "
            "WHERE asked_at < ? AND (asked_at >= ? OR coalesce(answered_at, '9') >= ?) ORDER BY id",
            *(until, since, since),
        )
        return [_ask(row, until) for row in rows]

    def whole_since(self) -> datetime | None:
        """Return the time from which the log is complete; None if no events were ever deleted."""
        pruned = events_pruned(self._db.reader())
        return pruned.before if pruned else None

    def counts(self, since: datetime, until: datetime) -> dict[str, int]:
        """Count the events of each kind in the span."""
        query = "SELECT kind, count(*) FROM execution_logs WHERE at >= ? AND at < ? GROUP BY kind ORDER BY kind"
        return {row[0]: int(row[1]) for row in self._rows(query, since, until)}

    def events(self, since: datetime | None, until: datetime, kinds: Iterable[Kind]) -> list[LogRow]:
        """List the events of some kinds in the span, in the order of storing.

        If `since` is None, the span has no beginning.
        """
        wanted = sorted(kinds)
        marks = ", ".join("?" * len(wanted))
        query = (
            "SELECT id, at, kind, message, task_id, data FROM execution_logs "  # noqa: S608  # question marks
            f"WHERE at >= ? AND at < ? AND kind IN ({marks}) ORDER BY id"
        )
        rows = self._rows(query, since or "", until, *wanted)
        return [read_row(LogRow, row, data=json.loads(row["data"])) for row in rows]

    def earlier_ends(self, since: datetime, until: datetime) -> list[EndedTask]:
        """List the ends of tasks in the span that were followed by another try, in the order of time."""
        rows = self._rows(
            f"SELECT {TASK_COLUMNS}, e.at AS at, e.attempt AS attempt_then, e.iteration AS iteration_then, "  # noqa: S608  # constants
            "e.data AS data FROM execution_logs e JOIN tasks t ON t.id = e.task_id "
            f"JOIN task_specs s ON s.task_id = t.id WHERE {_MOVES} AND e.at >= ? AND e.at < ? "
            f"AND json_extract(e.data, '$.to') IN ({_ENDS}) "
            "AND (t.ended_at IS NULL OR e.at < t.ended_at) ORDER BY e.id",
            *(since, until),
        )
        return [_earlier(row) for row in rows]

    def count_reopened(self, at: datetime) -> int:
        """Count the tasks that had ended before `at` and were tried again at `at` or later."""
        rows = self._rows(
            "SELECT e.task_id, max(e.id), json_extract(e.data, '$.to') AS became FROM execution_logs e "  # noqa: S608  # constants
            f"JOIN tasks t ON t.id = e.task_id WHERE {_MOVES} AND e.at < ? "
            "AND (t.ended_at IS NULL OR t.ended_at >= ?) GROUP BY e.task_id",
            *(at, at),
        )
        return sum(row["became"] in ENDED for row in rows)

    def _rows(self, query: str, *values: datetime | str) -> list[Row]:
        given = [to_text(value) if isinstance(value, datetime) else value for value in values]
        return self._db.reader().execute(query, given).fetchall()


def _earlier(row: Row) -> EndedTask:
    """Return the task as it was at an event about its end. Fields that the event lacks have their current values."""
    data: MoveData = json.loads(row["data"])
    return replace(
        read_row(EndedTask, dict(row) | {"ended_at": row["at"]}),
        status=Status(data["to"]),
        ending=Ending(ending) if (ending := data.get("ending")) else None,
        reason=str(data.get("reason", "")),
        attempt=row["attempt_then"] or 0,
        iterations=row["iteration_then"] or 0,
    )


def _commit(row: Row, until: datetime) -> CommitRow:
    return read_row(
        CommitRow,
        row,
        commit=row["commit_id"],
        pushed=_before(row["pushed_at"], until),
        reviewed=_before(row["reviewed_at"], until),
        reverted=row["reverted_by"] is not None and _before(row["reviewed_at"], until),
        discarded=_before(row["discarded_at"], until),
        files=files_of(row["files"]),
        signs=signs_of(row["signs"]),
        allowed=tuple(json.loads(row["allow"])),
    )


def _ask(row: Row, until: datetime) -> AskRow:
    answered = _before(row["answered_at"], until)
    return read_row(
        AskRow,
        row,
        granted=bool(row["granted"]) if answered else None,
        answered_at=from_text(row["answered_at"]) if answered else None,
        assumed=answered and row["answered_by"] == Answerer.ASSUMED,
    )


def _before(text: str | None, until: datetime) -> bool:
    return text is not None and from_text(text) < until
