"""How a task that was split waits for its parts: they are submitted, and it is blocked, in one transaction.

A daemon that dies before that transaction finds the plan in the task's case file and carries it out again; one that
dies after it finds the parts by their keys. Either way each is there once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from core.states import Status
from core.subtasks import Part, part_key, whole_of
from core.tasks import Spent, Task
from db import spending
from db import task_rows as rows
from db.sqlite import Connection
from db.task_moves import TaskMoves


def split(conn: Connection, moves: TaskMoves, owned: tuple[int, int], reason: str, parts: Sequence[Part]) -> Task:
    """Submit the parts of a running task, and let it wait for those that are open.

    One whose owner has cancelled it meanwhile ends, and has no parts.

    Args:
        conn: the writer's connection.
        moves: makes the moves.
        owned: the task's id, and the fence under which it runs.
        reason: what it waits for, in a line.
        parts: what it is split into.

    Raises:
        StaleFence: the task is no longer this worker's.
    """
    task = rows.owned(conn, *owned).task
    left = moves.leave(conn, task, Status.BLOCKED, reason, {**spending.by_now(conn, task), "resume": 1})
    if left.status is not Status.BLOCKED:
        return left
    ids = list[int]()
    for number, part in enumerate(parts, 1):
        key, needs = part_key(task.id, task.attempt, number), tuple(ids[at] for at in part.after)
        spec = replace(part.spec, key=key, depends_on=needs)
        ids.append(moves.admit(conn, spec, "depends_on").task_id)  # one that is there already is found by its key
    return moves.settle(conn, left)


def spent(conn: Connection, task_id: int) -> Spent:
    """What models were used for on the parts of a task since its owner last asked for it."""
    entry = rows.read(conn, task_id)
    before = entry.task.attempt - entry.tries
    parts = (part.task for part in rows.parts(conn, task_id))
    counted = [part.id for part in parts if (whole_of(part.spec.key) or (0, 0))[1] > before]
    return sum((spending.of_task(conn, part) for part in counted), Spent())
