"""The phase table and the loop that walks it: no model can talk its way past the gates.

COMMIT has one entrance, from TESTING, and TESTING is reached from CODING alone, through REVIEW and AUDIT where they are
switched on. Only CODING may change a file. So whatever the phases answer, a walk that commits ends with CODING, the
gates and TESTING all passed on one and the same change; a property test walks the table and proves it. Every cycle of
the table leads through REFLECTING, which counts the tries and ends them. Within TESTING the static gates come before
the suite (`agent.change_check`). A walk that is held goes on in the very phase that held it, from its beginning. One
that was split goes on at CODING, or at PLANNING again, when the parts have ended: in front of every gate.

Each step is handed to `on_step` and awaited before the next phase runs: what has happened is durable before anything
builds on it, and a `Work` that was stored continues at its `phase`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace

from agent import clarifying, coding, planning, reflecting, review, testing
from agent.services import AgentServices, Runner
from core.errors import NightshiftError
from core.events import Event, Kind, Level
from core.states import TERMINAL_PHASES, Outcome, Phase
from core.work import Case, Step, Work

FIRST = Phase.CLARIFYING

_P, _O = Phase, Outcome
TABLE: Mapping[tuple[Phase, Outcome], Phase] = {
    (_P.CLARIFYING, _O.OK): _P.PLANNING,
    (_P.CLARIFYING, _O.HOLD): _P.HOLD,
    (_P.PLANNING, _O.OK): _P.CODING,
    (_P.PLANNING, _O.SPLIT): _P.SPLIT,
    (_P.CODING, _O.OK): _P.REVIEW,
    (_P.CODING, _O.REDO): _P.REFLECTING,
    (_P.REVIEW, _O.OK): _P.AUDIT,
    (_P.REVIEW, _O.REDO): _P.REFLECTING,
    (_P.AUDIT, _O.OK): _P.TESTING,
    (_P.AUDIT, _O.REDO): _P.REFLECTING,
    (_P.AUDIT, _O.HOLD): _P.HOLD,
    (_P.TESTING, _O.OK): _P.COMMIT,
    (_P.TESTING, _O.REDO): _P.REFLECTING,
    (_P.TESTING, _O.HOLD): _P.HOLD,
    (_P.TESTING, _O.GIVE_UP): _P.ABANDON,
    (_P.REFLECTING, _O.REDO): _P.CODING,
    (_P.REFLECTING, _O.REPLAN): _P.PLANNING,
    (_P.REFLECTING, _O.GIVE_UP): _P.ABANDON,
}

# Passed over where they are switched off: as if they had answered OK.
OPTIONAL = (_P.CLARIFYING, _P.REVIEW, _P.AUDIT)

PHASES: Mapping[Phase, Runner] = {
    _P.CLARIFYING: clarifying.run,
    _P.PLANNING: planning.run,
    _P.CODING: coding.run,
    _P.REVIEW: review.review,
    _P.AUDIT: review.audit,
    _P.TESTING: testing.run,
    _P.REFLECTING: reflecting.run,
}


_MOST_PROMPTS = 12


class Machine:
    """Walks the table for one attempt.

    Args:
        tools: what the phases may use.
        on_step: stores a finished step durably; awaited before the next phase begins.
        phases: what runs each phase.
    """

    def __init__(
        self,
        tools: AgentServices,
        on_step: Callable[[Step], Awaitable[None]],
        phases: Mapping[Phase, Runner] = PHASES,
    ) -> None:
        self._tools, self._on_step, self._phases = tools, on_step, phases

    async def run(self, case: Case, work: Work) -> Work:
        """Walk from `work.phase` until COMMIT, ABANDON, HOLD or SPLIT, and return the case file in that phase.

        Raises:
            Interruption: a budget, the time, a person or a shutdown ends the attempt from outside.
            ModelRefused, SandboxError: a tool failed for good; the last stored step stands.
            NightshiftError: a phase broke the rules of the table.
        """
        work = replace(work, phase=self._on(case, work.phase))
        while work.phase not in TERMINAL_PHASES:
            step = await self._step(case, work)
            await self._on_step(step)
            self._warn(case, step)
            work = step.work
        return work

    async def _step(self, case: Case, work: Work) -> Step:
        """Run one phase; the step that comes back names the next one."""
        began, tools = self._tools.clock(), replace(self._tools, prompts=[])
        step = await self._phases[work.phase](case, work, tools)
        _hold_to_rules(work, step)
        _hold_to_one_split(case, work, step)
        to = self._on(case, _next(work.phase, step.outcome))
        took = round((self._tools.clock() - began).total_seconds(), 3)
        held_in = work.phase if to is Phase.HOLD else None
        return replace(
            step,
            phase=work.phase,
            work=replace(step.work, phase=to, step_no=work.step_no + 1, held_in=held_in),
            data={**step.data, **_prompts(tools), "next": str(to), "duration_s": took},
        )

    def _on(self, case: Case, phase: Phase) -> Phase:
        """The phase itself, or the first one after it that is switched on."""
        while phase in OPTIONAL and not self._is_on(case, phase):
            phase = _next(phase, Outcome.OK)
        return phase

    def _is_on(self, case: Case, phase: Phase) -> bool:
        if phase is Phase.CLARIFYING:
            return clarifying.is_wanted(case, self._tools.settings.clear_enough)
        return case.review if phase is Phase.REVIEW else case.audit

    def _warn(self, case: Case, step: Step) -> None:
        work = step.work
        if step.phase is Phase.CODING and work.iteration == case.warn_at:
            text = f"try {work.iteration} of {case.iterations}: the limit is near"
            self._tools.emit(
                Event(
                    kind=Kind.ITERATION_WARNING,
                    level=Level.WARNING,
                    message=text,
                    task_id=case.task.id,
                    attempt=case.task.attempt,
                    phase=step.phase,
                    iteration=work.iteration,
                )
            )


def _prompts(tools: AgentServices) -> dict[str, object]:
    """What the step's prompts held, for the timeline; of very many the first ones."""
    return {"prompts": [dict(one) for one in tools.prompts[:_MOST_PROMPTS]]} if tools.prompts else {}


def _next(phase: Phase, outcome: Outcome) -> Phase:
    try:
        return TABLE[phase, outcome]
    except KeyError:
        raise NightshiftError(f"{phase} may not end with {outcome}") from None


def _hold_to_rules(before: Work, step: Step) -> None:
    """Refuse a step that changed what its phase may not change, or that commits without a verdict of its own."""
    after = step.work
    if before.phase is not Phase.CODING and after.change != before.change:
        raise NightshiftError(f"{before.phase} changed files; only CODING may")
    if before.phase is not Phase.TESTING and after.own_tests != before.own_tests:
        raise NightshiftError(f"{before.phase} changed tests; only TESTING may")
    fresh = after.verdict is not None and after.verdict.passed and after.verdict is not before.verdict
    if before.phase is Phase.TESTING and step.outcome is Outcome.OK and not fresh:
        raise NightshiftError("TESTING let work pass without a passing verdict of its own")


def _hold_to_one_split(case: Case, before: Work, step: Step) -> None:
    """Refuse a split that the task does not allow, one that is not the first plan's, and one into nothing."""
    splits = step.outcome is Outcome.SPLIT
    if splits and not (case.split and step.work.parts and not (before.parts or before.iteration)):
        raise NightshiftError(f"{before.phase} split a task that may not be split now")
    if not splits and step.work.parts != before.parts:
        raise NightshiftError(f"{before.phase} changed the parts of a task without splitting it")
