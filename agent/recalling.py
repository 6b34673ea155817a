"""What was learned earlier, brought into the case file: few lessons, each once, never more than the settings allow."""

from __future__ import annotations

from dataclasses import replace

from agent.tools import Tools
from core.events import Event, Kind
from core.states import Phase
from core.work import Case, Work

_QUERY_CHARS = 4000


async def with_lessons(case: Case, work: Work, tools: Tools, query: str, phase: Phase, *, most: int) -> Work:
    """The case file with up to `most` more lessons that are near the query; raises what memory raises.

    Lessons stay in the case file: a step that is resumed sees the same ones, and at the end each is scored by whether
    it helped.
    """
    room = min(most, tools.settings.recall_limit - len(work.lessons))
    if room <= 0:
        return work
    known = {lesson.id for lesson in work.lessons}
    found = await tools.memory.recall(query[:_QUERY_CHARS], room + len(known))
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
                data={"lessons": [lesson.id for lesson in new]},
            )
        )
    return replace(work, lessons=(*work.lessons, *new))
