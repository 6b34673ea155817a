"""Reads the findings on a task's changes, and the lessons that the task was shown, for its page.

Both are stored as plain JSON, possibly by an earlier version. Values of an unexpected type are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from nightshift.core.events import Kind
from nightshift.server.context import AppContext
from nightshift.server.formatting import Mask, short
from nightshift.server.timeline.timeline_answers import RecallRow
from nightshift.storage.db.event_log import EventFilter
from nightshift.storage.memory.recall_log import Assignment

LESSONS_SHOWN = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownFinding:
    """A finding of a reader (a model that reviews or audits a change) or of the static checker.

    `rule` is set only by the checker. `place` is the path and line. `fix` may be empty.
    """

    severity: str
    rule: str
    place: str
    reason: str
    fix: str


def show_findings(data: Mapping[str, Any], mask: Mask) -> list[ShownFinding]:
    """Return the findings that are stored in the data of a step."""
    return [_finding(finding, mask) for finding in mappings(data, "findings")]


def _finding(finding: Mapping[str, Any], mask: Mask) -> ShownFinding:
    path, line = str(finding.get("path", "")), finding.get("line")
    return ShownFinding(
        severity=short(str(finding.get("severity", "")), mask),
        rule=short(str(finding.get("rule", "")), mask),
        place=short(f"{path}:{line}" if isinstance(line, int) and line else path, mask),
        reason=short(str(finding.get("message", "")), mask, 2000),
        fix=short(str(finding.get("fix", "")), mask, 2000),
    )


def show_lessons(context: AppContext, task_id: int) -> list[RecallRow]:
    """Return the newest lessons that a task was shown, oldest first. They are read from the log."""
    events = context.events.last(LESSONS_SHOWN, EventFilter(task_id=task_id, kind=Kind.LESSON_RECALLED))
    return [
        RecallRow(
            attempt=event.attempt or 0,
            kind=short(str(lesson.get("kind", "")), context.mask),
            item=int(number(lesson.get("id"))),
            about=short(str(lesson.get("about", "")), context.mask),
            arm=Assignment.SHOWN,
            score=number(lesson.get("score")),
            age_days=number(lesson.get("age_days")),
            iteration=event.iteration,
            phase=event.phase,
            solved=None,
        )
        for event in events
        for lesson in mappings(event.data, "lessons")
    ]


def mappings(data: Mapping[str, Any], name: str) -> Iterator[Mapping[str, Any]]:
    """Yield the mappings in a list of stored JSON; yield nothing if the value is not a list."""
    values = data.get(name)
    return (value for value in (values if isinstance(values, list) else []) if isinstance(value, Mapping))


def number(value: object) -> float:
    """Return a value of stored JSON as a number; 0 if it is not a number."""
    return float(value) if isinstance(value, int | float) else 0.0
