"""Tasks as the API answers them: the models of `server.schemas`, filled from what the queue and the steps know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from core.plain_data import shallow
from core.subtasks import Family
from core.tasks import Task
from server.schemas import Child, Iteration, TaskDetail, TaskSummary

if TYPE_CHECKING:
    from db.step_store import IterationRow

MAX_LISTED_CHARS = 4000
MAX_TITLE_CHARS = 200


def task_summary(task: Task) -> TaskSummary:
    """The task as a list shows it."""
    text = task.spec.description
    cut = text if len(text) <= MAX_LISTED_CHARS else text[:MAX_LISTED_CHARS] + "…"
    return TaskSummary.model_validate({**_fields(task), "description": cut})


def task_detail(task: Task, rows: Sequence[IterationRow], family: Family, pruned: Sequence[str] = ()) -> TaskDetail:
    """The task in full."""
    spec = task.spec
    more = {
        "base": spec.base,
        "key": spec.key,
        "depends_on": list(spec.depends_on),
        "metadata": shallow(spec.metadata),  # older versions took what no answer can hold
        "parent": family.whole,
        "children": [_child(part) for part in family.subtasks],
        "iterations": _iterations(rows),
        "pruned": list(pruned),
    }
    return TaskDetail.model_validate({**_fields(task), **more})


def _child(part: Task) -> Child:
    title = part.spec.description.partition("\n")[0][:MAX_TITLE_CHARS]
    return Child(task_id=part.id, status=part.status, ending=part.ending, description=title)


def _iterations(rows: Sequence[IterationRow]) -> list[Iteration]:
    """One row for each try; what came before the first try (iteration 0) is shown as its beginning."""
    before = {row.attempt: row.phases for row in rows if row.iteration == 0}
    begun = {row.attempt for row in rows if row.iteration == 1}
    found = []
    for row in (row for row in rows if row.iteration or row.attempt not in begun):
        phases = (*before.get(row.attempt, ()), *row.phases) if row.iteration == 1 else row.phases
        found.append(Iteration.model_validate(replace(row, phases=phases)))
    return found


def _fields(task: Task) -> Mapping[str, Any]:
    spec = task.spec
    same = ("status", "ending", "reason", "attempt", "cancel_requested", "commit", "branch", "spent")
    times = ("not_before", "created_at", "started_at", "ended_at")
    asked = ("description", "priority", "kind", "language", "repo")
    return {
        "task_id": task.id,
        "iteration_count": task.iterations,
        **{name: getattr(task, name) for name in (*same, *times)},
        **{name: getattr(spec, name) for name in asked},
    }
