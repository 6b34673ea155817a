"""The figures on the daemon itself: how long it was up, why it rested, and what it met. All of them from the log."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from core.events import Kind
from core.queueing import HoldSource
from db.report_rows import LogRow

LIFE = (Kind.DAEMON_STARTED, Kind.DAEMON_STOPPED)
HOLDS = (Kind.PAUSED, Kind.RESUMED, Kind.HELD_BACK, Kind.LET_GO)
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
"""What is worth a line each, the gravest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notable:
    """One kind of event, how often it came, and the last of its messages."""

    kind: Kind
    what: str
    count: int
    last: LogRow


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonFigures:
    """`starts` within the span; `crashes` are lives that ended without a word. `up_s` is at most `known_s`.

    `held_s` has the time under each hold that stood, the daemon up or not; holds overlap.
    """

    starts: int
    crashes: int
    up_s: float
    known_s: float
    held_s: Mapping[HoldSource, float]
    standing: Sequence[HoldSource]
    """Holds that stood at the end."""
    notable: Sequence[Notable]


def fold(
    life: Sequence[LogRow], holds: Sequence[LogRow], log: Sequence[LogRow], since: datetime, until: datetime,
    before: Callable[[int], datetime | None],
) -> DaemonFigures:  # fmt: skip
    """The figures of a span.

    Args:
        life: starts and stops of the daemon, from the beginning of the log to the end of the span.
        holds: as `life`, of holds.
        log: the notable events of the span.
        since: where the span begins, or where the log does.
        until: where it ends.
        before: when the event was stored that came before the one with this id.
    """
    lives = _lives(life, until, before)
    up_s = sum(_overlap(start, end, since, until) for start, end, _ in lives)
    return DaemonFigures(
        starts=sum(since <= start < until for start, _, _ in lives),
        crashes=sum(crashed and since <= end < until for _, end, crashed in lives),
        up_s=min(up_s, (until - since).total_seconds()),
        known_s=(until - since).total_seconds(),
        held_s=_held(holds, since, until),
        standing=[source for source in HoldSource if _open_at_end(holds).get(source)],
        notable=_notable(log),
    )


def _lives(
    rows: Iterable[LogRow], until: datetime, before: Callable[[int], datetime | None]
) -> list[tuple[datetime, datetime, bool]]:
    """Start, end and whether it crashed of each life; one that crashed ends with its last event."""
    lives: list[tuple[datetime, datetime, bool]] = []
    began: datetime | None = None
    for row in rows:
        if began is not None:
            crashed = row.kind == Kind.DAEMON_STARTED
            end = (before(row.id) or row.at) if crashed else row.at
            lives.append((began, max(began, end), crashed))
        began = row.at if row.kind == Kind.DAEMON_STARTED else None
    return [*lives, (began, until, False)] if began is not None else lives


def _held(rows: Sequence[LogRow], since: datetime, until: datetime) -> dict[HoldSource, float]:
    found = dict.fromkeys(HoldSource, timedelta())
    standing: dict[HoldSource, datetime] = {}
    for row in rows:
        source = _source(row)
        if row.kind in {Kind.PAUSED, Kind.HELD_BACK}:
            standing.setdefault(source, row.at)
        elif source in standing:
            found[source] += timedelta(seconds=_overlap(standing.pop(source), row.at, since, until))
    for source, at in standing.items():
        found[source] += timedelta(seconds=_overlap(at, until, since, until))
    return {source: time.total_seconds() for source, time in found.items() if time}


def _open_at_end(rows: Iterable[LogRow]) -> dict[HoldSource, bool]:
    return {_source(row): row.kind in {Kind.PAUSED, Kind.HELD_BACK} for row in rows}


def _source(row: LogRow) -> HoldSource:
    """Whose hold it is; before holds had sources there were the owner's and the checkpoint's."""
    said = row.data.get("source") or ("checkpoint" if row.data.get("reason") == "checkpoint" else "owner")
    return HoldSource(said) if said in set(HoldSource) else HoldSource.OWNER


def _overlap(start: datetime, end: datetime, since: datetime, until: datetime) -> float:
    return max(0.0, (min(end, until) - max(start, since)).total_seconds())


def _notable(log: Sequence[LogRow]) -> list[Notable]:
    found = []
    for kind, what in NOTABLE.items():
        rows = [row for row in log if row.kind == kind]
        if rows:
            found.append(Notable(kind=kind, what=what, count=len(rows), last=rows[-1]))
    return found
