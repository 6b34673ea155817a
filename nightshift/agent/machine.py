"""The table of phases and the loop that walks it. No reply of a model can bypass the checks.

COMMIT can be reached only from TESTING. TESTING can be reached only from CODING, through REVIEW and AUDIT if they are
switched on. Only CODING may change a file, with one exception: before a change is read and judged, the checks add
packages to the dependency file if the owner allowed these packages. Therefore, whatever the phases answer, a walk that
commits ends with CODING, the checks and TESTING all passed on the same change. A property test walks the table and
proves this.

Every cycle of the table leads through REFLECTING, which counts the tries and ends the attempt. The checks that need no
model come before every other examination of a change, and always before the suite (`agent.change_check`). If an attempt
waited for the owner, the walk continues at the beginning of the phase that asked. If the task was split, the walk
continues when the subtasks have ended, at CODING or again at PLANNING; both come before every check.

Each step is yielded before the next phase runs. The caller stores the step first, so that the attempt can be resumed
from a stored `AttemptState`, at its `phase`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace

from nightshift.agent import clarifying, coding, planning, reflecting, review, testing
from nightshift.agent.owner_words import return_to_owner
from nightshift.agent.services import AgentServices, Runner
from nightshift.core.errors import NightshiftError, PromptTooLong
from nightshift.core.events import Emitter, Kind, Level
from nightshift.core.tasks.attempt_state import AttemptContext, AttemptState, Step, holds_work
from nightshift.core.tasks.projects import DEPENDENCY_FILES, Scope, whole_of
from nightshift.core.tasks.states import TERMINAL_PHASES, Outcome, Phase

FIRST = Phase.CLARIFYING

_P, _O = Phase, Outcome
TABLE: Mapping[tuple[Phase, Outcome], Phase] = {
    (_P.CLARIFYING, _O.OK): _P.PLANNING,
    (_P.CLARIFYING, _O.NEEDS_APPROVAL): _P.AWAITING_APPROVAL,
    (_P.PLANNING, _O.OK): _P.CODING,
    (_P.PLANNING, _O.SPLIT): _P.SPLIT,
    (_P.PLANNING, _O.NEEDS_APPROVAL): _P.AWAITING_APPROVAL,
    (_P.CODING, _O.OK): _P.REVIEW,
    (_P.CODING, _O.REDO): _P.REFLECTING,
    (_P.CODING, _O.NEEDS_APPROVAL): _P.AWAITING_APPROVAL,
    (_P.CODING, _O.GIVE_UP): _P.ABANDON,
    (_P.REVIEW, _O.OK): _P.AUDIT,
    (_P.REVIEW, _O.REDO): _P.REFLECTING,
    (_P.REVIEW, _O.NEEDS_APPROVAL): _P.AWAITING_APPROVAL,
    (_P.AUDIT, _O.OK): _P.TESTING,
    (_P.AUDIT, _O.REDO): _P.REFLECTING,
    (_P.AUDIT, _O.NEEDS_APPROVAL): _P.AWAITING_APPROVAL,
    (_P.TESTING, _O.OK): _P.COMMIT,
    (_P.TESTING, _O.REDO): _P.REFLECTING,
    (_P.TESTING, _O.NEEDS_APPROVAL): _P.AWAITING_APPROVAL,
    (_P.TESTING, _O.GIVE_UP): _P.ABANDON,
    (_P.REFLECTING, _O.REDO): _P.CODING,
    (_P.REFLECTING, _O.REPLAN): _P.PLANNING,
    (_P.REFLECTING, _O.GIVE_UP): _P.ABANDON,
}

# Phases that can be switched off. A skipped phase counts as if it had answered OK.
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
_CHECKED_IN = (_P.REVIEW, _P.AUDIT, _P.TESTING)


class Machine:
    """Walks the phase table for one attempt.

    Args:
        services: the services of the phases.
        phases: the function that runs each phase.
    """

    def __init__(self, services: AgentServices, phases: Mapping[Phase, Runner] = PHASES) -> None:
        self._services, self._phases = services, phases
        self._scope: Scope | None = None

    async def steps(self, context: AttemptContext, state: AttemptState) -> AsyncIterator[Step]:
        """Walk from `state.phase` to a terminal phase, and yield each step; the last step holds the final state.

        The caller must store each step before it requests the next one. The next phase does not begin before that.

        Raises:
            Interruption: a budget, the time, a person or a shutdown ends the attempt from outside.
            ModelRefused, SandboxError: a tool failed for good; the last stored step remains valid.
            NightshiftError: a phase broke the rules of the table.
        """
        state, self._scope = replace(state, phase=self._on(context, state.phase)), state.scope
        while state.phase not in TERMINAL_PHASES:
            step = await self._step(context, state)
            yield step
            self._warn(context, step)
            state = step.state

    async def _step(self, context: AttemptContext, state: AttemptState) -> Step:
        """Run one phase; the state of the returned step names the next phase."""
        context = replace(context.within(state.project), messages=await self._services.read_messages())
        began, events = self._services.clock(), self._events(context, state, state.phase)
        self._enter(state.scope)
        services, run = replace(self._services, prompts=[], events=events), self._phases[state.phase]
        try:
            ran = await run(context, state, services)
        except PromptTooLong:  # the model's context size is known now
            ran = await run(context, state, replace(services, prompts=[]))
        step = await return_to_owner(context, ran, services)
        _hold_to_rules(state, step)
        _hold_to_one_split(context, state, step)
        _hold_to_one_project(state, step)
        step = await self._with_environment(state, step)
        to = self._on(context, _next(state.phase, step.outcome))
        took = round((self._services.clock() - began).total_seconds(), 3)
        held_in = state.phase if to is Phase.AWAITING_APPROVAL else None
        after = self._with_best(context, state, step.state)
        return replace(
            step,
            phase=state.phase,
            state=replace(after, phase=to, step_no=state.step_no + 1, held_in=held_in),
            data={**step.data, **_prompts(services), "next": str(to), "duration_s": took},
        )

    def _with_best(self, context: AttemptContext, before: AttemptState, after: AttemptState) -> AttemptState:
        """Return the state after a step; if the step ran a change, the best change of the attempt is updated."""
        verdict = after.verdict
        if before.phase is not Phase.TESTING or verdict is None or verdict is before.verdict or not verdict.has_run:
            return after
        in_project = bool(after.project)
        given, tree = context.task.spec.files, self._services.tree
        return after.with_best() if holds_work(after.change, given, tree, in_project=in_project) else after

    async def _with_environment(self, before: AttemptState, step: Step) -> Step:
        """Return the step; if the step chose a project, its state gets the environment of that project."""
        if step.state.scope == before.scope or self._services.environment is None:
            return step
        tree = step.state.scope.of(whole_of(self._services.tree))
        return replace(step, state=step.state.within(await self._services.environment(tree)))

    def _enter(self, scope: Scope) -> None:
        """Use the tree of a part of the workspace, after a plan has chosen this part."""
        if scope != self._scope:
            tree = scope.of(whole_of(self._services.tree))
            self._services, self._scope = replace(self._services, tree=tree), scope

    def _on(self, context: AttemptContext, phase: Phase) -> Phase:
        """Return the phase if it is switched on; otherwise the next phase in the table that is."""
        while phase in OPTIONAL and not self._is_on(context, phase):
            phase = _next(phase, Outcome.OK)
        return phase

    def _is_on(self, context: AttemptContext, phase: Phase) -> bool:
        if phase is Phase.CLARIFYING:
            is_plain = self._services.gauge(phase, 0).profile.is_plain
            return not is_plain and clarifying.is_wanted(context, self._services.settings.clear_enough)
        return context.review if phase is Phase.REVIEW else context.audit

    def _warn(self, context: AttemptContext, step: Step) -> None:
        state = step.state
        if step.phase is Phase.CODING and state.iteration == context.warn_at:
            text = f"try {state.iteration} of {context.iterations}: the limit is near"
            self._events(context, state, step.phase).emit(Kind.ITERATION_WARNING, text, level=Level.WARNING)

    def _events(self, context: AttemptContext, state: AttemptState, phase: Phase) -> Emitter:
        task = context.task
        return self._services.events.bind(
            task_id=task.id, attempt=state.attempt, iteration=state.iteration, phase=phase
        )


def _prompts(services: AgentServices) -> dict[str, object]:
    """Return records of the step's first prompts, for the timeline."""
    return {"prompts": [dict(prompt) for prompt in services.prompts[:_MOST_PROMPTS]]} if services.prompts else {}


