"""REFLECTING: finds out why a try failed and whether the attempt goes in circles, and decides whether it continues.

Every cycle of the phase table leads through this phase, so an attempt ends here: at the limit of tries, or when it is
stuck for the third time. The first time that it is stuck, a fresh context begins: a short summary with the lesson
replaces the history. The second time, another plan is also requested. `ModelRequest.escalation` tells the model gateway
how often the attempt was stuck; the gateway first raises the temperature and then uses another model. A fresh context
also begins, without counting as stuck, when the history of the tries grows too long for good prompts.

The model's opinion of a failure is validated, shortened and shown to the next phase as an opinion. Only three parts of
it have consequences: the request for a new plan, the claim that tests of the agent are wrong, and the claim that
failing tests of the repository contradict the task. For contradicting tests a change may be proposed
(`agent.changed_tests`). If the settings keep tests unchanged, CODING asks the owner once instead. The model's opinion
alone never changes a test.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from nightshift.agent import exploring, history
from nightshift.agent.dialogue import Dialogue
from nightshift.agent.feedback import headline
from nightshift.agent.owner_words import UNHEARD
from nightshift.agent.prompt import plain_requests, sections
from nightshift.agent.prompt.budget import Prompt
from nightshift.agent.prompt.text import system
from nightshift.agent.recall import with_lessons
from nightshift.agent.replies import find_json
from nightshift.agent.replies.templates import has_placeholder
from nightshift.agent.services import AgentServices
from nightshift.core.events import EscalationData, Kind, Level
from nightshift.core.tasks.attempt_state import AttemptContext, AttemptState, Reflection, Step, Try
from nightshift.core.tasks.states import Ending, Outcome, Phase, with_failure
from nightshift.core.tasks.task import digest
from nightshift.core.tasks.verdicts import Label, Result
from nightshift.core.text.masking import printable

MAX_ESCALATION = 2
MAX_BLAMED = 2
MAX_UNCONVINCING = 2
"""Maximum number of times that the agent's own tests may fail to show what a change does, if all other tests pass. At
this limit the attempt ends, and the owner decides about the change.
"""
_CONTRADICTS = (
    "These existing tests seem to demand the opposite of the task: {tests}. If they do, send their files with just the "
    "tests changed that contradict the task; their owner is asked about them."
)
_MAX_IDS = 200
_MOST_NAMED = 20
"""Maximum number of tests that a model may name as contradicting the task."""


async def run(context: AttemptContext, state: AttemptState, services: AgentServices) -> Step:
    """Record the try, then continue, start afresh, plan again, or end. Raises what model and memory raise."""
    seen = state.seen  # the changes before this try; a repeated one stores no lesson
    state = state.with_try(_try(state))
    why = history.why_stuck(state.tries, seen)
    if seen[-1:] != state.seen[-1:]:
        await _remember(context, state, services)
    if unshown := _unshown(state):
        _report_stuck(state, services, unshown, "giving up")
        return _end(state, Ending.STUCK, f"{unshown[:1].upper()}{unshown[1:]}")
    if state.iteration >= context.iterations:
        return _end(state, Ending.GAVE_UP, f"Gave up after {_tries(state)}, the limit")
    if why and state.escalation >= MAX_ESCALATION:
        _report_stuck(state, services, why, "giving up")
        text = f"Stuck after {_tries(state)}: {why}, and a fresh start did not help"
        return _end(state, Ending.STUCK, text)
    state, reflection = await _reflect(context, state, services)
    fresh = bool(why) or _is_long(state, services)
    state = history.afresh(state) if fresh else state
    if why:
        state = _escalate_state(state)
        _report_stuck(state, services, why, "another plan and model" if state.escalation > 1 else "a fresh start")
    replan = reflection.replan or bool(why and state.escalation > 1)
    if reflection.contradicting_tests and services.settings.change_tests != "keep":
        contradiction = _CONTRADICTS.format(tests=", ".join(reflection.contradicting_tests))
        state = replace(state, feedback=f"{state.feedback}\n\n{contradiction}")
    stands = reflection.tests_at_fault or bool(reflection.contradicting_tests)
    outcome = Outcome.REPLAN if replan and not stands else Outcome.REDO
    data = {
        "stuck": why or "",
        "fresh": fresh,
        "escalation": state.escalation,
        "tests_at_fault": reflection.tests_at_fault,
        "contradicting_tests": list(reflection.contradicting_tests),
    }
    note = (reflection.root_cause or reflection.suggested_fix)[:300]
    return Step(phase=Phase.REFLECTING, outcome=outcome, state=state, note=note, data=data)


def _try(state: AttemptState) -> Try:
    """Describe the try that just failed.

    If no test failed, `failing` contains a description of the failure instead of tests.
    """
    failing = sorted(state.verdict.failing) if state.verdict else []
    return Try(
        iteration=state.iteration,
        digest=digest(state.change, state.own_tests),
        failing=tuple(failing[:_MAX_IDS]) or (_last_failure(state),),
        feedback=state.feedback,
        unconvincing=digest(state.change) if _blames_only_own_tests(state) else "",
    )


def _blames_only_own_tests(state: AttemptState) -> bool:
    """Check whether only the agent's own tests are at fault: at least one other test ran, and all others passed."""
    verdict = state.verdict
    if verdict is None or not verdict.weak or verdict.failing - set(verdict.weak):
        return False
    return _others_passing(state) > 0


