"""What a task's page shows of those who read along: findings of its readers, and the lessons that it was shown.

Both are read from what was stored as plain JSON, perhaps by an earlier version: what does not fit is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from core.events import Kind
from core.states import Phase
from server.context import AppContext

LESSONS_SHOWN = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownFinding:
    """A finding of a reader or of the checker, which has rules. `place` is path and line; `fix` may be empty."""

    severity: str
    rule: str
    place: str
    reason: str
    fix: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownLesson:
    """A lesson as it was recalled: its kind and id, how near it was, and its age then, in days."""

    about: str
    source: str
    item: int
    score: float
    age_days: float
    attempt: int | None
    iteration: int | None
    phase: Phase | None


def shown_findings(data: Mapping[str, Any]) -> list[ShownFinding]:
    """The findings in the data of a step, as they were reported there."""
    return [_finding(one) for one in mappings(data, "findings")]


def shown_lessons(context: AppContext, task_id: int) -> list[ShownLesson]:
    """The newest lessons that a task was shown, oldest first."""
    events = context.events.last(LESSONS_SHOWN, task_id=task_id, kind=Kind.LESSON_RECALLED)
    return [
        ShownLesson(
            about=str(one.get("about", "")),
            source=str(one.get("kind", "")),
            item=int(number(one.get("id"))),
            score=number(one.get("score")),
            age_days=number(one.get("age_days")),
            attempt=event.attempt,
            iteration=event.iteration,
            phase=event.phase,
        )
        for event in events
        for one in mappings(event.data, "lessons")
    ]


def _finding(one: Mapping[str, Any]) -> ShownFinding:
    path, line = str(one.get("path", "")), one.get("line")
    return ShownFinding(
        severity=str(one.get("severity", "")),
        rule=str(one.get("rule", "")),
        place=f"{path}:{line}" if isinstance(line, int) and line else path,
        reason=str(one.get("message", "")),
        fix=str(one.get("fix", "")),
    )


def mappings(data: Mapping[str, Any], name: str) -> Iterator[Mapping[str, Any]]:
    """The mappings in a list of stored JSON; nothing where there is none."""
    found = data.get(name)
    return (one for one in (found if isinstance(found, list) else []) if isinstance(one, Mapping))


def number(value: object) -> float:
    """A number of stored JSON; 0 where it is none."""
    return float(value) if isinstance(value, int | float) else 0.0
