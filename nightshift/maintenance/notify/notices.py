"""The events that are worth a notice, and the text of the notice.

Notices are made from stored events alone. So the log contains everything that an owner is notified of, and a daemon
that died in between makes the same notice again, under the same id.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum

from nightshift.core.clock import to_text
from nightshift.core.events import Event, Kind, Level
from nightshift.core.tasks.queueing import PauseSource
from nightshift.core.tasks.states import Status

MAX_LINES = 20
MAX_MESSAGE_CHARS = 1000


class NoticeKind(StrEnum):
    """The kinds of notices; `notify_on` selects from them."""

    DONE = "done"
    FAILED = "failed"
    NEEDS_YOU = "needs_you"
    CHECKPOINT = "checkpoint"
    TROUBLE = "trouble"
    TEST = "test"


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """One message to the owner. If a notice is sent twice, both have the same `id`. `at` is ISO 8601, UTC.

    A digest replaces `count` notices that were too many to send one by one. Its `lines` are the titles of the first of
    these notices.
    """

    id: str
    kind: NoticeKind
    title: str
    message: str = ""
    at: str = ""
    event: str = ""
    level: str = Level.INFO
    task_id: int | None = None
    count: int = 1
    lines: tuple[str, ...] = ()

    def as_json(self) -> bytes:
        """Encode the notice as UTF-8 JSON for the command and the URL."""
        return json.dumps(asdict(self), ensure_ascii=False).encode()


_TITLES: Mapping[Kind, str] = {
    Kind.DATABASE_RESTORED: "The database was restored from a copy",
    Kind.BACKUP_FAILED: "The database could not be backed up",
    Kind.DISK_LOW: "The disk is nearly full",
    Kind.SETTINGS_REFUSED: "The new settings have faults",
    Kind.REGRESSION: "A commit broke a test",
    Kind.WAITING: "Tasks wait for something outside them",
    Kind.WORKER_ERROR: "An internal error occurred",
    Kind.MODEL_DOWN: "No model answers",
    Kind.ENVIRONMENT_FAILED: "A part of a repository's environment cannot be made",
}
# Kinds of events that lead to a notice only at the level of errors, because their warnings are about small things.
_ERRORS_ONLY = frozenset({Kind.WORKER_ERROR, Kind.MODEL_DOWN, Kind.REGRESSION, Kind.ENVIRONMENT_FAILED})
# Budgets whose exhaustion gets a notice. A spent budget of a task or a call leads to a question, which has its own
# notice.
_COMMON_BUDGETS = frozenset({"today", "all time"})
# Pauses that a problem causes. Pauses by the owner or by the clock get no notice, because the owner expects them.
_HELD = {
    PauseSource.REVIEW: "Commits wait to be read",
    PauseSource.DISK: "The disk is nearly full",
    PauseSource.PROGRAM: "The daemon has to be restarted",
}


def notice_of(event: Event, name_of: Callable[[int], str]) -> Notice | None:
    """Return the notice for an event; None for most events.

    Args:
        event: the stored event.
        name_of: returns the title of a task, in one line.
    """
    parts = _about(event, name_of)
    if parts is None:
        return None
    kind, title, message = parts
    return Notice(
        id=f"event-{event.id}",
        kind=kind,
        title=title,
        message=message[:MAX_MESSAGE_CHARS],
        at=to_text(event.at) if event.at else "",
        event=event.kind,
        level=event.level,
        task_id=event.task_id,
    )


def _about(event: Event, name_of: Callable[[int], str]) -> tuple[NoticeKind, str, str] | None:
    if event.kind is Kind.TASK_MOVED and event.task_id is not None:
        return _describe_end(event, event.task_id, name_of)
    if event.kind is Kind.ASKED and event.task_id is not None:
        return NoticeKind.NEEDS_YOU, f"Task {event.task_id} asks: {name_of(event.task_id)}", event.message
    if event.kind is Kind.ENVIRONMENT_USED:
        return NoticeKind.NEEDS_YOU, "A repository's environment is used for the first time", event.message
    if event.kind is Kind.CHECKPOINT:
        return NoticeKind.CHECKPOINT, "Checkpoint", event.message
    if event.kind is Kind.HELD_BACK and event.data.get("source") in _HELD:
        return NoticeKind.TROUBLE, _HELD[PauseSource(event.data["source"])], event.message
    if event.kind is Kind.BUDGET_REACHED and event.data.get("budget") in _COMMON_BUDGETS:
        return NoticeKind.TROUBLE, f"The budget of {event.data['budget']} is spent", event.message
    if event.kind in _TITLES and (event.kind not in _ERRORS_ONLY or event.level is Level.ERROR):
        return NoticeKind.TROUBLE, _TITLES[event.kind], event.message
    return None


def _describe_end(event: Event, task_id: int, name_of: Callable[[int], str]) -> tuple[NoticeKind, str, str] | None:
    reason = str(event.data.get("reason") or "")
    match event.data.get("to"):
        case Status.DONE:
            return NoticeKind.DONE, f"Task {task_id} is done: {name_of(task_id)}", reason
        case Status.FAILED:
            return NoticeKind.FAILED, f"Task {task_id} failed: {name_of(task_id)}", reason or event.message
        case _:
            return None


def digest(notices: Sequence[Notice]) -> Notice:
    """Merge several notices into one; the same notices give the same digest."""
    kinds = {notice.kind for notice in notices}
    counts = {kind: sum(each.count for each in notices if each.kind is kind) for kind in NoticeKind if kind in kinds}
    lines = [line for notice in notices for line in (notice.lines or (notice.title,))]
    worst = NoticeKind.TROUBLE if NoticeKind.TROUBLE in kinds else notices[-1].kind
    total = sum(counts.values())
    return Notice(
        id=f"digest-{notices[0].id.split('-')[1]}-{notices[-1].id.split('-')[-1]}",  # ids of the first and last event
        kind=worst if len(kinds) > 1 else notices[0].kind,
        title=f"{total} notices: " + ", ".join(f"{count} {kind}" for kind, count in counts.items()),
        message="\n".join(lines[:MAX_LINES])[:MAX_MESSAGE_CHARS],
        at=notices[-1].at,
        count=total,
        lines=tuple(lines[:MAX_LINES]),
    )
