"""PLANNING: recall what was learned, and ask for a short numbered plan."""

from __future__ import annotations

from dataclasses import replace

from agent import briefing, kinds
from agent.asking import Dialogue
from agent.prompting import quoted, system
from agent.replies import spoken
from agent.tools import Tools
from core.dialogue import Message
from core.events import Event, Kind
from core.masking import printable
from core.states import Outcome, Phase
from core.work import Case, Step, Work

_MAX_CHARS = 4000
_FALLBACK = (
    "1. Read the task and the tests.\n2. Write the files that they name.\n3. Check every case that they mention."
)


async def run(case: Case, work: Work, tools: Tools) -> Step:
    """A plan, in `Work.plan`. Raises what model and memory raise."""
    work = await _with_lessons(case, work, tools)
    talk = Dialogue(Phase.PLANNING, case, work, tools)
    reply = await talk.ask(_request(case, work, tools))
    plan = printable(spoken(reply.text).strip(), max_chars=_MAX_CHARS)
    work = replace(talk.charge(work), plan=plan or _FALLBACK)
    lines = sum(1 for line in plan.split("\n") if line.strip())
    note = f"a plan of {lines} lines" if plan else "the model gave no plan; going on with the plain one"
    return Step(phase=Phase.PLANNING, outcome=Outcome.OK, work=work, note=note)


async def _with_lessons(case: Case, work: Work, tools: Tools) -> Work:
    """Recall once for an attempt and keep it in the case file, so that a resumed step sees the same."""
    limit = tools.settings.recall_limit
    if work.lessons or work.plan or limit <= 0:
        return work
    lessons = tuple(await tools.memory.recall(case.task.spec.description, limit))[:limit]
    if lessons:
        tools.emit(
            Event(
                kind=Kind.LESSON_RECALLED,
                message=f"{len(lessons)} lessons recalled",
                task_id=case.task.id,
                attempt=work.attempt,
                phase=Phase.PLANNING,
                data={"lessons": [lesson.id for lesson in lessons]},
            )
        )
    return replace(work, lessons=lessons)


def _request(case: Case, work: Work, tools: Tools) -> list[Message]:
    scene = briefing.scene(case, work, tools)
    head = system(Phase.PLANNING, briefing.language_part(case), f"kinds/{kinds.kind_of(case.task.spec)}")
    again = bool(work.plan)
    stable = [
        ("The task", briefing.the_task(case)),
        ("The tests", briefing.the_tests(scene)),
        ("The repository", briefing.the_repository(scene)),
        ("Lessons from earlier work", briefing.the_lessons(work.lessons)),
    ]
    changing = [
        ("The plan that did not work", quoted("plan", work.plan) if again else ""),
        ("What was tried before this fresh start", briefing.hand_over(work)),
        ("Earlier tries", briefing.earlier_tries(work)),
        ("What the last try led to", briefing.last_failure(work) if again else ""),
        ("Now", "Plan another approach." if again else "Write the plan."),
    ]
    return briefing.with_files(scene, head, stable, changing)
