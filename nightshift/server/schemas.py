"""Base of the API's answers as pydantic models: answers, OpenAPI document and live stream are made from these alone."""

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
    """A JSON answer of a shape of its own. Where a value of ours is sent as it is, it is the answer itself."""

    model_config = ConfigDict(extra="forbid", frozen=True, from_attributes=True, defer_build=True)

    @classmethod
    def from_values(cls, *values: object, **own: Any) -> Self:
        """The answer whose fields are those of values, the first that has one, except those given: they differ."""
        names = [name for name in cls.model_fields if name not in own]
        fields = {name: getattr(value, name) for value in reversed(values) for name in names if hasattr(value, name)}
        return cls(**fields, **own)


class Failed(Answer):
    """Every error has this shape; `fields` names the parts of the request that were wrong, and why.

    Of many faults the first are told; then `more` is there and says how many others there are.
    """

    error: str
    fields: dict[str, str] = Field(default_factory=dict)
    more: int = Field(0, exclude_if=operator.not_)


class Submitted(Answer):
    """The task that was made, or that the same key made before.

    `differs` names the fields in which that earlier task is another one than what was sent; it stays as it was. Which
    of both it is says the HTTP status, where `core.tasks.queueing.Submitted` has a field.
    """

    task_id: int
    status: Status
    differs: tuple[str, ...] = ()


class Moved(Answer):
    """A task after a person acted on it. A running task ends at its next safe point: `cancel_requested`."""

    task_id: int
    status: Status
    cancel_requested: bool


class Iteration(Answer):
    """One try of one attempt, 0 while only planning was done; counts are null while no suite was run.

    What else is known of it (`storage.db.step_store.IterationRow`) is for the timeline.
    """

    iteration: int
    attempt: int
    phases: tuple[PhaseTime, ...]
    passed: int | None
    failed: int | None
    total: int | None


class TaskSummary(Answer):
    """A task as lists show it; a description beyond 4,000 characters is cut and ends in an ellipsis.

    The fields of `core.tasks.task.Task` and of its specification stand side by side here. `cause` is `reason` with the
    failure first that was left at the end. `waits_for` are the tasks that a blocked one waits for; empty for others.
    `has_draft` tells that one which failed left its best change on its branch.
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
    """A subtask that a task was split into; `description` is its first line."""

    task_id: int
    status: Status
    ending: Ending | None
    description: str


class Draft(Answer):
    """The best change of a task that ended without a commit, which did not pass and stands on `branch`.

    `text` says in a line where it is and how its tests ended, `look` is the command that shows what it changes. `tests`
    counts those of its last run, 0 where none was run; `failing` are the first of those that do not pass.
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
    """One task in full; `pruned` says what of it is no longer kept, when it went, and by which setting.

    `project` is where it works, as its owner or its plan said: empty for the root of the workspace, null while that is
    open and in other repositories. `parent` is the task that this one is a subtask of, `children` are its own subtasks
    over all attempts, oldest first. `draft` is what an attempt left that ended without a commit.
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

    `total` counts the tasks of all pages, `counts` those of each status as if none was asked for. `next_after` is the
    `after` of the next page in the order by id, downwards.
    """

    tasks: list[TaskSummary]
    next_after: int | None
    next: str | None
    total: int
    counts: dict[Status, int]


class Installing(Answer):
    """The optional packages that are being installed from now on."""

    name: str


class Paused(Answer):
    """The daemon's state after a pause or a resume, and what holds tasks back then."""

    state: DaemonState
    holds: tuple[PauseReason, ...]


class LogLine(Answer):
    """One event of the log; the names are those of `logs/agent.log`."""

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

    `first_id` is the `before` that asks for what precedes, 1 when nothing does; `last_id` the `after` that asks for
    what follows. There may be fewer events than asked for although more pass the filter: a request looks only so long.
    """

    events: list[LogLine]
    first_id: int
    last_id: int


def adapter(kind: type[T]) -> TypeAdapter[T]:
    """Reads and writes the JSON of an answer: a model, or a dataclass that is sent as it is."""
    if kind not in _ADAPTERS:
        _ADAPTERS[kind] = TypeAdapter(kind)
    return _ADAPTERS[kind]


def as_json(answer: object) -> str:
    """The answer as it is sent."""
    return adapter(type(answer)).dump_json(answer).decode()


def build_models(kind: type[Answer] = Answer) -> None:
    """Build all models now, for several threads must not build one at once; the command line is spared the time."""
    for model in kind.__subclasses__():
        model.model_rebuild()
        build_models(model)


def log_line(event: Event) -> LogLine:
    """The event as the API and the stream show it."""
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
    """The page as the API shows it."""
    return Logs(events=[log_line(event) for event in page.events], first_id=page.first_id, last_id=page.last_id)
