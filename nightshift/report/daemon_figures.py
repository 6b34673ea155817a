"""The report's figures about the daemon itself: how often it started or crashed, and notable events from the log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from nightshift.core.events import Kind
from nightshift.core.tasks.queueing import PauseSource
from nightshift.storage.db.report_queries import LogRow

LIFE = (Kind.DAEMON_STARTED, Kind.DAEMON_STOPPED)
HOLDS = (Kind.PAUSED, Kind.RESUMED, Kind.HELD_BACK, Kind.LET_GO)
NOTABLE = {
    Kind.CLOCK_JUMPED: "the clock jumped",
    Kind.DATABASE_RESTORED: "the database was restored",
    Kind.BACKUP_FAILED: "a backup failed",
    Kind.DISK_LOW: "the disk was nearly full",
    Kind.ORPHANS_SWEPT: "leftovers of a dead daemon were removed",
    Kind.TASK_RECOVERED: "a task was recovered from a dead daemon",
    Kind.WORKER_ERROR: "a worker had an error",
    Kind.REGRESSION: "an older test began to fail",
    Kind.MODEL_DOWN: "a model became unavailable",
    Kind.PUSH_FAILED: "a push failed",
    Kind.NOTIFY_FAILED: "a notice could not be sent",
    Kind.SETTINGS_REFUSED: "changed settings were refused",
    Kind.SETTINGS_RELOADED: "settings were reloaded",
    Kind.INBOX_REJECTED: "tasks.yaml was refused",
    Kind.PRUNED: "old rows were pruned",
    Kind.NOTIFIED: "a notice was sent",
}
"""The kinds of events that get a line in the report, the most serious first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notable:
    """One kind of event, with its count and its latest occurrence."""

    kind: Kind
    what: str
    count: int
    last: LogRow


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonFigures:
    """The figures of a span about the daemon.

    Attributes:
        starts: number of starts.
        crashes: number of unexpected ends.
        standing: the pauses in effect at the end of the span.
        notable: the notable events.
    """

    starts: int
    crashes: int
    standing: Sequence[PauseSource]
    notable: Sequence[Notable]


def fold(
    story: Sequence[LogRow], pauses: Mapping[PauseSource, datetime], log: Sequence[LogRow], since: datetime
) -> DaemonFigures:
    """Compute the figures of a span.

    Args:
        story: starts, stops and pauses from the beginning of the log to the end of the span.
        pauses: the current pauses, each with its beginning.
        log: the notable events of the span.
        since: the beginning of the span.
    """
    lives = [row for row in story if row.kind in LIFE]
    starts = [(row, before) for row, before in zip(lives, [None, *lives], strict=False) if row.kind == LIFE[0]]
    return DaemonFigures(
        starts=sum(row.at >= since for row, _ in starts),
        crashes=sum(row.at >= since for row, before in starts if before and before.kind == LIFE[0]),
        standing=_find_standing([row for row in story if row.kind in HOLDS], pauses),
        notable=_collect_notable(log),
    )


def _find_standing(moves: Sequence[LogRow], pauses: Mapping[PauseSource, datetime]) -> list[PauseSource]:
    """Return the pauses in effect after the events `moves`.

    A current pause that began before the first of these events counts too, because its own event may be pruned.
    """
    begin = moves[0].at if moves else datetime.max.replace(tzinfo=UTC)
    standing = {source for source, at in pauses.items() if at < begin}
    for row in moves:
        (standing.add if row.kind in {Kind.PAUSED, Kind.HELD_BACK} else standing.discard)(_source(row))
    return [source for source in PauseSource if source in standing]


def _source(row: LogRow) -> PauseSource:
    """Return the source of a pause. The first versions stored no source; only owner and checkpoint could pause then."""
    name = row.data.get("source") or ("checkpoint" if row.data.get("reason") == "checkpoint" else "owner")
    return PauseSource(name) if name in set(PauseSource) else PauseSource.OWNER


def _collect_notable(log: Sequence[LogRow]) -> list[Notable]:
    by_kind = {kind: [row for row in log if row.kind == kind] for kind in NOTABLE}
    return [
        Notable(kind=kind, what=NOTABLE[kind], count=len(rows), last=rows[-1]) for kind, rows in by_kind.items() if rows
    ]