def _next(phase: Phase, outcome: Outcome) -> Phase:
    try:
        return TABLE[phase, outcome]
    except KeyError:
        raise NightshiftError(f"{phase} may not end with {outcome}") from None


def _hold_to_rules(before: AttemptState, step: Step) -> None:
    """Refuse a step that changed what only another phase may change, or that passed TESTING without a new verdict."""
    after = step.state
    if before.phase is not Phase.CODING and after.change != before.change and not _declares(before, after):
        raise NightshiftError(f"{before.phase} changed files; only CODING may change files")
    if before.phase is not Phase.CODING and after.test_changes != before.test_changes:
        raise NightshiftError(f"{before.phase} proposed changes of tests; only CODING may propose them")
    tests = [(each.own_tests, each.removed_tests) for each in (before, after)]
    if before.phase is not Phase.TESTING and tests[0] != tests[1]:
        raise NightshiftError(f"{before.phase} changed tests; only TESTING may change tests")
    fresh = after.verdict is not None and after.verdict.passed and after.verdict is not before.verdict
    if before.phase is Phase.TESTING and step.outcome is Outcome.OK and not fresh:
        raise NightshiftError("TESTING passed a change without a new passing verdict")


def _declares(before: AttemptState, after: AttemptState) -> bool:
    """Check whether a step changed only dependency files.

    The checks of a change write such files: they declare the allowed packages that the change needs.
    """
    paths = {path for path, _ in before.change.items() ^ after.change.items()}
    return before.phase in _CHECKED_IN and all(
        path in DEPENDENCY_FILES and (after.change.get(path) is not None or path in before.declared) for path in paths
    )


def _hold_to_one_split(context: AttemptContext, before: AttemptState, step: Step) -> None:
    """Refuse a split that the task does not allow, that comes after the first plan, or that has no parts."""
    splits = step.outcome is Outcome.SPLIT
    if splits and not (context.split and step.state.parts and not (before.parts or before.iteration)):
        raise NightshiftError(f"{before.phase} split a task that may not be split now")
    if not splits and step.state.parts != before.parts:
        raise NightshiftError(f"{before.phase} changed the subtasks of a task without splitting the task")


def _hold_to_one_project(before: AttemptState, step: Step) -> None:
    """Refuse a step that changes the task's project. Only a plan may choose the project, and only once."""
    may = before.phase is Phase.PLANNING and before.project is None
    if step.state.project != before.project and not may:
        raise NightshiftError(f"{before.phase} changed the project of a task")
