"""PLANNING: recall what was learned, and ask for a short numbered plan; a large task may be split into parts instead.

Only a task that allows it is split, and only by the first plan of an attempt: whoever plans anew does the rest in one
piece. A split that would not work is sent back with what is wrong; after a few of them the plain plan holds.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

from agent import briefing, kinds, splitting
from agent.asking import Dialogue
from agent.portions import Prompt
from agent.prompting import system
from agent.recalling import with_lessons
from agent.replies import spoken
from agent.tools import Tools
from core.masking import printable
from core.states import Outcome, Phase
from core.subtasks import Subtask, as_plan
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
    said = await _said(case, work, tools, talk)
    work = talk.charge(work)
    if not isinstance(said, str):
        return _split(work, said)
    plan, work = said, replace(work, plan=said or _FALLBACK)
    lines = sum(1 for line in plan.split("\n") if line.strip())
    note = f"a plan of {lines} line{'s' if lines != 1 else ''}" if plan else "no plan came; going on with the plain one"
    return Step(phase=Phase.PLANNING, outcome=Outcome.OK, work=work, note=note)


async def _said(case: Case, work: Work, tools: Tools, talk: Dialogue) -> str | tuple[Subtask, ...]:
    """A plan in words, empty where none came, or the parts that the task is split into."""
    first = prompt = await asyncio.to_thread(_request, case, work, tools)
    for _ in range(tools.settings.reasks + 1 if _may_split(case, work) else 1):
        reply = await talk.ask(prompt)
        found = splitting.read(reply.text, case, tools.settings.clear_enough) if _may_split(case, work) else None
        if found is None:
            return printable(spoken(reply.text).strip(), max_chars=_MAX_CHARS)
        if not isinstance(found, str):
            return found
        prompt = talk.again(first, reply.text, f"{found} Send the whole JSON object again, or the numbered plan.")
    return ""


def _may_split(case: Case, work: Work) -> bool:
    return case.split and not (work.parts or work.iteration)


def _split(work: Work, parts: tuple[Subtask, ...]) -> Step:
    work = replace(work, parts=parts, plan=as_plan(parts), feedback="")
    data = {"subtasks": [{"files": list(part.files), "after": list(part.after)} for part in parts]}
    note = f"split into {len(parts)} subtasks"
    return Step(phase=Phase.PLANNING, outcome=Outcome.SPLIT, work=work, note=note, data=data)


def _request(case: Case, work: Work, tools: Tools) -> Prompt:
    scene = briefing.scene(case, work, tools, Phase.PLANNING)
    more = ("split",) if _may_split(case, work) else ()
    head = system(Phase.PLANNING, briefing.language_part(case), f"kinds/{kinds.kind_of(case.task.spec)}", *more)
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
    return briefing.written(scene, head, parts, once=not more)
