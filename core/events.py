"""Events: the one log that streams, metrics, reports and timelines are readings of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from core.states import Phase


class Level(StrEnum):
    """How much an event wants to be seen; the order is `RANK`."""

    DEBUG = "DEBUG"
    INFO = "INFO"
    WARNING = "WARNING"
    ERROR = "ERROR"


RANK = {level: rank for rank, level in enumerate(Level)}


class Kind(StrEnum):
    """What happened. The text is what `logs/agent.log` and the API call `event`."""

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
    WORKER_RESTARTED = "worker_restarted"
    STEP_FINISHED = "step_finished"
    ITERATION_WARNING = "iteration_warning"
    STUCK = "stuck"
    MODEL_CALLED = "model_called"
    MODEL_REPLAYED = "model_replayed"
    MODEL_FAILED = "model_failed"
    MODEL_FALLBACK = "model_fallback"
    REPAIR_PROGRESS = "repair_progress"
    REPAIR_DECLINED = "repair_declined"
    MODEL_UP = "model_up"
    MODEL_DOWN = "model_down"
    BUDGET_REACHED = "budget_reached"
    SUITE_JUDGED = "suite_judged"
    FILES_DROPPED = "files_dropped"
    GATE_FINDING = "gate_finding"
    REMARK = "remark"
    COMMAND_BLOCKED = "command_blocked"
    ASKED = "asked"
    ANSWERED = "answered"
    PACKAGE_INSTALLED = "package_installed"
    COMMITTED = "committed"
    INTEGRATED = "integrated"
    REVERTED = "reverted"
    REVIEWED = "reviewed"
    REGRESSION = "regression"
    SWEPT = "swept"
    CONFLICT = "conflict"
    PUSHED = "pushed"
    PUSH_FAILED = "push_failed"
    CHECKOUT_LEFT = "checkout_left"
    LESSON_RECALLED = "lesson_recalled"
    LESSON_STORED = "lesson_stored"
    LESSON_RETIRED = "lesson_retired"
    LESSON_RESTORED = "lesson_restored"
    EMBEDDER_READY = "embedder_ready"
    EMBEDDER_MISSING = "embedder_missing"
    WORKER_ERROR = "worker_error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One line of the log. `id` and `at` are given when it is stored; `data` is small JSON (8 KB at most)."""

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
