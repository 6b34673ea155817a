"""What was learned earlier, brought into the case file: few lessons, each once, never more than the settings allow."""

from __future__ import annotations

from dataclasses import replace

from agent.services import AgentServices
from core.events import Event, Kind
from core.states import Phase
from core.work import Case, Lesson, Work

_QUERY_CHARS = 4000


async def with_lessons(case: Case, work: Work, tools: AgentServices, query: str, phase: Phase, *, most: int) -> Work:
    """The case file with up to `most` more lessons that are near the query; raises what memory raises.

    Lessons stay in the case file: a step that is resumed sees the same ones, and at the end each is scored by whether
    it helped.
    """
    room = min(most, tools.settings.recall_limit - len(work.lessons))
    if room <= 0:
        return work
    known = {lesson.id for lesson in work.lessons}
    asked = room + len(known)
    found = await tools.memory.recall(query[:_QUERY_CHARS], asked, task_id=case.task.id, attempt=work.attempt)
    new = tuple(lesson for lesson in found if lesson.id not in known)[:room]
    if new:
        tools.emit(
            Event(
                kind=Kind.LESSON_RECALLED,
                message=f"recalled {len(new)} lesson{'s' if len(new) != 1 else ''}",
                task_id=case.task.id,
                attempt=work.attempt,
                iteration=work.iteration,
                phase=phase,
                data={"lessons": [_plain(lesson) for lesson in new]},
            )
        )
    return replace(work, lessons=(*work.lessons, *new))


def _plain(lesson: Lesson) -> dict[str, object]:
    """A lesson for the timeline: which one, how near, how old."""
    first = lesson.text.strip().split("\n", 1)[0][:160]
    age_days = round(lesson.age_s / 86_400, 1)
    return {"id": lesson.id, "kind": lesson.source, "score": lesson.score, "age_days": age_days, "about": first}