def _others_passing(state: AttemptState) -> int:
    """Count the passing tests that the agent did not write."""
    results = state.verdict.results if state.verdict else ()
    passing = [result.id for result in results if result.result is Result.PASSED]
    return sum(name.partition("::")[0] not in state.own_tests for name in passing)


def _unshown(state: AttemptState) -> str:
    """Return why the model is not asked for own tests once more, worded as a clause; empty if it may be asked."""
    change = state.tries[-1].unconvincing
    if not change or sum(past_try.unconvincing == change for past_try in state.tries) < MAX_UNCONVINCING:
        return ""
    count = _others_passing(state)
    tests = f"the repository's {count} tests" if count > 1 else "the repository's test"
    return f"the change passes {tests}, but the self-written tests do not show what it changes"


def _last_failure(state: AttemptState) -> str:
    if state.verdict is not None and not state.verdict.passed:
        return headline(state.verdict)
    return " ".join(printable(state.feedback).split())[:240] or "no result"


def _tries(state: AttemptState) -> str:
    return f"{state.iteration} {'try' if state.iteration == 1 else 'tries'}"


async def _reflect(
    context: AttemptContext, state: AttemptState, services: AgentServices
) -> tuple[AttemptState, Reflection]:
    """Obtain a reflection on the last try; return the state with the reflection in that try, and the reflection."""
    dialogue = Dialogue(Phase.REFLECTING, context, state, services)
    reflection = needs_no_thought(state)
    if reflection is None and await asyncio.to_thread(plain_requests.is_plain, context, state, services, Phase.CODING):
        reflection = by_rule(state)
    if reflection is None:
        if state.verdict is not None:
            state = await with_lessons(context, state, services, state.feedback, most=1)
        answer = await ask_model(context, state, services, dialogue)
        reflection = replace(
            answer,
            tests_at_fault=answer.tests_at_fault and _may_blame(state),
            contradicting_tests=_existing(context, state, answer.contradicting_tests),
        )
    last = replace(state.tries[-1], reflection=reflection)
    return replace(dialogue.charge(state), tries=(*state.tries[:-1], last)), reflection


def _may_blame(state: AttemptState) -> bool:
    """Check whether a model may blame the agent's own tests for a failure.

    It may if such tests exist, if a suite run had failing tests, and if fewer than `MAX_BLAMED` earlier tries blamed
    tests.
    """
    blamed = sum(1 for past_try in state.tries if past_try.reflection.tests_at_fault)
    return bool(state.own_tests) and state.verdict is not None and bool(state.verdict.failing) and blamed < MAX_BLAMED


