"""PLANNING: recall what was learned, and ask for a short numbered plan."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from agent import briefing, kinds
from agent.asking import Dialogue
from agent.portions import Prompt
from agent.prompting import system
from agent.recalling import with_lessons
from agent.replies import spoken
from agent.tools import Tools
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


def _request(case: Case, work: Work, tools: Tools) -> Prompt:
    scene = briefing.scene(case, work, tools, Phase.PLANNING)
    head = system(Phase.PLANNING, briefing.language_part(case), f"kinds/{kinds.kind_of(case.task.spec)}")
    again = bool(work.plan)
    parts = [
        briefing.the_task(scene),
        briefing.the_tests(scene),
        briefing.the_repository(scene),
        briefing.the_lessons(scene),
        briefing.the_files(scene),
        *([briefing.the_plan(work, "The plan that did not work")] if again else []),
        *briefing.the_story(scene, failure=again),
        briefing.now("Plan another approach." if again else "Write the plan."),
    ]
    return briefing.written(scene, head, parts, once=True)
