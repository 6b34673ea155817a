"""Sums of the model usage, from the ledger `model_stats`. Each reply that costs money is in the ledger."""

from __future__ import annotations

from datetime import datetime

from nightshift.core.built_in import BUILT_IN
from nightshift.core.clock import to_text
from nightshift.core.tasks.task import Spent
from nightshift.storage.db.sqlite import Connection

_SUMS = (
    "COALESCE(SUM(calls * (backend <> ?)), 0) AS model_calls, COALESCE(SUM(tokens_in), 0) AS tokens_in, "
    "COALESCE(SUM(tokens_out), 0) AS tokens_out, TOTAL(cost_usd) AS cost_usd, TOTAL(latency_s) AS model_s, "
    "COALESCE(SUM(calls * (cost_usd IS NULL)), 0) AS unpriced FROM model_stats "
)
_SUM = f"SELECT {_SUMS}"
_BY_DAY = f"SELECT substr(at, 1, 10) AS day, {_SUMS} GROUP BY day"


def since(conn: Connection, moment: datetime | None) -> Spent:
    """Sum the usage of all model calls since `moment`; None means of all time."""
    row = conn.execute(_SUM + "WHERE at >= ?", (BUILT_IN, to_text(moment) if moment else "")).fetchone()
    return Spent(**dict(row))


def by_day(conn: Connection) -> dict[str, Spent]:
    """Sum the usage of all model calls by day (UTC). Keys are dates such as 2026-11-26."""
    rows = [dict(row) for row in conn.execute(_BY_DAY, (BUILT_IN,)).fetchall()]
    return {row.pop("day"): Spent(**row) for row in rows}


def of_task(conn: Connection, task_id: int) -> Spent:
    """Sum the usage of all model calls of a task, including calls whose reply broke off or was never read."""
    return Spent(**dict(conn.execute(_SUM + "WHERE task_id = ?", (BUILT_IN, task_id)).fetchone()))
