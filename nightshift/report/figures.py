"""Computes all figures of a time span from stored data; the report is made only from these figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from datetime import UTC, datetime
from enum import Enum, StrEnum
from typing import Any

from nightshift.core.events import Kind
from nightshift.core.tasks.states import Status
from nightshift.report import commit_figures, learning, model_figures, task_figures
from nightshift.report.commit_figures import CommitFigures, Surroundings
from nightshift.report.learning import Learning
from nightshift.report.model_figures import Usage
from nightshift.report.task_figures import TaskFigures, last_ends
from nightshift.storage.db.report_queries import CommitRow, EndedTask, LogRow, ReportQueries

READ = frozenset({Kind.REGRESSION, *model_figures.KINDS, Kind.DRAFT_LEFT})
"""Events that the figures need in full; all other events are only counted."""


class Known(StrEnum):
    """The part of the span that the log covers."""

    WHOLE = "whole"
    PART = "part"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """All figures of the span since ≤ t < until.

    `log_since` is the time from which the log covers the span. It is later than `since` if older events were pruned.
    """

    since: datetime
    until: datetime
    log_since: datetime
    tasks: TaskFigures
    usage: Usage
    commits: CommitFigures
    learning: Learning
    open_asks: int
    """Number of questions that waited for the owner at the end of the span."""
    events: Mapping[str, int]
    drafts: Sequence[LogRow]
    """The newest draft of each task that failed in the span and left a draft. Drafts are read from the log."""

    @property
    def log_coverage(self) -> Known:
        """The part of the span that the log covers."""
        if self.log_since <= self.since:
            return Known.WHOLE
        return Known.PART if self.log_since < self.until else Known.NOTHING

    def happened(self, kind: Kind) -> int:
        """Return how often an event of this kind was logged in the part of the span that the log covers."""
        return self.events.get(kind, 0)


def fold(queries: ReportQueries, since: datetime, until: datetime) -> Summary:
    """Compute all figures of one span."""
    log_since = max(since, queries.whole_since() or since)
    # A task's database row has only the task's last ending; earlier endings are in the log.
    ended = last_ends([*queries.earlier_ends(since, until), *queries.ended(since, until)])
    # A revert may follow after the span, so reverts are read from the complete log.
    reverts = queries.events(None, datetime.max.replace(tzinfo=UTC), {Kind.REVERTED})
    commits = _as_they_stood(queries.commits(since, until), reverts, until)
    failures, asks = queries.failures(since, until), queries.asks(since, until)
    rows = queries.events(log_since, until, READ)
    around = Surroundings(failures=failures, asks=asks, first_uses=queries.first_uses(until), log=rows)
    return Summary(
        since=since,
        until=until,
        log_since=log_since,
        tasks=task_figures.fold(
            ended,
            failures,
            queries.list_needed(since, until),
            submitted=queries.count_created(since, until),
            open_at_end=queries.open_count(until) - queries.count_reopened(until),
        ),
        usage=model_figures.fold(queries.calls(since, until), commits, rows),
        commits=commit_figures.fold(commits, around, queries.unread_before(since, until)),
        learning=learning.fold(failures, queries.pattern_count(since, until), queries.trials(until), since),
        open_asks=sum(ask.answered_at is None for ask in asks),
        events=queries.counts(log_since, until),
        drafts=_drafts(rows, ended),
    )


def mask_summary(summary: Summary, mask: Callable[[str], str]) -> Summary:
    """Return the figures with secrets masked in every text."""
    masked_summary: Summary = _mask(summary, mask)
    return masked_summary


def _mask(part: Any, mask: Callable[[str], str]) -> Any:
    if isinstance(part, str):
        return part if isinstance(part, Enum) else mask(part)
    if isinstance(part, list | tuple):
        return type(part)(_mask(each, mask) for each in part)
    if isinstance(part, Mapping):
        return {_mask(key, mask): _mask(each, mask) for key, each in part.items()}
    if is_dataclass(part) and not isinstance(part, type):
        return replace(part, **{each.name: _mask(getattr(part, each.name), mask) for each in fields(part)})
    return part


def _drafts(rows: Iterable[LogRow], ended: Iterable[EndedTask]) -> list[LogRow]:
    failed = {task.id for task in ended if task.status is Status.FAILED}
    newest = {row.task_id: row for row in rows if row.kind == Kind.DRAFT_LEFT and row.task_id in failed}
    return sorted(newest.values(), key=lambda row: row.task_id or 0)


def _as_they_stood(commits: Sequence[CommitRow], reverts: Iterable[LogRow], until: datetime) -> list[CommitRow]:
    """Set each commit's `reverted` flag to its value at the end of the span; the ledger has only today's value."""
    reverted = dict[str, bool]()
    for row in reverts:
        name = str(row.data.get("commit"))
        reverted.setdefault(name, False)
        if row.at < until:
            reverted[name] = not row.data.get("reapplied")
    return [replace(commit, reverted=reverted.get(commit.commit, commit.reverted)) for commit in commits]
