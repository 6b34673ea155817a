"""Defines the base of the API's answers as pydantic models, the source of JSON, OpenAPI document and live stream."""

from __future__ import annotations

import operator
from typing import Any, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from nightshift.core.clock import Moment
from nightshift.core.events import Event, Kind, Level
from nightshift.core.tasks.queueing import PauseReason
from nightshift.core.tasks.states import DaemonState, Ending, Phase, Status
from nightshift.core.tasks.task import Kind as TaskKind
from nightshift.core.tasks.task import Language, Spent
from nightshift.storage.db.event_log import LogPage
from nightshift.storage.db.step_store import PhaseTime

T = TypeVar("T")
_ADAPTERS: dict[type[Any], TypeAdapter[Any]] = {}


class Answer(BaseModel):
    """A JSON answer with a shape of its own. A value of the program that can be sent unchanged needs no `Answer`."""

    model_config = ConfigDict(extra="forbid", frozen=True, from_attributes=True, defer_build=True)

    @classmethod
    def from_values(cls, *values: object, **own: Any) -> Self:
        """Build the answer from the attributes of `values`; `own` sets the fields that differ.

        If several values have an attribute, the first one counts.
        """
        names = [name for name in cls.model_fields if name not in own]
        fields = {name: getattr(value, name) for value in reversed(values) for name in names if hasattr(value, name)}
        return cls(**fields, **own)


class Failed(Answer):
    """An error. All errors have this shape; `fields` gives the reason for each faulty part of the request.

    If there are too many faults, the first ones are listed, and `more` counts the others; else `more` is absent.
    """

    error: str
    fields: dict[str, str] = Field(default_factory=dict)
    more: int = Field(0, exclude_if=operator.not_)


class Submitted(Answer):
    """The task that was created, or that was created earlier with the same key.

    `differs` names the fields in which the earlier task differs from the request; the earlier task is unchanged. The
    HTTP status says which of both cases it is; `core.tasks.queueing.Submitted` has a field for that.
    """

    task_id: int
    status: Status
    differs: tuple[str, ...] = ()


class Moved(Answer):
    """A task after an action of the owner.

    A cancelled task that runs ends at its next safe point; until then `cancel_requested` is true.
    """

    task_id: int
    status: Status
    cancel_requested: bool


class Iteration(Answer):
    """One iteration of an attempt, 0 if only planning was done; counts are null if no test suite was run.

    Further fields of `storage.db.step_store.IterationRow` are only shown on the timeline.
    """

    iteration: int
    attempt: int
    phases: tuple[PhaseTime, ...]
    passed: int | None
    failed: int | None
    total: int | None


class TaskSummary(Answer):
    """A task as lists show it; a description longer than 4,000 characters is cut and ends in an ellipsis.

    The fields of `core.tasks.task.Task` and of its specification are merged. `cause` is `reason` with the last
    remaining failure moved to the front. `waits_for` lists the tasks that a blocked task waits for; it is empty for
    other tasks. `has_draft` is true if a failed task left its best change on its branch.
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
    """A subtask; `description` is its first line."""

    task_id: int
    status: Status
    ending: Ending | None
    description: str


class Draft(Answer):
    """The best change of a task that ended without a commit. It did not pass its tests and is on `branch`.

    `text` says in one line where the draft is and how its tests ended; `look` is the command that shows the diff.
    `tests` counts the tests of the last run, 0 if none were run; `failing` are the first of the failing tests.
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
    """One task in full; `pruned` says what data of the task was deleted, when, and because of which setting.

    `project` is the project that the owner or the plan chose: empty for the root of the workspace, null while undecided
    and in other repositories. `parent` is the task whose subtask this one is; `children` are its own subtasks of all
    attempts, oldest first. `draft` is the draft of an attempt that ended without a commit.
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
    """A page of tasks; `next` is the `cursor` of the next page, null on the last.

    `total` counts the tasks of all pages; `counts` counts tasks by status, ignoring the filter by status. `next_after`
    is the `after` of the next page, if the order is by id, descending.
    """

    tasks: list[TaskSummary]
    next_after: int | None
    next: str | None
    total: int
    counts: dict[Status, int]


class Installing(Answer):
    """The optional packages whose installation this request started."""

    name: str


class Paused(Answer):
    """State of the daemon after a pause or a resume, and the reasons that still hold tasks back."""

    state: DaemonState
    holds: tuple[PauseReason, ...]


class LogLine(Answer):
    """One event of the log; the field names are the same as in `logs/agent.log`."""

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
    """Events, oldest first: all that pass the filter with ids from `first_id` to `last_id`.

    To get earlier events, send `first_id` as `before`; it is 1 if there are none. To get later events, send `last_id`
    as `after`. There may be fewer events than requested although more pass the filter, because the search time of a
    request is limited.
    """

    events: list[LogLine]
    first_id: int
    last_id: int


def adapter(kind: type[T]) -> TypeAdapter[T]:
    """Return the cached adapter for the JSON of an answer: a model, or a dataclass that is sent unchanged."""
    if kind not in _ADAPTERS:
        _ADAPTERS[kind] = TypeAdapter(kind)
    return _ADAPTERS[kind]


def as_json(answer: object) -> str:
    """Return the answer as JSON."""
    return adapter(type(answer)).dump_json(answer).decode()


def build_models(kind: type[Answer] = Answer) -> None:
    """Build all models now, because several threads must not build one at once.

    The command line has one thread and does not call this, to save the time.
    """
    for model in kind.__subclasses__():
        model.model_rebuild()
        build_models(model)


def log_line(event: Event) -> LogLine:
    """Return the event as the API and the stream show it."""
    assert event.at is not None, "only stored events are shown"
    return LogLine(
        id=event.id,
        timestamp=event.at,
        level=event.level,
        event=event.kind,
        message=event.message,
        task_id=event.task_id,
        attempt=event.attempt,
        iteration=event.iteration,
        phase=event.phase,
        worker=event.worker,
        data=dict(event.data),
    )


def logs_of(page: LogPage) -> Logs:
    """Return the page as the API shows it."""
    return Logs(events=[log_line(event) for event in page.events], first_id=page.first_id, last_id=page.last_id)
