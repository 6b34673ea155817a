"""REVIEW: a second pair of eyes on the change, before its tests run.

Its word is an opinion: after it has sent the work back a few times in one attempt, it is told and holds nothing up any
more, because a reviewer who is never content would otherwise decide what the tests should. For the same reason a review
that cannot be read does not stop the task; it is told as a warning.
"""

from __future__ import annotations

from agent import critique
from agent.critique import Reader
from agent.tools import Tools
from core.events import Event, Kind, Level
from core.states import Outcome, Phase
from core.work import Case, Step, Work


async def run(case: Case, work: Work, tools: Tools) -> Step:
    """Review the change. Raises what the model raises."""
    settings = tools.settings
    blocks = settings.review_blocks if work.sent_back < settings.review_rounds else frozenset()
    reader = Reader(phase=Phase.REVIEW, who="review", blocks=blocks)

    def unreadable(after: Work, why: str) -> Step:
        text = f"the review gave no answer that can be used, so the tests alone decide: {why}"
        tools.emit(
            Event(
                kind=Kind.REMARK,
                level=Level.WARNING,
                message=text,
                task_id=case.task.id,
                attempt=work.attempt,
                iteration=work.iteration,
                phase=Phase.REVIEW,
            )
        )
        return Step(phase=Phase.REVIEW, outcome=Outcome.OK, work=after, note=text[:300])

    return await critique.run(case, work, tools, reader, unreadable)
