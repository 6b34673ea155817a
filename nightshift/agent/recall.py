"""Adds lessons from earlier work to an attempt's state; each lesson only once, and no more than the settings allow."""

from __future__ import annotations

from dataclasses import replace

from nightshift.agent.services import AgentServices
from nightshift.core.events import Kind, RecalledData, RecalledLesson
from nightshift.core.tasks.attempt_state import AttemptContext, AttemptState
from nightshift.core.tasks.lesson import Lesson

_QUERY_CHARS = 4000


async def with_lessons(
    context: AttemptContext, state: AttemptState, services: AgentServices, query: str, *, most: int
) -> AttemptState:
    """Return the state with up to `most` further lessons that are relevant to the query. Raises what memory raises.

    Lessons stay in the state, so that a resumed step sees the same ones. At the end, each lesson is scored by whether
    it helped.
    """
    space = min(most, services.settings.recall_limit - len(state.lessons))
    if space <= 0:
        return state
    lesson_ids = {(lesson.source, lesson.id) for lesson in state.lessons}  # ids are only unique within a source
    asked = space + len(lesson_ids)
    lessons = await services.memory.recall(query[:_QUERY_CHARS], asked, task_id=context.task.id, attempt=state.attempt)
    new = tuple(lesson for lesson in lessons if (lesson.source, lesson.id) not in lesson_ids)[:space]
    if new:
        text = f"recalled {len(new)} lesson{'s' if len(new) != 1 else ''}"
        data = RecalledData(lessons=[_as_data(lesson) for lesson in new])
        services.events.emit(Kind.LESSON_RECALLED, text, **data)
    return replace(state, lessons=(*state.lessons, *new))


def _as_data(lesson: Lesson) -> RecalledLesson:
    """Describe a lesson for the timeline: its id, score and age."""
    first = lesson.text.strip().split("\n", 1)[0][:160]
    age_days = round(lesson.age_s / 86_400, 1)
    return RecalledLesson(id=lesson.id, kind=lesson.source, score=lesson.score, age_days=age_days, about=first)
