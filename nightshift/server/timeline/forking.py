"""Creates forks of tasks for the API and for the command line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints

from nightshift.core.errors import InvalidTask, UnknownStep
from nightshift.core.tasks.forking import MAX_NOTE_CHARS, Fork, make_fork_spec
from nightshift.core.tasks.states import DaemonState, Status
from nightshift.core.tasks.task import Task
from nightshift.core.text.strict import without_nul
from nightshift.server.context import AppContext, wait_for
from nightshift.server.schemas import Answer, Sent
from nightshift.storage.db.step_store import StepRow

MOST_MODELS = 8


ModelName = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]


class PlaceIn(Sent):
    """A step of a task. By default it is the last finished step of the newest attempt."""

    attempt: Annotated[int, Field(strict=True, ge=1, lt=2**31)] | None = None
    step_no: Annotated[int, Field(strict=True, ge=0, lt=2**31)] | None = None


class _NotedIn(PlaceIn):
    """Step from which new tasks start. `note` is added to the description of the new tasks."""

    note: Annotated[
        str, StringConstraints(strip_whitespace=True, max_length=MAX_NOTE_CHARS), AfterValidator(without_nul)
    ] = ""


class ForkIn(_NotedIn):
    """Step from which a new task starts, and how the new task differs.

    `model` is the model to which the new task sends its requests first. It names a backend or a model of the settings,
    or both as `backend=model`. `note` is added to the description.
    """

    model: ModelName | None = None


class MatrixIn(_NotedIn):
    """Step from which several forks start. There is one fork for each of `models`, which are named as in `ForkIn`."""

    models: Annotated[list[ModelName], Field(min_length=1, max_length=MOST_MODELS)]


class Forked(Answer):
    """A new fork.

    `source`, `attempt` and `step_no` give the step after which the fork starts. `model` is empty if the settings choose
    the model.
    """

    task_id: int
    status: Status
    source: int
    attempt: int
    step_no: int
    model: str


class Matrix(Answer):
    """The new forks, one for each model in the order of the request. All forks start after the same step."""

    source: int
    attempt: int
    step_no: int
    forks: list[Forked]


def fork(context: AppContext, task_id: int, asked: ForkIn) -> Forked:
    """Submit a task that starts from the state after a step of another task.

    Raises:
        UnknownTask: the source task does not exist.
        UnknownStep: the step does not exist, or is no longer stored.
        InvalidTask: the model is not in the settings, or the note is too long. The error names the field.
    """
    models = [_model(context, asked.model)] if asked.model else [""]
    return _submit(context, task_id, asked, models, held=False).forks[0]


def fork_held(context: AppContext, task_id: int, asked: MatrixIn) -> Matrix:
    """Submit one fork for each model.

    The commits of the forks wait on their branches. On an error no fork is created.

    Raises:
        UnknownTask: the source task does not exist.
        UnknownStep: the step does not exist, or is no longer stored.
        InvalidTask: a model is not in the settings or is named twice, or the note is too long.
    """
    models = [_model(context, name, f"models.{number}") for number, name in enumerate(asked.models)]
    if twice := next((label for label in models if models.count(label) > 1), None):
        raise InvalidTask({"models": f"{twice} is named twice; name each once"})
    return _submit(context, task_id, asked, models, held=True)


def _submit(context: AppContext, task_id: int, asked: _NotedIn, models: Sequence[str], *, held: bool) -> Matrix:
    task = context.queue.get(task_id)
    row = _row(context, task, asked)
    first = Fork(source=task_id, attempt=row.attempt, step_no=row.step_no, noted=bool(asked.note), held=held)
    forks = [replace(first, model=model) for model in models]
    specs = [(make_fork_spec(task.spec, fork, asked.note), fork) for fork in forks]
    sent = wait_for(context.queue.submit_forks(specs, row.work))
    answers = [Forked.from_values(each, fork) for each, fork in zip(sent, forks, strict=True)]
    return Matrix(source=task_id, attempt=row.attempt, step_no=row.step_no, forks=answers)


def _row(context: AppContext, task: Task, asked: PlaceIn) -> StepRow:
    attempt = asked.attempt or task.attempt
    rows = context.steps.course(task.id, attempt)
    steps = [row for row in rows if asked.step_no in (None, row.step_no)]
    if not steps:
        raise UnknownStep(f"task {task.id} has {_why_none(context, task.id, attempt, rows, asked)}")
    if context.steps.work(steps[-1].work) is None:
        raise UnknownStep(f"the case file of step {steps[-1].step_no} of task {task.id} cannot be read any more")
    return steps[-1]


def _why_none(context: AppContext, task_id: int, attempt: int, rows: Sequence[StepRow], asked: PlaceIn) -> str:
    if rows:
        last = rows[-1].step_no
        return f"no step {asked.step_no} in attempt {attempt}; it has 0 to {last}, choose one of them"
    if gone := context.reads.find_pruned(task_id):
        return f"no steps any more: they were pruned on {gone.at:%Y-%m-%d} ({gone.setting})"
    return f"no finished step in attempt {attempt}; a fork begins after one" if attempt else "not started yet"


def _model(context: AppContext, wanted: str, field: str = "model") -> str:
    """Return the label `backend=model` of the requested backend; raises `InvalidTask` if it is not configured."""
    status = context.status()
    if status.state is DaemonState.STOPPED:
        raise InvalidTask({field: "only a running daemon knows which models exist; start it, or leave this out"})
    names = {f"{each.name}={each.model}" if each.model else each.name: each for each in status.models}
    for label, each in names.items():
        if wanted in {label, each.name, each.model}:
            return label
    labels = ", ".join(names) or "none"
    raise InvalidTask({field: f"{wanted!r} is not one of the configured backends: {labels}"})
