"""The figures on the daemon itself: how long it was up, why it rested, and what it met. All of them from the log."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from nightshift.core.events import Kind
from nightshift.core.tasks.queueing import PauseSource
from nightshift.storage.db.report_queries import LogRow

LIFE = (Kind.DAEMON_STARTED, Kind.DAEMON_STOPPED)
HOLDS = (Kind.PAUSED, Kind.RESUMED, Kind.HELD_BACK, Kind.LET_GO)
HELD_BY = {
    PauseSource.OWNER: "you paused it",
    PauseSource.CHECKPOINT: "a checkpoint waited for you",
    PauseSource.REVIEW: "too many commits were unread",
    PauseSource.QUIET: "quiet hours",
    PauseSource.BATTERY: "on battery",
    PauseSource.DISK: "little room on the disk",
    PauseSource.PROGRAM: "its files were exchanged",
}
"""Why work was held back, by whose hold it was."""
NOTABLE = {
    Kind.CLOCK_JUMPED: "the clock jumped",
    Kind.DATABASE_RESTORED: "the database was restored",
    Kind.BACKUP_FAILED: "a backup failed",
    Kind.DISK_LOW: "the disk was nearly full",
    Kind.ORPHANS_SWEPT: "leftovers of a dead daemon were swept",
    Kind.TASK_RECOVERED: "a task was recovered from a dead daemon",
    Kind.WORKER_ERROR: "a worker met an error",
    Kind.REGRESSION: "an older test began to fail",
    Kind.MODEL_DOWN: "a model went away",
    Kind.PUSH_FAILED: "a push failed",
    Kind.NOTIFY_FAILED: "a notice could not be sent",
    Kind.SETTINGS_REFUSED: "changed settings were refused",
    Kind.SETTINGS_RELOADED: "settings were read again",
    Kind.INBOX_REJECTED: "tasks.yaml was refused",
    Kind.PRUNED: "old rows were pruned",
    Kind.NOTIFIED: "a notice was sent",
}
"""The kinds of events that are worth a line each, the gravest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notable:
    """One kind of event, how often it came, and the last of its messages."""

    kind: Kind
    what: str
    count: int
    last: LogRow


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonFigures:
    """`starts` within the span; `crashes` are lives that ended unexpectedly. `up_s` is at most `known_s`.

    `held_s` has the time under each hold that stood, the daemon up or not; holds overlap.
    """

    starts: int
    crashes: int
    up_s: float
    known_s: float
    held_s: Mapping[PauseSource, float]
    standing: Sequence[PauseSource]
    """Holds that stood at the end."""
    notable: Sequence[Notable]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lives:
    """The daemon's lives and rests up to the end of the span, from the log and the database.

    `pruned_to` is where the log begins; None where it has everything. `events` tells whether the span has any.
    `standing` are the holds of today with when they began. `before` gives the time of the event before the one of an
    id.
    """

    rows: Sequence[LogRow]
    holds: Sequence[LogRow]
    pruned_to: datetime | None
    events: bool
    standing: Mapping[PauseSource, datetime]
    before: Callable[[int], datetime | None]


def fold(known: Lives, log: Sequence[LogRow], since: datetime, until: datetime) -> DaemonFigures:
    """The figures of a span; `log` has its notable events, `since` is where the log's part of it begins."""
    lives = _lives(known, until)
    held = _held(known, until)
    return DaemonFigures(
        starts=sum(since <= row.at < until for row in known.rows if row.kind == Kind.DAEMON_STARTED),
        crashes=sum(crashed and since <= end < until for _, end, crashed in lives),
        up_s=sum(_overlap(start, end, since, until) for start, end, _ in lives),
        known_s=max(0.0, (until - since).total_seconds()),
        held_s={
            source: seconds
            for source in PauseSource
            if (seconds := sum(_overlap(start, end or until, since, until) for start, end in held.get(source, ())))
        },
        standing=[source for source in PauseSource if any(end is None for _, end in held.get(source, ()))],
        notable=_notable(log),
    )


def _lives(known: Lives, until: datetime) -> list[tuple[datetime, datetime, bool]]:
    """Start, end and whether it crashed of each life; one that crashed ends with its last event.

    Where the log is cut off, a life whose start was pruned began with the log.
    """
    lives: list[tuple[datetime, datetime, bool]] = []
    began: datetime | None = None
    if known.pruned_to and known.events and (not known.rows or known.rows[0].kind == Kind.DAEMON_STOPPED):
        began = known.pruned_to
    for row in known.rows:
        if began is not None:
            crashed = row.kind == Kind.DAEMON_STARTED
            end = (known.before(row.id) or row.at) if crashed else row.at
            lives.append((began, max(began, end), crashed))
        began = row.at if row.kind == Kind.DAEMON_STARTED else None
    return [*lives, (began, until, False)] if began is not None else lives


def _held(known: Lives, until: datetime) -> dict[PauseSource, list[tuple[datetime, datetime | None]]]:
    """Beginning and end (None: it stood at the end of the span) of each hold; one whose begin was pruned as above."""
    found: dict[PauseSource, list[tuple[datetime, datetime | None]]] = {source: [] for source in PauseSource}
    begin = known.pruned_to or datetime.min.replace(tzinfo=UTC)
    open_since = {source: at for source, at in known.standing.items() if at < begin}
    for row in known.holds:
        source = _source(row)
        if row.kind in {Kind.PAUSED, Kind.HELD_BACK}:
            open_since.setdefault(source, row.at)
        elif source in open_since or not found[source]:
            found[source].append((open_since.pop(source, known.pruned_to or row.at), row.at))
    for source, at in open_since.items():
        if at < until:
            found[source].append((at, None))
    return found


def _source(row: LogRow) -> PauseSource:
    """Whose hold it is; before holds had sources there were the owner's and the checkpoint's."""
    said = row.data.get("source") or ("checkpoint" if row.data.get("reason") == "checkpoint" else "owner")
    return PauseSource(said) if said in set(PauseSource) else PauseSource.OWNER


def _overlap(start: datetime, end: datetime, since: datetime, until: datetime) -> float:
    return max(0.0, (min(end, until) - max(start, since)).total_seconds())


def _notable(log: Sequence[LogRow]) -> list[Notable]:
    found = []
    for kind, what in NOTABLE.items():
        rows = [row for row in log if row.kind == kind]
        if rows:
            found.append(Notable(kind=kind, what=what, count=len(rows), last=rows[-1]))
    return found
