"""Serves the causes of failures, and settles them: all tasks that failed for a cause are retried with one remedy.

A remedy is a note, a package or a model. A note and a package are added to the tasks, which are then retried. A model
can only be chosen for a fork, since a task keeps the models that it started with: each task then continues as a new
task from its last finished step. A task that failed only because another task failed gets no remedy; it is retried
after that other task.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Self

from pydantic import Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from nightshift.core.clock import Moment
from nightshift.core.errors import IllegalMove, InvalidTask, TaskError, UnknownStep
from nightshift.core.tasks.forking import MAX_NOTE_CHARS, NOTHING, Amendment
from nightshift.core.tasks.states import Ending
from nightshift.core.tasks.submission import PackageIn
from nightshift.report.causes import Cause
from nightshift.server.context import AppContext, wait_for
from nightshift.server.endpoint import Routes
from nightshift.server.formatting import Mask, short
from nightshift.server.query import Bound, Query, moment
from nightshift.server.schemas import Answer, Sent
from nightshift.server.timeline.forking import ForkIn, fork
from nightshift.storage.db.brief_queries import FailedTask

MOST_CAUSES, SHOWN = 20, 20
"""Maximum number of causes in an answer, and maximum number of tasks listed for each cause."""
routes = Routes()


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


class FailedRow(Answer):
    """A task that failed for a cause. `title` is the first line of its description."""

    task_id: int
    title: str
    repo: str
    reason: str
    ended_at: Moment


class CauseRow(Answer):
    """A cause for which tasks failed.

    `title` states the cause in one line. `module` is the missing module if a missing module is the cause, otherwise
    empty. `count` counts all tasks that failed for this cause, and `tasks` lists the first of them.
    """

    id: str
    title: str
    ending: Ending | None
    module: str
    count: int
    tasks: list[FailedRow]


class Causes(Answer):
    """The most frequent causes of failures. `more_causes` counts the causes that are not listed."""

    causes: list[CauseRow]
    more_causes: int


@routes.endpoint("GET", "/api/causes")
def list_causes(context: AppContext, query: CausesQuery) -> Causes:
    """List the causes of failed tasks that were not retried, most frequent first."""
    return Causes(**cause_fields(_read(context, query), context.mask))


@routes.endpoint("POST", "/api/causes/{cause_id}/retry")
def settle_cause(context: AppContext, cause_id: str, body: SettleIn | None) -> CauseSettled:
    """Settle a cause and retry all tasks that failed for it. The answer has the result for each task."""
    asked = body or SettleIn()
    cause = next((each for each in _read(context, asked) if each.id == cause_id), None)
    if cause is None:
        raise IllegalMove("no failed task has this cause any more; its tasks were retried, or there were none")
    return CauseSettled(tasks=[_again(context, task, asked) for task in cause.tasks])


def _read(context: AppContext, query: CausesQuery | SettleIn) -> list[Cause]:
    return context.reads.list_causes(moment(query.since), moment(query.until) or context.clock())


def cause_fields(causes: Sequence[Cause], mask: Mask) -> dict[str, Any]:
    """Return the fields `causes` and `more_causes` of an answer."""
    return {
        "causes": [_row(cause, mask) for cause in causes[:MOST_CAUSES]],
        "more_causes": max(0, len(causes) - MOST_CAUSES),
    }


def _row(cause: Cause, mask: Mask) -> CauseRow:
    """Return a cause as the API shows it, with its texts shortened and secrets masked."""
    tasks = [
        FailedRow(
            task_id=task.id,
            title=short(task.title.partition("\n")[0], mask),
            repo=task.repo,
            reason=short(task.reason, mask),
            ended_at=task.ended_at,
        )
        for task in cause.tasks[:SHOWN]
    ]
    return CauseRow.from_values(cause, title=short(cause.title, mask), count=len(cause.tasks), tasks=tasks)


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
