"""The data for a forecast: how long ended tasks took, what they cost, and which tasks are open."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from nightshift.core.built_in import BUILT_IN
from nightshift.core.clock import from_text, midnight
from nightshift.core.tasks.forecast import Conditions, Forecast, MeasuredTask, OpenTask, WorkSettings, forecast
from nightshift.core.tasks.states import Ending, Status
from nightshift.storage.db import spending
from nightshift.storage.db.sqlite import Connection

LATEST = 200
"""Number of newest ended tasks that are measured. Older tasks had other models, settings and repositories."""
SOON = timedelta(days=1)
"""Horizon of the forecast. Tasks that are scheduled for later are not part of this night's work."""
MEASURED = (Ending.COMMITTED, Ending.NO_CHANGE, Ending.GAVE_UP, Ending.STUCK, Ending.TIMEOUT)
"""Endings of tasks on which the agent worked to the end."""

ENOUGH = 10
"""Minimum number of ended tasks of the current model. If there are this many, tasks of other models are left out, since
their times and costs differ.
"""

_CODED = f"backend || '=' || model FROM model_stats WHERE phase = 'CODING' AND backend <> '{BUILT_IN}'"
_AT_WORK = f"SELECT {_CODED} ORDER BY id DESC LIMIT 1"
"""Query for the model that last wrote code.

The built-in engine does not count, because it only tries to answer before a model is asked.
"""
_CODER = f"(SELECT {_CODED} AND task_id = tasks.id GROUP BY 1 ORDER BY COUNT(*) DESC LIMIT 1)"
_WORK = "(SELECT TOTAL(duration_s) FROM iterations WHERE iterations.task_id = tasks.id)"
_ENDED = (
    f"SELECT {_WORK}, spent, {_CODER} FROM tasks WHERE ended_at IS NOT NULL "  # noqa: S608  # a constant
    "AND ending IN (SELECT value FROM json_each(?)) ORDER BY ended_at DESC, id DESC LIMIT ?"
)
_OPEN = (
    f"SELECT id, status, not_before, {_WORK}, spent FROM tasks "  # noqa: S608  # a constant
    "WHERE status IN ('running', 'queued', 'scheduled', 'blocked', 'waiting') "
    "ORDER BY status <> 'running', status <> 'queued', priority DESC, id"
)
_EDGES = (
    "SELECT task_id, depends_on FROM task_dependencies JOIN tasks ON tasks.id = task_id WHERE tasks.status = 'blocked'"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenTasks:
    """Open tasks that can run soon without the owner, and the numbers of open tasks that wait.

    Attributes:
        tasks: the tasks that can run soon.
        for_owner: number of tasks that wait for the owner.
        for_later: number of tasks that wait for a later day.
        for_model: number of tasks that wait for a model.
    """

    tasks: tuple[OpenTask, ...]
    for_owner: int
    for_later: int
    for_model: int


def foreseen(conn: Connection, work: WorkSettings, now: datetime) -> Forecast:
    """Forecast the work on the open tasks. Today's remaining budget is that of the current UTC day."""
    open_ = open_tasks(conn, now)
    left_usd = None
    if work.day_cost_usd is not None:
        left_usd = max(0.0, work.day_cost_usd - spending.since(conn, midnight(now, UTC)).cost_usd)
    conditions = Conditions(now=now, workers=work.workers, quiet_hours=work.quiet_hours, left_today_usd=left_usd)
    measured, model = measure_tasks(conn)
    estimate = forecast(open_.tasks, measured, conditions)
    return replace(
        estimate, model=model, for_owner=open_.for_owner, for_later=open_.for_later, for_model=open_.for_model
    )


def measure_tasks(conn: Connection) -> tuple[list[MeasuredTask], str]:
    """Measure the newest ended tasks, either of the model that wrote code last or of all models.

    Returns the measured tasks and the name of the model, which is empty for all models. The list is empty if no model
    wrote code yet, because the built-in engine's tasks do not show how long other tasks take.
    """
    rows = conn.execute(_ENDED, (json.dumps(MEASURED), LATEST)).fetchall()
    now = conn.execute(_AT_WORK).fetchone()
    model = now[0] if now and sum(row[2] == now[0] for row in rows) >= ENOUGH else ""
    if not any(row[2] for row in rows):
        return [], ""
    counted = [row for row in rows if not model or row[2] in {model, None}]
    return [MeasuredTask(work_s=row[0], cost_usd=_cost_usd(row[1])) for row in counted], model


def open_tasks(conn: Connection, now: datetime) -> OpenTasks:
    """List the open tasks, in the order in which they will be claimed."""
    rows = conn.execute(_OPEN).fetchall()
    waiting = {row[0] for row in rows if row[1] == Status.WAITING}
    dependants: dict[int, set[int]] = {}
    for task_id, depends_on in conn.execute(_EDGES):
        dependants.setdefault(depends_on, set()).add(task_id)
    for_owner = _reach(waiting, dependants)
    for_later = _reach({row[0] for row in rows if row[2] and from_text(row[2]) - now > SOON}, dependants) - for_owner
    running = tuple(row for row in rows if row[0] not in for_owner | for_later)
    return OpenTasks(
        tasks=tuple(
            OpenTask(
                work_s=row[3],
                cost_usd=_cost_usd(row[4]) or 0.0,
                due_in_s=max(0.0, (from_text(row[2]) - now).total_seconds()) if row[2] else 0.0,
                is_running=row[1] == Status.RUNNING,
            )
            for row in running
        ),
        for_owner=len(for_owner),
        for_later=len(for_later),
        for_model=sum(row[1] == Status.SCHEDULED and row[2] is None for row in running),
    )


def _reach(begin: Collection[int], dependants: Mapping[int, Collection[int]]) -> set[int]:
    """Return these tasks, and all tasks that depend on one of them, directly or indirectly."""
    reached, left = set(begin), list(begin)
    while left:
        for task_id in dependants.get(left.pop(), ()):
            if task_id not in reached:
                reached.add(task_id)
                left.append(task_id)
    return reached


def _cost_usd(spent: str) -> float | None:
    """Return the cost in a task's usage record; None if the price of a call is not known."""
    used = json.loads(spent)
    return None if used.get("unpriced") else float(used.get("cost_usd", 0.0))
