"""Defines pydantic models of the API's answers, for the JSON, the OpenAPI document and the live stream."""

from __future__ import annotations

import operator
from dataclasses import fields
from typing import Any, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from nightshift.core.clock import Moment
from nightshift.core.events import Event, Kind, Level
from nightshift.core.tasks.queueing import PauseReason
from nightshift.core.tasks.states import DaemonState, Ending, Phase, Status
from nightshift.core.tasks.task import Kind as TaskKind
from nightshift.core.tasks.task import Language, Spent
from nightshift.storage.db.step_store import PhaseTime

T = TypeVar("T")
_ADAPTERS: dict[type[Any], TypeAdapter[Any]] = {}


class Answer(BaseModel):
    """Base class of JSON answers.

    A dataclass of the program that can be sent unchanged needs no subclass of `Answer`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, from_attributes=True, defer_build=True)

    @classmethod
    def from_values(cls, *values: object, **own: Any) -> Self:
        """Build the answer from the attributes of `values`. Fields in `own` are set to the values given there.

        If several objects in `values` have the same attribute, the first of these objects is used.
        """
        names = [name for name in cls.model_fields if name not in own]
        copied = {name: getattr(value, name) for value in reversed(values) for name in names if hasattr(value, name)}
        return cls(**copied, **own)


def extend(kind: type[T], value: Any, **own: Any) -> T:
    """Build a dataclass whose class extends that of `value`. Fields in `own` are set to the values given there."""
    copied = {field.name: getattr(value, field.name) for field in fields(value)}
    return kind(**{**copied, **own})


class Sent(BaseModel):
    """Base class of the JSON bodies of requests. Fields that the model does not have are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Failed(Answer):
    """An error. All errors of the API have this form.

    `error` is the message. `fields` gives the reason for each faulty part of the request. If there are too many faults,
    the first ones are listed and `more` counts the rest; otherwise `more` is absent.
    """

    error: str
    fields: dict[str, str] = Field(default_factory=dict)
    more: int = Field(0, exclude_if=operator.not_)


class Submitted(Answer):
    """The task that was created now, or that was created earlier with the same key.

    The HTTP status is 201 if this request created the task, otherwise 200. `differs` names the fields in which the
    earlier task differs from the request; the earlier task is unchanged.
    """

    task_id: int
    status: Status
    differs: tuple[str, ...] = ()


class Moved(Answer):
    """State of a task after an action of the owner.

    A running task that is cancelled ends at its next safe point. Until then `cancel_requested` is true.
    """

    task_id: int
    status: Status
    priority: int
    cancel_requested: bool


class Iteration(Answer):
    """One iteration of an attempt. Iteration 0 means that only planning was done.

    `passed`, `failed` and `total` count tests; they are null if no test suite was run. Further fields of
    `storage.db.step_store.IterationRow` are only shown on the timeline.
    """

    iteration: int
    attempt: int
    phases: tuple[PhaseTime, ...]
    passed: int | None
    failed: int | None
    total: int | None


class TaskSummary(Answer):
    """A task as a row of a list. A description longer than 4,000 characters is cut and ends in an ellipsis.

    The fields are those of `core.tasks.task.Task` and of its specification, merged. `reason` begins with how the task
    ended. `cause` has the reverse order: it begins with the last failure, and the ending follows in brackets. If no
    failure is known, `cause` equals `reason`. `waits_for` lists the tasks that a blocked task waits for; it is empty
    for other tasks. `has_draft` is true if a failed task left its best change on its branch.
    """

    task_id: int
    status: Status
    ending: Ending | None
    reason: str
    cause: str
    description: str
    priority: int
    kind: TaskKind | None
    language: Language
    repo: str | None
    attempt: int
    iteration_count: int
    cancel_requested: bool
    commit: str | None
    branch: str | None
    not_before: Moment | None
    created_at: Moment
    started_at: Moment | None
    ended_at: Moment | None
    spent: Spent
    waits_for: list[int]
    has_draft: bool = False


class Child(Answer):
    """A subtask. `description` holds only the first line of the subtask's description."""

    task_id: int
    status: Status
    ending: Ending | None
    description: str


class Draft(Answer):
    """The best change of a task that ended without a commit. The change did not pass its tests, and is on `branch`.

    `text` says in one line where the draft is and how its tests ended. `look` is the command that shows the diff.
    `tests` counts the tests of the last run, 0 if none were run. `failing` lists the first of the failing tests.
    """

    attempt: int
    branch: str
    commit: str
    text: str
    tests: int
    tests_passed: int
    failing: list[str]
    look: str


class TaskDetail(TaskSummary):
    """One task with all its fields.

    `project` is the project that the owner or the plan chose. It is empty for the root of the workspace. It is null
    while the project is undecided, and for tasks in other repositories. `parent` is the task that this task is a
    subtask of. `children` are its own subtasks from all attempts, oldest first. `draft` is the draft of an attempt that
    ended without a commit. `pruned` says what data of the task was deleted, when, and because of which setting.
    """

    base: str | None
    project: str | None = None
    key: str | None
    depends_on: list[int]
    metadata: dict[str, Any]
    parent: int | None
    children: list[Child]
    reverted_by: str | None = None
    iterations: list[Iteration]
    pruned: list[str]
    draft: Draft | None = None


class Tasks(Answer):
    """A page of tasks.

    `next` is the `cursor` of the next page, null on the last page. `total` counts the tasks of all pages. `counts`
    counts tasks by status, ignoring the filter by status.
    """

    tasks: list[TaskSummary]
    next: str | None
    total: int
    counts: dict[Status, int]


class Installing(Answer):
    """The optional packages whose installation this request started."""

    name: str


class Paused(Answer):
    """State of the daemon after it was paused or resumed.

    `holds` are the reasons that still keep tasks from starting.
    """

    state: DaemonState
    holds: tuple[PauseReason, ...]


class LogEvent(Answer):
    """One event of the log. The fields have the same names as in `logs/agent.log`."""

    id: int
    timestamp: Moment
    level: Level
    event: Kind
    message: str
    task_id: int | None
    attempt: int | None
    iteration: int | None
    phase: Phase | None
    worker: str | None
    data: dict[str, Any]


class Logs(Answer):
    """Events, oldest first: all events that match the filter and have ids from `first_id` to `last_id`.

    To get earlier events, send `first_id` as `before`; `first_id` is 1 if there are no earlier events. To get later
    events, send `last_id` as `after`. There may be fewer events than requested although more match the filter, because
    the search time of a request is limited.
    """

    events: list[LogEvent]
    first_id: int
    last_id: int


def adapter(kind: type[T]) -> TypeAdapter[T]:
    """Return the cached adapter that converts an answer to and from JSON.

    `kind` is a model, or a dataclass that is sent unchanged.
    """
    if kind not in _ADAPTERS:
        _ADAPTERS[kind] = TypeAdapter(kind)
    return _ADAPTERS[kind]


def as_json(answer: object) -> str:
    """Return the answer as JSON."""
    return adapter(type(answer)).dump_json(answer).decode()


def build_models(kind: type[Answer] = Answer) -> None:
    """Build all models now, because several threads must not build the same model at the same time.

    The command line has one thread, and saves the time by not calling this function.
    """
    for model in kind.__subclasses__():
        model.model_rebuild()
        build_models(model)


def log_line(event: Event) -> LogEvent:
    """Return the event as the API and the stream show it."""
    assert event.at is not None, "only stored events are shown"
    return LogEvent.from_values(event, timestamp=event.at, event=event.kind, data=dict(event.data))
