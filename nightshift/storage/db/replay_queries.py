"""Queries for the replay of a span of time: steps, their workers and tasks, and the cost of model calls.

Everything is read over indexes that cover it (the twentieth migration), so a span costs what is in it and not what the
log has grown to.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from nightshift.core.clock import from_text, to_text
from nightshift.core.tasks.states import Outcome, Phase, Status
from nightshift.storage.db.sqlite import Connection


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedStep:
    """A step that ended in the span, with its tests where it ran some."""

    task_id: int
    attempt: int
    step_no: int
    iteration: int
    phase: Phase
    outcome: Outcome
    started_at: datetime
    ended_at: datetime
    passed: int | None
    failed: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedTask:
    """A task of such a step; `description` is its beginning."""

    id: int
    description: str
    status: Status
    ended_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A worker began with a task."""

    at: datetime
    worker: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Cost of a call, at its end; null where its price is not known."""

    at: datetime
    cost_usd: float | None


def steps(conn: Connection, since: datetime, until: datetime, most: int) -> list[TimedStep]:
    """The newest `most` steps that ended since ≤ t < until, oldest first."""
    query = (
        "SELECT task_id, attempt, step_no, iteration, phase, outcome, started_at, ended_at, passed, failed "
        "FROM steps INDEXED BY steps_when WHERE ended_at >= ? AND ended_at < ? ORDER BY ended_at DESC LIMIT ?"
    )
    rows = conn.execute(query, (to_text(since), to_text(until), most)).fetchall()
    return [
        TimedStep(
            **{**dict(row), "phase": Phase(row["phase"]), "outcome": Outcome(row["outcome"]),
               "started_at": from_text(row["started_at"]), "ended_at": from_text(row["ended_at"])}
        )
        for row in reversed(rows)
    ]  # fmt: skip


def tasks(conn: Connection, ids: Collection[int]) -> list[TimedTask]:
    """Read these tasks, by their numbers."""
    query = (
        "SELECT id, substr(description, 1, 300) AS description, status, ended_at FROM tasks "
        "WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id"
    )
    return [
        TimedTask(
            id=row["id"], description=row["description"], status=Status(row["status"]),
            ended_at=from_text(row["ended_at"]) if row["ended_at"] else None,
        )
        for row in conn.execute(query, (json.dumps(sorted(ids)),))
    ]  # fmt: skip


def claims(conn: Connection, ids: Collection[int]) -> Mapping[int, list[Claim]]:
    """List the claims of each of these tasks, oldest first."""
    query = (
        "SELECT task_id, at, worker FROM execution_logs INDEXED BY execution_logs_claims "
        "WHERE kind = 'task_claimed' "  # as the index has it
        "AND task_id IN (SELECT value FROM json_each(?)) ORDER BY task_id, at"
    )
    found: dict[int, list[Claim]] = {}
    for row in conn.execute(query, (json.dumps(sorted(ids)),)):
        claim = Claim(at=from_text(row["at"]), worker=row["worker"] or "")
        found.setdefault(row["task_id"], []).append(claim)
    return found


def costs(conn: Connection, since: datetime, until: datetime) -> list[Cost]:
    """List the cost of each call in a span, oldest first."""
    query = "SELECT at, cost_usd FROM model_stats WHERE at >= ? AND at < ? ORDER BY at"
    rows = conn.execute(query, (to_text(since), to_text(until)))
    return [Cost(at=from_text(row["at"]), cost_usd=row["cost_usd"]) for row in rows]
