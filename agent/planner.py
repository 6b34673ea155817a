"""PLANNING: recall what was learned, and ask for a short numbered plan."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from agent import briefing, kinds
from agent.asking import Dialogue
from agent.prompting import quoted, system
from agent.recalling import with_lessons
from agent.replies import spoken
from agent.tools import Tools
from core.dialogue import Message
from core.masking import printable
from core.states import Outcome, Phase
from core.work import Case, Step, Work

_MAX_CHARS = 4000
_FALLBACK = (
    "1. Read the task and the tests.\n2. Write the files that they name.\n3. Check every case that they mention."
)


async def run(case: Case, work: Work, tools: Tools) -> Step:
    """A plan, in `Work.plan`. Raises what model and memory raise."""
    if not work.plan:
        most = tools.settings.recall_limit
        work = await with_lessons(case, work, tools, case.task.spec.description, Phase.PLANNING, most=most)
    talk = Dialogue(Phase.PLANNING, case, work, tools)
    reply = await talk.ask(await asyncio.to_thread(_request, case, work, tools))
    plan = printable(spoken(reply.text).strip(), max_chars=_MAX_CHARS)
    work = replace(talk.charge(work), plan=plan or _FALLBACK)
    lines = sum(1 for line in plan.split("\n") if line.strip())
    note = f"a plan of {lines} line{'s' if lines != 1 else ''}" if plan else "no plan came; going on with the plain one"
    return Step(phase=Phase.PLANNING, outcome=Outcome.OK, work=work, note=note)


def _request(case: Case, work: Work, tools: Tools) -> list[Message]:
    scene = briefing.scene(case, work, tools)
    head = system(Phase.PLANNING, briefing.language_part(case), f"kinds/{kinds.kind_of(case.task.spec)}")
    again = bool(work.plan)
    stable = [
        ("The task", briefing.the_task(case, work)),
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
