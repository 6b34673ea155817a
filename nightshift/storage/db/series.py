"""Sums for each hour or day: ends of tasks and calls of models, by SQL over indexes that cover them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from nightshift.core.clock import from_text, to_text
from nightshift.core.tasks.states import Status
from nightshift.storage.db.sqlite import Connection

_HOUR, _DAY = 13, 10
"""So many characters of a time's text name its hour, or its day."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """How many tasks ended with a status in the hour or day that began at `start`, and their iterations together."""

    start: datetime
    status: Status
    tasks: int
    iterations: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """Use of a model in the hour or day that began at `start`; `cost_usd` leaves out `unpriced` calls."""

    start: datetime
    backend: str
    model: str
    calls: int
    tokens_in: int
    tokens_out: int
    cost_usd: float
    unpriced: int
    latency_s: float
    lost: int


def ends(conn: Connection, since: datetime, *, by_day: bool) -> list[Ends]:
    """The ends of tasks since a time, in UTC. A task that was tried again after its end has more than one."""
    chars = _DAY if by_day else _HOUR
    query = (
        "SELECT substr(ended_at, 1, :chars) AS slot, status, COUNT(*) AS tasks, SUM(iterations) AS iterations FROM ("
        "SELECT ended_at, status, iterations FROM tasks WHERE ended_at IS NOT NULL AND ended_at >= :since "
        "UNION ALL SELECT ended_at, status, iterations FROM earlier_ends WHERE ended_at >= :since) "
        "GROUP BY slot, status"
    )
    return [
        Ends(start=_start(row[0]), status=Status(row[1]), tasks=row[2], iterations=row[3])
        for row in conn.execute(query, {"chars": chars, "since": to_text(since)})
    ]


def uses(conn: Connection, since: datetime, *, by_day: bool) -> list[Use]:
    """The calls of each model since a time; in UTC."""
    slot = f"substr(at, 1, {_DAY if by_day else _HOUR})"
    query = (
        f"SELECT {slot} AS slot, backend, model, SUM(calls) AS calls, SUM(tokens_in) AS tokens_in, "  # noqa: S608
        "SUM(tokens_out) AS tokens_out, TOTAL(cost_usd) AS cost_usd, SUM(calls * (cost_usd IS NULL)) AS unpriced, "
        "TOTAL(latency_s) AS latency_s, SUM(lost) AS lost FROM model_stats INDEXED BY model_stats_days "
        f"WHERE substr(at, 1, 10) >= ? AND at >= ? GROUP BY {slot}, backend, model"
    )
    rows = [dict(row) for row in conn.execute(query, (to_text(since)[:_DAY], to_text(since)))]
    return [Use(start=_start(row.pop("slot")), **row) for row in rows]


def begun_at(conn: Connection) -> datetime | None:
    """Return when the first task came or the first model was called; None before that."""
    firsts = (
        conn.execute("SELECT created_at FROM tasks ORDER BY id LIMIT 1").fetchone(),
        conn.execute("SELECT MIN(at) FROM model_stats").fetchone(),
    )
    return min((from_text(row[0]) for row in firsts if row and row[0]), default=None)


def _start(slot: str) -> datetime:
    return datetime.fromisoformat(slot if len(slot) == _DAY else f"{slot}:00").replace(tzinfo=UTC)
