"""Builds the API's answers about tasks from the data of the queue and the steps."""

from __future__ import annotations

from collections.abc import Sequence
from shlex import quote

from nightshift.core.tasks.states import cause_first
from nightshift.core.tasks.task import Family, Task
from nightshift.core.text.plain_data import shallow
from nightshift.server.formatting import Mask, short
from nightshift.server.schemas import Child, Draft, Iteration, TaskDetail, TaskSummary
from nightshift.storage.db.commit_signs import Signs
from nightshift.storage.db.state_store import Commit, describe_draft
from nightshift.storage.db.step_store import IterationRow

MAX_LISTED_CHARS = 4000
MAX_TITLE_CHARS = 200


def task_summary(task: Task, waits_for: Sequence[int], *, has_draft: bool) -> TaskSummary:
    """Return a task as a row of a list, with its description cut."""
    text = task.spec.description
    cut = text if len(text) <= MAX_LISTED_CHARS else text[:MAX_LISTED_CHARS] + "…"
    return TaskSummary.from_values(
        task,
        task.spec,
        task_id=task.id,
        iteration_count=task.iterations,
        description=cut,
        cause=cause_first(task.reason),
        waits_for=waits_for,
        has_draft=has_draft,
    )


def task_detail(
    task: Task,
    rows: Sequence[IterationRow],
    family: Family,
    reverted_by: str | None,
    pruned: Sequence[str],
    waits_for: Sequence[int],
) -> TaskDetail:
    """Return a task with all its fields."""
    return TaskDetail.from_values(
        task,
        task.spec,
        task_id=task.id,
        iteration_count=task.iterations,
        cause=cause_first(task.reason),
        metadata=shallow(task.spec.metadata),  # older versions stored values that JSON cannot hold
        parent=family.parent_id,
        children=[_child(part) for part in family.subtasks],
        reverted_by=reverted_by,
        iterations=_iterations(rows),
        pruned=pruned,
        waits_for=waits_for,
    )


def draft_of(entry: Commit, mask: Mask) -> Draft:
    """Return a task's draft from its entry in the ledger."""
    signs = entry.signs or Signs()
    return Draft.from_values(
        entry,
        text=short(describe_draft(entry), mask),
        tests=signs.tests,
        tests_passed=signs.tests_passed,
        failing=[short(name, mask) for name in signs.failing],
        look=f"git -C {quote(entry.repo)} diff {entry.base[:12]} {quote(entry.branch)}",
    )


def _child(part: Task) -> Child:
    title = part.spec.description.partition("\n")[0][:MAX_TITLE_CHARS]
    return Child.from_values(part, task_id=part.id, description=title)


def _iterations(rows: Sequence[IterationRow]) -> list[Iteration]:
    """Return a row for each iteration of each attempt.

    Steps before the first iteration are stored as iteration 0. They are shown as the beginning of iteration 1, or as a
    row of their own until iteration 1 has begun.
    """
    before = {row.attempt: row.phases for row in rows if row.iteration == 0}
    begun = {row.attempt for row in rows if row.iteration == 1}
    iterations = []
    for row in (row for row in rows if row.iteration or row.attempt not in begun):
        phases = (*before.get(row.attempt, ()), *row.phases) if row.iteration == 1 else row.phases
        iterations.append(Iteration.from_values(row, phases=phases))
    return iterations
