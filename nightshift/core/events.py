"""Events: the single log from which streams, metrics, reports and timelines are derived."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

from nightshift.core.tasks.queueing import PauseSource
from nightshift.core.tasks.states import Ending, Phase, Status

if TYPE_CHECKING:
    from nightshift.core.tasks.change_checks import AskKind


class Level(StrEnum):
    """The importance of an event; `RANK` gives the order."""

    DEBUG = "DEBUG"
    INFO = "INFO"
    WARNING = "WARNING"
    ERROR = "ERROR"


RANK = {level: rank for rank, level in enumerate(Level)}


class Kind(StrEnum):
    """Kinds of events. The text is the value of `event` in `logs/agent.log` and in the API."""

    DAEMON_STARTED = "daemon_started"
    DAEMON_STOPPED = "daemon_stopped"
    PAUSED = "paused"
    RESUMED = "resumed"
    HELD_BACK = "held_back"
    LET_GO = "let_go"
    CHECKPOINT = "checkpoint"
    STATE_SAVED = "state_saved"
    SETTINGS_RELOADED = "settings_reloaded"
    SETTINGS_REFUSED = "settings_refused"
    CLOCK_JUMPED = "clock_jumped"
    DATABASE_RESTORED = "database_restored"
    BACKUP_FAILED = "backup_failed"
    DISK_LOW = "disk_low"
    PRUNED = "pruned"
    ORPHANS_SWEPT = "orphans_swept"
    NOTIFIED = "notified"
    NOTIFY_FAILED = "notify_failed"
    INBOX_READ = "inbox_read"
    INBOX_REJECTED = "inbox_rejected"
    TASK_SUBMITTED = "task_submitted"
    TASK_CLAIMED = "task_claimed"
    TASK_MOVED = "task_moved"
    TASK_RECOVERED = "task_recovered"
    TASK_CANCEL_REQUESTED = "task_cancel_requested"
    TASK_PRIORITISED = "task_prioritised"
    OWNER_SAID = "owner_said"
    WORKER_RESTARTED = "worker_restarted"
    STEP_FINISHED = "step_finished"
    ITERATION_WARNING = "iteration_warning"
    STUCK = "stuck"
    MODEL_CALLED = "model_called"
    MODEL_REPLAYED = "model_replayed"
    MODEL_INTERRUPTED = "model_interrupted"
    MODEL_FAILED = "model_failed"
    MODEL_FALLBACK = "model_fallback"
    AGENT_REFUSED = "agent_refused"
    REPAIR_PROGRESS = "repair_progress"
    REPAIR_DECLINED = "repair_declined"
    MODEL_UP = "model_up"
    MODEL_DOWN = "model_down"
    BUDGET_REACHED = "budget_reached"
    BUDGET_SHORT = "budget_short"
    SUITE_JUDGED = "suite_judged"
    FILES_DROPPED = "files_dropped"
    REPLY_REFUSED = "reply_refused"
    REPOSITORY_READ = "repository_read"
    GATE_FINDING = "gate_finding"
    REMARK = "remark"
    COMMAND_BLOCKED = "command_blocked"
    ASKED = "asked"
    ANSWERED = "answered"
    PACKAGE_INSTALLED = "package_installed"
    ENVIRONMENT_USED = "environment_used"
    ENVIRONMENT_MADE = "environment_made"
    ENVIRONMENT_FAILED = "environment_failed"
    TOOL_STARTED = "tool_started"
    TOOL_CALLED = "tool_called"
    TOOL_SERVER_FAILED = "tool_server_failed"
    COMMITTED = "committed"
    INTEGRATED = "integrated"
    COMMIT_RECORDED = "commit_recorded"
    DRAFT_LEFT = "draft_left"
    DISCARDED = "discarded"
    REVERTED = "reverted"
    REVIEWED = "reviewed"
    REGRESSION = "regression"
    VERIFY_STARTED = "verify_started"
    VERIFY_CANCELLED = "verify_cancelled"
    VERIFIED = "verified"
    SWEPT = "swept"
    CONFLICT = "conflict"
    PUSHED = "pushed"
    PUSH_FAILED = "push_failed"
    CHECKOUT_LEFT = "checkout_left"
    HUB_JOINED = "hub_joined"
    HUB_AWAY = "hub_away"
    HUB_REFUSED = "hub_refused"
    HUB_TASK = "hub_task"
    FORGE_TASK = "forge_task"
    FORGE_PROPOSED = "forge_proposed"
    FORGE_FAILED = "forge_failed"
    LESSON_RECALLED = "lesson_recalled"
    LESSON_STORED = "lesson_stored"
    LESSON_RETIRED = "lesson_retired"
    LESSON_RESTORED = "lesson_restored"
    EMBEDDER_READY = "embedder_ready"
    EMBEDDER_MISSING = "embedder_missing"
    EXTRA_INSTALLING = "extra_installing"
    EXTRA_INSTALLED = "extra_installed"
    EXTRA_FAILED = "extra_failed"
    WAITING = "waiting"
    WORKER_ERROR = "worker_error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One line of the log. `id` and `at` are set when the event is stored; `data` is JSON of at most 8 KB."""

    kind: Kind
    level: Level = Level.INFO
    message: str = ""
    task_id: int | None = None
    attempt: int | None = None
    iteration: int | None = None
    phase: Phase | None = None
    worker: str | None = None
    data: Mapping[str, Any] = field(default_factory=dict)
    id: int = 0
    at: datetime | None = None


