"""REFLECTING: why a try failed, whether the attempt goes in circles, and whether it goes on at all.

Every cycle of the phase table leads through here, so this is where an attempt ends: at the limit of tries, or when it
is stuck a third time. The first time, the history is dropped and a short hand-over stays: a fresh context with the
lesson. The second time, another plan is asked for as well. `ModelRequest.escalation` tells the door to the models how
often it was, which answers with a higher temperature first and then with another model. A fresh context begins as well,
and counts for nothing, where the story of the tries grows too long for good prompts.
"""

from __future__ import annotations

from dataclasses import replace

from agent import diagnosis, story, stuck
from agent.asking import Dialogue
from agent.feedback import headline
from agent.recalling import with_lessons
from agent.tools import Tools
from core.events import Event, Kind, Level
from core.masking import printable
from core.states import Ending, Outcome, Phase
from core.tasks import digest
from core.work import Case, Reflection, Step, Try, Work

MAX_ESCALATION = 2
MAX_BLAMED = 2
_MAX_IDS = 200


async def run(case: Case, work: Work, tools: Tools) -> Step:
    """Record the try, then go on, start afresh, plan anew, or end. Raises what model and memory raise."""
    seen = work.seen  # without this try; when its work is that of the try before, it teaches nothing new
    work = work.with_try(_try(work))
    why = stuck.diagnose(work.tries, seen)
    if seen[-1:] != work.seen[-1:]:
        await _remember(case, work, tools)
    if work.iteration >= case.iterations:
        return _end(work, Ending.GAVE_UP, f"Gave up after {_tries(work)}, the limit")
    if why and work.escalation >= MAX_ESCALATION:
        _tell_stuck(case, work, tools, why, "giving up")
        text = f"Stuck after {_tries(work)}: {why}, and a fresh start did not help"
        return _end(work, Ending.STUCK, text)
    work, reflection = await _reflect(case, work, tools)
    fresh = bool(why) or _is_long(work, tools)
    work = story.afresh(work) if fresh else work
    if why:
        work = _escalated(work)
        _tell_stuck(case, work, tools, why, "another plan and model" if work.escalation > 1 else "a fresh start")
    replan = reflection.replan or bool(why and work.escalation > 1)
    outcome = Outcome.REPLAN if replan and not reflection.tests_at_fault else Outcome.REDO
    data = {
        "stuck": why or "",
        "fresh": fresh,
        "escalation": work.escalation,
        "tests_at_fault": reflection.tests_at_fault,
    }
    note = (reflection.root_cause or reflection.suggested_fix)[:300]
    return Step(phase=Phase.REFLECTING, outcome=outcome, work=work, note=note, data=data)


def _try(work: Work) -> Try:
    """The try that just failed. Without a test that failed, what went wrong stands in the place of one."""
    failing = sorted(work.verdict.failing) if work.verdict else []
    return Try(
        iteration=work.iteration,
        digest=digest(work.change, work.own_tests),
        failing=tuple(failing[:_MAX_IDS]) or (_last_failure(work),),
        feedback=work.feedback,
    )


def _last_failure(work: Work) -> str:
    if work.verdict is not None and not work.verdict.passed:
        return headline(work.verdict)
    return " ".join(printable(work.feedback).split())[:240] or "no result"


def _tries(work: Work) -> str:
    return f"{work.iteration} {'try' if work.iteration == 1 else 'tries'}"


async def _reflect(case: Case, work: Work, tools: Tools) -> tuple[Work, Reflection]:
    """A reflection, and the case file with it in the last try."""
    talk = Dialogue(Phase.REFLECTING, case, work, tools)
    reflection = diagnosis.needs_no_thought(work)
    if reflection is None:
        if work.verdict is not None:
            work = await with_lessons(case, work, tools, work.feedback, Phase.REFLECTING, most=1)
        said = await diagnosis.ask(case, work, tools, talk)
        reflection = replace(said, tests_at_fault=said.tests_at_fault and _may_blame(work))
    last = replace(work.tries[-1], reflection=reflection)
    return replace(talk.charge(work), tries=(*work.tries[:-1], last)), reflection


def _may_blame(work: Work) -> bool:
    """Tests may be blamed by opinion if the agent wrote them and a suite ran them, and not again and again."""
    blamed = sum(1 for one in work.tries if one.reflection.tests_at_fault)
    return bool(work.own_tests) and work.verdict is not None and bool(work.verdict.failing) and blamed < MAX_BLAMED


def _is_long(work: Work, tools: Tools) -> bool:
    """Tell whether the story of earlier tries would take more of the next prompt than is good for its reader."""
    gauge = tools.gauge(Phase.CODING, work.escalation)
    limit = tools.settings.limit(Phase.CODING, gauge)
    return len(story.lines_of(work)) > 1 and story.story_tokens(work, gauge) > limit * tools.settings.fresh_share


def _escalated(work: Work) -> Work:
    """A new count of tries, begun with the last one, whose work may come again: it has no digest any more."""
    last = replace(work.tries[-1], digest="")
    return replace(work, tries=(last,), escalation=work.escalation + 1)


async def _remember(case: Case, work: Work, tools: Tools) -> None:
    """Store what a gate found; a reply that could not be read teaches nothing about the task."""
    if work.verdict is None or work.verdict.passed:
        return
    await tools.memory.remember(work, case.task.id, case.task.spec.description)
    _tell(case, work, tools, Kind.LESSON_STORED, Level.INFO, f"remembered: {headline(work.verdict)}")


def _end(work: Work, ending: Ending, text: str) -> Step:
    reason = f"{text}. Last failure: {_last_failure(work)}"
    work = replace(work, ending=ending, reason=reason)
    return Step(phase=Phase.REFLECTING, outcome=Outcome.GIVE_UP, work=work, note=reason[:300])


def _tell_stuck(case: Case, work: Work, tools: Tools, why: str, then: str) -> None:
    _tell(case, work, tools, Kind.STUCK, Level.WARNING, f"stuck: {why}; next: {then}")


def _tell(case: Case, work: Work, tools: Tools, kind: Kind, level: Level, text: str) -> None:
    tools.emit(
        Event(
            kind=kind,
            level=level,
            message=text,
            task_id=case.task.id,
            attempt=work.attempt,
            iteration=work.iteration,
            phase=Phase.REFLECTING,
            data={"escalation": work.escalation},
        )
    )
