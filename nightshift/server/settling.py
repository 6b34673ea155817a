"""Settles a cause of failures: the owner gives the remedy once, and all tasks that failed for this cause are retried.

A remedy is a note, a package or a model. A note and a package are added to the tasks, which are then retried. A model
can only be chosen for a fork, since a task keeps the models that it started with: each task then continues as a new
task from its last finished step. A task that failed only because another task failed gets no remedy; it is retried
after that other task.
"""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from nightshift.core.errors import IllegalMove, InvalidTask, TaskError, UnknownStep
from nightshift.core.tasks.forking import MAX_NOTE_CHARS, NOTHING, Amendment
from nightshift.core.tasks.states import Ending
from nightshift.core.tasks.submission import PackageIn
from nightshift.report.causes import Cause
from nightshift.server.context import AppContext, wait_for
from nightshift.server.query import Bound, Query, moment
from nightshift.server.schemas import Answer, Sent
from nightshift.server.timeline.forking import ForkIn, fork
from nightshift.storage.db.brief_queries import FailedTask


class CausesQuery(Query):
    """Selection of the failed tasks whose causes are listed.

    Tasks that were retried are never selected. Without a bound on the time of the failure, all other failed tasks are
    selected.
    """

    since: Bound | None = Field(
        None, description="only tasks that failed at this time or later; `today` means midnight"
    )
    until: Bound | None = Field(None, description="only tasks that failed before this time")


NoteIn = Annotated[str, StringConstraints(strip_whitespace=True, max_length=MAX_NOTE_CHARS, pattern=r"^[^\x00]*$")]


class SettleIn(Sent):
    """Remedy for a cause of failures. Without a note, a package or a model, the tasks are retried unchanged.

    `note` is added to the description of each task. `package` is added to the packages that each task may use. With
    `model`, each task continues as a fork that sends its requests to this model first. `model` names a backend or a
    model of the settings, or both as `backend=model`. `since` and `until` select tasks by the time of their failure.
    """

    note: NoteIn = ""
    package: PackageIn | None = None
    model: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)] | None = None
    since: Bound | None = None
    until: Bound | None = None

    @model_validator(mode="after")
    def _check_choice(self) -> Self:
        if self.model and self.package:
            raise PydanticCustomError("one", "give a `package` or a `model`: a fork keeps the packages of its task")
        return self


class SettledTask(Answer):
    """Result for one task.

    `as_task` is the retried task, or the new task if it was forked; null if there is an `error`.
    """

    task_id: int
    ok: bool
    as_task: int | None
    error: str


class CauseSettled(Answer):
    """Results for all tasks that failed for the cause."""

    tasks: list[SettledTask]


def causes(context: AppContext, query: CausesQuery | SettleIn) -> list[Cause]:
    """List the causes of tasks that failed and were not retried."""
    return context.reads.list_causes(moment(query.since), moment(query.until) or context.clock())


def settle(context: AppContext, cause_id: str, asked: SettleIn) -> CauseSettled:
    """Apply the remedy to all tasks that failed for a cause, and retry them.

    Raises:
        IllegalMove: no failed task has this cause any more.
    """
    cause = next((each for each in causes(context, asked) if each.id == cause_id), None)
    if cause is None:
        raise IllegalMove("no failed task has this cause any more; its tasks were retried, or there were none")
    return CauseSettled(tasks=[_again(context, task, asked) for task in cause.tasks])


def _again(context: AppContext, task: FailedTask, asked: SettleIn) -> SettledTask:
    try:
        if asked.model and task.ending is not Ending.DEPENDENCY:
            as_task = fork(context, task.id, ForkIn(model=asked.model, note=asked.note)).task_id
        else:
            is_root = task.ending is not Ending.DEPENDENCY
            packages = (asked.package,) if asked.package else ()
            amendment = Amendment(note=asked.note, packages=packages) if is_root else NOTHING
            as_task = wait_for(context.queue.retry(task.id, amendment)).id
    except (TaskError, InvalidTask, UnknownStep) as error:
        return SettledTask(task_id=task.id, ok=False, as_task=None, error=str(error))
    return SettledTask(task_id=task.id, ok=True, as_task=as_task, error="")