def _existing(context: AttemptContext, state: AttemptState, names: Sequence[str]) -> tuple[str, ...]:
    """Return the ids among `names` that are failing tests of the repository.

    Tests that came with the task and the agent's own tests are left out.
    """
    failing = state.verdict.failing if state.verdict else frozenset()
    others = {*context.task.spec.tests, *state.own_tests}
    test_ids = (test_id for name in names for test_id in (name, name.partition("[")[0]) if test_id in failing)
    return tuple(dict.fromkeys(test_id for test_id in test_ids if test_id.partition("::")[0] not in others))


def _is_long(state: AttemptState, services: AgentServices) -> bool:
    """Check whether the history of earlier tries would take too large a share of the next prompt."""
    gauge = services.gauge(Phase.CODING, state.escalation)
    limit = services.settings.limit(Phase.CODING, gauge)
    return (
        len(history.lines_of(state)) > 1
        and history.history_tokens(state, gauge) > limit * services.settings.fresh_share
    )


def _escalate_state(state: AttemptState) -> AttemptState:
    """Count the attempt as stuck once more, and keep only the last try in the list of tries.

    The last try's digest is removed, because its change may be made again.
    """
    last = replace(state.tries[-1], digest="")
    return replace(state, tries=(last,), escalation=state.escalation + 1)


async def _remember(context: AttemptContext, state: AttemptState, services: AgentServices) -> None:
    """Store a failing verdict as a lesson. An unusable reply has no verdict, and teaches nothing about the task."""
    if state.verdict is None or state.verdict.passed:
        return
    await services.memory.remember(state, context.task.id, context.task.spec.description)
    data = EscalationData(escalation=state.escalation)
    services.events.emit(Kind.LESSON_STORED, f"stored as a lesson: {headline(state.verdict)}", **data)


def _end(state: AttemptState, ending: Ending, text: str) -> Step:
    reason = with_failure(text, _last_failure(state))
    state = replace(state, ending=ending, reason=reason)
    return Step(phase=Phase.REFLECTING, outcome=Outcome.GIVE_UP, state=state, note=reason[:300])


def _report_stuck(state: AttemptState, services: AgentServices, why: str, then: str) -> None:
    data = EscalationData(escalation=state.escalation)
    services.events.emit(Kind.STUCK, f"stuck: {why}; next: {then}", level=Level.WARNING, **data)


# Functions that obtain the reflection on a failure.


_MAX_CHARS = 800
_RULES = {
    "SyntaxError": "Mend the syntax at the line that is named, and read the lines above it.",
    "IndentationError": "Mend the indentation at the line that is named.",
    "ModuleNotFoundError": "Create the module at the path that the import names, or mend the import.",
    "ImportError": "Define the name that is imported, in the module that it is imported from.",
    "NameError": "Define or import the name before it is used.",
    "ReferenceError": "Define or import the name before it is used.",
    "AttributeError": "Check the type of the object at that place, and the spelling of the attribute.",
    "TypeError": "Compare the call with the signature, and the types with what the operation takes.",
    "RecursionError": "Give the recursion an end that every input reaches, or use a loop.",
    "Timeout": "Look for a loop that does not end, or for work that grows too fast with the input.",
    "HeldOut": "Solve the task for every input that its words allow; nothing may depend on the inputs of the tests.",
    "AssertionError": "Follow the input of the first failing assertion through the code, line by line.",
}


def _text(value: Any) -> str:
    if isinstance(value, list):
        value = "; ".join(str(part) for part in value)
    return " ".join(printable(str(value if value is not None else "")).split())[:_MAX_CHARS]


def _texts(value: Any) -> list[Any]:
    return [each for each in (value if isinstance(value, list) else [value]) if each][:_MOST_NAMED]


_Text = Annotated[str, BeforeValidator(_text)]
_Texts = Annotated[tuple[_Text, ...], BeforeValidator(_texts)]


