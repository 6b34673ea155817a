"""Applies one action to many tasks: selects the tasks, and reports the result for each and where to continue.

Each task is changed by its own write, so a refused task does not affect the others. The writer puts many writes into
one commit.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import replace
from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, StrictInt, model_validator
from pydantic_core import PydanticCustomError

from nightshift.core.errors import StoreError, StoreFull, TaskError
from nightshift.core.tasks.states import OPEN, Status
from nightshift.core.tasks.task import MAX_PRIORITY, Task
from nightshift.queue.listing import Order, Place
from nightshift.queue.manager import QueueManager
from nightshift.queue.store import Standing
from nightshift.server.context import WRITE_WALL_S, AppContext
from nightshift.server.endpoint import Routes
from nightshift.server.query import MAX_ID, Id
from nightshift.server.routes.tasks import TaskSelection
from nightshift.server.schemas import Answer, Sent

MAX_AT_ONCE = 500

_UPWARDS = Order(descending=False)
routes = Routes()
_log = logging.getLogger(__name__)


class Action(StrEnum):
    """Action that a bulk request applies to each of its tasks."""

    CANCEL = "cancel"
    RETRY = "retry"
    PRIORITISE = "prioritise"


FITTING: Mapping[Action, frozenset[Status]] = {
    Action.CANCEL: OPEN,
    Action.RETRY: frozenset({Status.FAILED, Status.CANCELLED, Status.SCHEDULED}),
    Action.PRIORITISE: frozenset(Status) - {Status.DONE},
}
"""Statuses in which an action may be possible. Other obstacles are found only when the action is tried."""

Priority = Annotated[StrictInt, Field(ge=-MAX_PRIORITY, le=MAX_PRIORITY)]


class FilterIn(TaskSelection):
    """Selection of tasks by the same filter as in the task list. Without any field it selects all tasks."""

    status: frozenset[Status] = frozenset()


class BulkIn(Sent):
    """An action and the tasks that it applies to.

    The tasks are those in `ids`, or those that match `filter` and have ids greater than `after`. With `dry_run` nothing
    is changed, and the answer only counts the tasks.
    """

    action: Action
    ids: Annotated[list[Id], Field(min_length=1, max_length=MAX_AT_ONCE)] | None = None
    filter: FilterIn | None = None
    after: Annotated[int, Field(ge=0, le=MAX_ID)] = 0
    priority: Priority | None = None
    dry_run: bool = False

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if (self.ids is None) == (self.filter is None):
            raise PydanticCustomError("which", "give either `ids` or a `filter`, not both")
        if (self.priority is None) == (self.action is Action.PRIORITISE):
            raise PydanticCustomError("priority", "`prioritise` needs `priority`, and no other action accepts it")
        return self


class BulkResult(Answer):
    """Result for one task.

    `status` is the current status, null if it is not known or the task does not exist. `priority_before` is the
    previous priority. `can_undo` is true if the opposite action restores the task exactly.
    """

    task_id: int
    ok: bool
    status: Status | None
    error: str
    priority_before: int | None = None
    can_undo: bool = False


class BulkDone(Answer):
    """Result of one bulk request.

    `matched` counts the selected tasks, and `fitting` those of them whose status allows the action. With a filter, only
    the fitting tasks are acted on. `next_after` is the `after` that continues with the remaining tasks, null if none
    remain. `results` is empty in a dry run.
    """

    matched: int
    fitting: int
    results: list[BulkResult]
    next_after: int | None


class PriorityIn(Sent):
    """New priority of a task. A task with a higher priority runs sooner."""

    priority: Priority


@routes.endpoint("POST", "/api/tasks/bulk")
def act_on_tasks(context: AppContext, body: BulkIn) -> BulkDone:
    """Cancel, retry or prioritise many tasks. The answer has the result for each task.

    If `next_after` is not null, send it as `after` to continue with the remaining tasks.
    """
    queue = context.queue
    if body.ids is not None:
        ids, more = sorted(set(body.ids)), None
        statuses = queue.statuses(ids)
        matched, fitting = len(ids), sum(status in FITTING[body.action] for status in statuses.values())
    else:
        wanted, fits = (body.filter or FilterIn.model_validate({})).filter(), FITTING[body.action]
        meant = fits & (wanted.statuses or fits)
        behind = Place(value=body.after, task_id=body.after)
        # Oldest first, so that a task is retried before the tasks that depend on it.
        page = queue.list_tasks(replace(wanted, statuses=meant), _UPWARDS, MAX_AT_ONCE + 1, behind)
        matched, fitting = page.total(wanted.statuses), page.total(meant) if meant else 0
        ids = [position.task_id for position in page.places[:MAX_AT_ONCE]] if meant else []
        more = ids[-1] if meant and len(page.places) > MAX_AT_ONCE else None
    results = [] if body.dry_run else _act(queue, body, ids)
    return BulkDone(matched=matched, fitting=fitting, results=results, next_after=None if body.dry_run else more)


def _act(queue: QueueManager, asked: BulkIn, ids: list[int]) -> list[BulkResult]:
    acts: dict[Action, Callable[[int], Future[Task]]] = {
        Action.CANCEL: queue.cancel,
        Action.RETRY: queue.retry,
        Action.PRIORITISE: lambda task_id: queue.prioritise(task_id, asked.priority or 0),
    }
    # Cancel newest first: a task that depends on a cancelled one fails, and could then no longer be cancelled itself.
    turns = reversed(ids) if asked.action is Action.CANCEL else ids
    before = queue.standings(ids)
    begun = {task_id: acts[asked.action](task_id) for task_id in turns}
    end = time.monotonic() + WRITE_WALL_S
    results = (_result(task_id, begun[task_id], end - time.monotonic()) for task_id in ids)
    return [_with_undo(asked.action, each, before[each.task_id]) if each.ok else each for each in results]


def _with_undo(action: Action, done: BulkResult, before: Standing) -> BulkResult:
    can_undo = {
        Action.CANCEL: before.is_untouched and before.status in {Status.QUEUED, Status.BLOCKED},
        Action.RETRY: before.status is Status.CANCELLED,
        Action.PRIORITISE: True,
    }[action]
    return done.model_copy(update={"priority_before": before.priority, "can_undo": can_undo})


def _result(task_id: int, write: Future[Task], wall_s: float) -> BulkResult:
    try:
        task = write.result(max(0.0, wall_s))
        return BulkResult(task_id=task_id, ok=True, status=task.status, error="")
    except (TaskError, StoreFull) as error:
        why = str(error)
    except TimeoutError:
        why = "the database is busy and may still apply this change: check before you send it again"
    except StoreError:
        _log.exception("task %d could not be changed", task_id)
        why = "something went wrong inside Nightshift; its log says what"
    return BulkResult(task_id=task_id, ok=False, status=None, error=why)
