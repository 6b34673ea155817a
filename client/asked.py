"""What the command line asked for, once it is known to make sense."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from client.show import Color
from core.events import Level


class Action(StrEnum):
    """The one thing a call does; the value is how a person asks for it."""

    ADD = "a task"
    RUN = "--run"
    LOAD = "--load-tasks"
    STATUS = "--status"
    LOGS = "--logs"
    HISTORY = "--history"
    SHOW = "--show"
    WAIT = "--wait"
    CANCEL = "--cancel"
    RETRY = "--retry"
    RETRY_FAILED = "--retry-failed"
    PRIORITISE = "--prioritise"
    FORK = "--fork"
    PAUSE = "--pause"
    RESUME = "--resume"
    CHECKPOINT = "--checkpoint-now"
    APPROVALS = "--approvals"
    APPROVE = "--approve"
    DENY = "--deny"
    ANSWER = "--answer"
    VERIFY = "--verify"
    REPORT = "--report"
    DOCTOR = "--doctor"
    EXPORT_MEMORY = "--export-memory"
    IMPORT_MEMORY = "--import-memory"
    EXPORT_TRAINING = "--export-training"
    UNREAD = "--unread"
    REVIEWED = "--reviewed"
    REVERT = "--revert"
    REAPPLY = "--reapply"
    UNDO = "--undo"
    RELOAD = "--reload"
    NOTIFY_TEST = "--notify-test"
    INSTALL_SERVICE = "--install-service"
    UNINSTALL_SERVICE = "--uninstall-service"
    COMPLETION = "--completion"
    PROMPT = "the prompt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One call. `data` is the body of a new task, as the API takes it; `count` how many lines or tasks to show.

    `answer` is what a question is answered with, or a remark on a decision. `name` is a commit's, in the repository
    `repo`, the daemon's own when that is empty, or that of a week, of a file or of a step to fork from, which `model`
    goes on with. `force` overrules tests that fail without what is taken back, `yes` confirms, `deep` allows what takes
    long or costs something.
    """

    action: Action
    data: Mapping[str, Any] = field(default_factory=dict)
    task_id: int = 0
    approval_id: int = 0
    answer: str = ""
    count: int = 0
    path: Path | None = None
    name: str = ""
    repo: str = ""
    model: str = ""
    shell: str = ""
    follow: bool = False
    dry_run: bool = False
    force: bool = False
    yes: bool = False
    deep: bool = False
    level: Level | None = None
    log_task: int | None = None
    as_json: bool = False
    color: Color = Color.AUTO
    home: Path | None = None