_BOUND = ("task_id", "attempt", "iteration", "phase", "worker")
"""The fields of an event that an `Emitter` may bind."""
Sink = Callable[[Event], None]
"""Functions that accept an event outside a transaction. They never raise an error, and never block on I/O for long."""


@dataclass(frozen=True, slots=True)
class Emitter:
    """Emits events with bound fields, like a structlog logger: `bind` returns a copy with more fields.

    The object is also a sink: an event that was made elsewhere gets the bound value of each field that the event leaves
    unset.
    """

    sink: Sink
    task_id: int | None = None
    attempt: int | None = None
    iteration: int | None = None
    phase: Phase | None = None
    worker: str | None = None

    def bind(self, **fields: Any) -> Emitter:
        """Return a copy in which these fields are bound too; None keeps a field's earlier value."""
        return replace(self, **{name: value for name, value in fields.items() if value is not None})

    def emit(self, kind: Kind, message: str = "", /, *, level: Level = Level.INFO, **data: Any) -> None:
        """Emit an event. `data` contains small JSON values of the types defined below, on which readers rely."""
        self(Event(kind=kind, level=level, message=message, data=data))

    def __call__(self, event: Event) -> None:
        """Pass an event on, after setting each field that it leaves unset to the bound value."""
        unset = (name for name in _BOUND if getattr(event, name) is None)
        self.sink(replace(event, **{name: getattr(self, name) for name in unset}))


# The classes below describe the content of `data` by kind. The names are stored, so they must not change.


MoveData = TypedDict("MoveData", {"from": Status, "to": Status, "ending": Ending | None, "reason": str})
"""TASK_MOVED, TASK_CLAIMED and TASK_RECOVERED: the statuses before and after, and the reason.

This is not a class, because `from` is a Python keyword.
"""


class PauseData(TypedDict):
    """PAUSED, RESUMED, HELD_BACK and LET_GO: a reason why no task is claimed, and the source of that reason."""

    source: PauseSource
    reason: str


class ApprovalData(TypedDict):
    """ASKED and ANSWERED: a decision of the owner; `granted` is None until the owner decides."""

    approval: int
    kind: AskKind
    subject: str
    granted: bool | None


class BackendData(TypedDict):
    """MODEL_UP, MODEL_DOWN and MODEL_REPLAYED: the backend and the model."""

    backend: str
    model: str


class CallData(TypedDict):
    """MODEL_CALLED: the details of one reply.

    `saved` names the call that the built-in engine replaced. `route` says why this model was asked first. `protocol`
    says how tools were offered. `cached_tokens` counts the prompt's tokens that came from a vendor's cache. As in all
    events of a request, `step_no` is added.
    """

    backend: str
    model: str
    tokens_in: int
    tokens_out: int
    estimated: bool
    cost_usd: float | None
    latency_s: float
    finish: str
    temperature: float | None
    escalation: int
    saved: NotRequired[str]
    protocol: NotRequired[str]
    cached_tokens: NotRequired[int]
    route: NotRequired[Mapping[str, Any]]


