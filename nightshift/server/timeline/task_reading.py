"""Findings of a task's readers, and the lessons that the task was shown, for its page.

Both are read from what was stored as plain JSON, perhaps by an earlier version: what does not fit is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from nightshift.core.events import Kind
from nightshift.server.context import AppContext
from nightshift.server.formatting import Mask, short
from nightshift.server.timeline.timeline_answers import RecallRow
from nightshift.storage.memory.recall_log import Assignment

LESSONS_SHOWN = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownFinding:
    """A finding of a reader or of the checker, which has rules. `place` is path and line; `fix` may be empty."""

    severity: str
    rule: str
    place: str
    reason: str
    fix: str


def show_findings(data: Mapping[str, Any], mask: Mask) -> list[ShownFinding]:
    """The findings in the data of a step, as they were reported there."""
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
    """The newest lessons that a task was shown, oldest first, as the log tells of them."""
    events = context.events.last(LESSONS_SHOWN, task_id=task_id, kind=Kind.LESSON_RECALLED)
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
    """The mappings in a list of stored JSON; nothing where there is none."""
    values = data.get(name)
    return (value for value in (values if isinstance(values, list) else []) if isinstance(value, Mapping))


def number(value: object) -> float:
    """A number of stored JSON; 0 where it is none."""
    return float(value) if isinstance(value, int | float) else 0.0