class ReflectionIn(BaseModel):
    """A reflection as the model's JSON reply contains it; unknown fields are ignored."""

    model_config = ConfigDict(extra="ignore")

    pattern: _Text = Field(default="", validation_alias=AliasChoices("pattern", "error_pattern"))
    root_cause: _Text = ""
    hypothesis: _Text = ""
    suggested_fix: _Text = ""
    replan: bool = False
    tests_at_fault: bool = False
    contradicting_tests: _Texts = Field(
        default=(), validation_alias=AliasChoices("contradicting_tests", "contradicting_test")
    )


def read_reflection(text: str) -> Reflection | None:
    """Return the reflection in a reply, or None if there is none with a cause or a fix."""
    data = find_json(text)
    try:
        answer = ReflectionIn.model_validate(data or {})
    except ValidationError:
        return None
    return Reflection(**answer.model_dump()) if answer.root_cause or answer.suggested_fix else None


def by_rule(state: AttemptState) -> Reflection:
    """Return a simple reflection, chosen by the kind of the first failure."""
    if state.verdict is None:
        first = state.feedback.strip().split("\n", 1)[0]
        fix = "Send complete files in the form that the instructions describe."
        return Reflection(pattern="unusable reply", root_cause=first[:_MAX_CHARS], suggested_fix=fix)
    kind = state.verdict.failures[0].kind if state.verdict.failures else ""
    fix = next((fix for name, fix in _RULES.items() if name.lower() in kind.lower()), _RULES["AssertionError"])
    return Reflection(pattern=kind or "failing tests", root_cause=headline(state.verdict), suggested_fix=fix)


def needs_no_thought(state: AttemptState) -> Reflection | None:
    """Return the reflection for a failure that explains itself; None if a model must be asked.

    Such failures are findings of a reader, messages of the owner that the change ignores, faulty documentation, a
    passing run that was sent back, and own tests that prove nothing.
    """
    verdict = state.verdict
    if state.remarks:
        first = state.remarks[0]
        cause = f"{first.where}: {first.reason}"
        return Reflection(
            pattern=f"sent back ({first.gravity})", root_cause=_text(cause), suggested_fix=_text(first.fix)
        )
    if verdict is None and state.feedback.startswith(UNHEARD):
        return Reflection(pattern="the owner said something", root_cause=_text(state.feedback))
    if verdict is not None and verdict.evidence.label is Label.DOCUMENTED and verdict.failures and not verdict.failing:
        fix = "Mend each line that is named; mark blocks that are not meant to run as text."
        return Reflection(pattern="documentation", root_cause=_text(verdict.reason), suggested_fix=fix)
    if verdict is not None and verdict.passed:
        pattern = "the words of the task" if verdict.unmet else "files that may not be changed"
        return Reflection(pattern=pattern, root_cause=_text(state.feedback))
    if verdict is None or not verdict.weak or verdict.failing - set(verdict.weak):
        return None
    return Reflection(
        pattern="self-written tests prove nothing",
        root_cause=_text(verdict.reason),
        suggested_fix="Write tests that fail without the change and notice wrong results.",
        tests_at_fault=True,
    )


async def ask_model(
    context: AttemptContext, state: AttemptState, services: AgentServices, dialogue: Dialogue
) -> Reflection:
    """Ask the model for a reflection. An unusable reply, such as a copy of the form, is replaced by a fixed one."""
    prompt = await asyncio.to_thread(_request, context, state, services)
    reply = await exploring.answer(context, state, services, dialogue, prompt, json_reply=True)
    reflection = read_reflection(reply.text)
    if reflection is None and has_placeholder(reply.text):
        services.count_form(reply, False)
    return reflection or by_rule(state)


def _request(context: AttemptContext, state: AttemptState, services: AgentServices) -> Prompt:
    about = sections.prompt_context(context, state, services, Phase.REFLECTING)
    head = system(Phase.REFLECTING, sections.language_file(context))
    parts = [
        sections.the_task(about),
        sections.the_tests(about),
        sections.the_lessons(about),
        sections.the_plan(state),
        sections.the_files(about),
        *sections.the_history(about),
        sections.closing("Say why it failed, as one JSON object."),
    ]
    return sections.join_parts(about, head, parts, once=True)