CallFailureData = TypedDict(
    "CallFailureData",
    {"backend": str, "model": str, "error": str, "try": int, "retry_in_s": float | None, "circuit": str},
)
"""MODEL_FAILED: the number of the failed try, and the error. `retry_in_s` is the number of seconds until the next try,
or None if there is none.
"""


FallbackData = TypedDict("FallbackData", {"from": str, "to": str})
"""MODEL_FALLBACK: the label of the backend that should have answered, and that of the backend that did."""


class ToolCalledData(TypedDict):
    """TOOL_CALLED: the result of a call. `brief` describes the call in a few words, as in the message of TOOL_STARTED.

    `chars` is the length of the result. `changed` is True if the call changed files.
    """

    name: str
    brief: str
    ok: bool
    took_s: float
    chars: int
    changed: bool


class BudgetData(TypedDict):
    """BUDGET_REACHED: the name of the budget, as in `models.budgets`."""

    budget: str


class DroppedData(TypedDict):
    """FILES_DROPPED: paths that were not used, each with the reason."""

    dropped: Mapping[str, str]


class FindingData(TypedDict):
    """GATE_FINDING and COMMAND_BLOCKED: a finding in a change. `line` counts from 1; 0 means that there is no line."""

    rule: str
    severity: str
    path: NotRequired[str]
    line: NotRequired[int]
    argv: NotRequired[list[str]]
    """The command that the change would run, shortened."""
    pattern: NotRequired[str]
    """The pattern that the command matched, without the name of the rule's group."""


class EnvironmentData(TypedDict):
    """ENVIRONMENT_USED, _MADE and _FAILED: the digest of the environment, and the first files that declare it."""

    digest: str
    sources: list[str]


class BlockedCommandData(TypedDict):
    """COMMAND_BLOCKED, when the command is a task's own test command."""

    argv: list[str]
    pattern: str


class RemarkData(TypedDict):
    """REMARK: one finding of a reviewer. `blocks` is True if it sends the change back."""

    severity: str
    path: str
    line: int
    message: str
    fix: str
    blocks: NotRequired[bool]


class RecalledLesson(TypedDict):
    """A lesson in `RecalledData`: its id, its similarity (0 to 1), its age, and its first line."""

    id: int
    kind: str
    score: float
    age_days: float
    about: str


class RecalledData(TypedDict):
    """LESSON_RECALLED: the lessons that the memory recalled for an attempt."""

    lessons: list[RecalledLesson]


class EscalationData(TypedDict):
    """STUCK and LESSON_STORED: how often the attempt was stuck."""

    escalation: int


class JudgedData(TypedDict):
    """SUITE_JUDGED in phase TESTING: the verdict on a change.

    `tests` maps each result to the number of tests with that result. `label` is the label of the evidence. `kinds` are
    the kinds of failures.
    """

    tests: Mapping[str, int]
    label: str
    reason: str
    passed: bool
    suite_s: float
    kinds: list[str]


class CommitData(TypedDict):
    """The commit and the branch that the event is about.

    This is the data of COMMITTED, INTEGRATED, COMMIT_RECORDED, DRAFT_LEFT, DISCARDED and CONFLICT, and of SUITE_JUDGED
    if a merged tree was judged.
    """

    commit: str
    branch: str


class RegressionData(TypedDict):
    """REGRESSION: test files that fail, and the commit that broke them."""

    tests: list[str]
    commit: str


class RevertedData(TypedDict):
    """REVERTED: the commit that was reverted, or restored if `reapplied`, and the new commit `by` that did this."""

    commit: str
    by: str
    reapplied: bool


class VerifiedData(TypedDict):
    """VERIFIED: the result of checking a commit's evidence again. Each check has a name, a result and a detail."""

    commit: str
    judgement: str
    sentence: str
    took_s: float
    checks: list[list[str]]


class ErrorData(TypedDict):
    """WORKER_ERROR: the trace of an unexpected exception."""

    trace: str
