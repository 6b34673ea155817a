"""PLANNING: recalls lessons, and asks for a short numbered plan or for a split of a large task into subtasks.

If a model twice asks a question or declines instead of planning, the owner is asked once. If no plan comes after the
owner's answer either, the fallback plan is used.

A task is split only if it allows that, and only by the first plan of an attempt; a later plan covers the rest of the
work without a split. A split that would not work is sent back with its fault; after a few such splits the fallback plan
is used. Subtasks are ordered so that each comes after the subtasks that it needs. A subtask can use only tests that the
owner supplied with the task, and only by name, whatever the model says. Its other requirements are acceptance criteria.
Tests for them are written and checked as for any task without tests.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter
from itertools import combinations
from typing import Annotated, Any

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, StrictInt, ValidationError

from nightshift.agent import exploring
from nightshift.agent import project_choice as choice
from nightshift.agent.asking import DECIDE, answer_to, as_question, read_agreed_refusal, wait_for_answer
from nightshift.agent.change_check import asks_for
from nightshift.agent.clarifying import clarity
from nightshift.agent.dialogue import Dialogue
from nightshift.agent.prompt import plain_requests, sections
from nightshift.agent.prompt.budget import Prompt
from nightshift.agent.prompt.text import system
from nightshift.agent.protected_files import more_asked
from nightshift.agent.recall import with_lessons
from nightshift.agent.replies import find_json
from nightshift.agent.replies.fences import blocks
from nightshift.agent.services import REASKS, AgentServices
from nightshift.agent.tools import arguments
from nightshift.core.code.paths import clash_among, is_test_path, path_fault
from nightshift.core.tasks.attempt_state import AttemptContext, AttemptState, Question, Step
from nightshift.core.tasks.change_checks import Ask, package_subject
from nightshift.core.tasks.states import Outcome, Phase
from nightshift.core.tasks.task import FEWEST_PARTS, MOST_PARTS, Subtask, TaskSpec, as_plan
from nightshift.core.text.encoding import in_one_line
from nightshift.core.text.masking import printable

_MAX_PLAN_CHARS = 4000
_MAX_DECLINED_CHARS = 600
_NO_PLAN = "That is no plan. Send the numbered list of steps; where something is left open, say what you assume."
_STEPS = re.compile(
    r"^[ \t]*(?:(?:\d{1,2}[.):]|[-*•+]|#{1,4})[ \t]|\*\*[^*\n]+\*\*:?[ \t]*$|(?:step|phase)[ \t]+\d)",
    re.MULTILINE | re.IGNORECASE,
)
_DECLINES = re.compile(
    r"\b(?:can(?:not|'t|’t| not)|unable|impossible|sorry|won['’]t|refuse|decline|clarif\w+"
    r"|please (?:provide|share|tell)|need (?:to know|more)|not (?:possible|enough))\b|\?\s*$",
    re.IGNORECASE,
)
_QUESTION = re.compile(r"\?|\bclarif\w+|\bplease (?:provide|share|tell)\b|\bneed (?:to know|more)\b", re.IGNORECASE)
_PACKAGES = re.compile(r"^\W{0,6}packages?\W{0,4}:\W{0,4}[ \t]*(\S.*)$", re.IGNORECASE | re.MULTILINE)
_MOST_PACKAGES = 10
_PLAIN = "the model sent no plan, so the standard plan is used"
_FALLBACK = (
    "1. Read the task and the tests.\n2. Write the files that they name.\n3. Check every case that they mention."
)


async def run(context: AttemptContext, state: AttemptState, services: AgentServices) -> Step:
    """Make a plan (`AttemptState.plan`), split the task, or ask the owner. Raises what model and memory raise."""
    if step := await asyncio.to_thread(_without_asking, context, state, services):
        return step
    if not state.plan:
        most = services.settings.recall_limit
        state = await with_lessons(context, state, services, context.task.spec.description, most=most)
    dialogue = Dialogue(Phase.PLANNING, context, state, services)
    answer = await _ask(context, state, services, dialogue)
    state = dialogue.charge(state)
    if not isinstance(answer, str):
        return _split(state, answer)
    declined = " ".join(answer.split()) if declines(answer) else ""
    data = {"declined": declined[:_MAX_DECLINED_CHARS]} if declined else {}
    if declined and (question := _open_question(context, declined)):
        return wait_for_answer(Phase.PLANNING, state, question, data)
    plan = "" if declined else answer
    lines = sum(1 for line in plan.split("\n") if line.strip())
    note = f"a plan of {lines} line{'s' if lines != 1 else ''}" if plan else _PLAIN
    state = replace(state, plan=plan or _FALLBACK)
    if choice.is_open(context, state):
        state = await asyncio.to_thread(choice.choose, context, state, services.tree)
    context = context.within(state.project)
    note += f" in the project {state.project}" if state.project else ""
    note += f": {declined}" if declined else ""
    if asks := await asks_for(context, state, services, wanted) if (wanted := list_planned_packages(plan)) else ():
        return _needs_packages(state, asks)
    return _finish_plan(state, note, data)


def _without_asking(context: AttemptContext, state: AttemptState, services: AgentServices) -> Step | None:
    """Return the step if the model need not be asked for a plan; else None.

    No plan is needed if the owner has decided everything, or if the code is requested with a plain prompt.
    """
    if agreed := read_agreed_refusal(context, state):
        return _finish_plan(
            replace(state, plan=state.plan or _FALLBACK), f"you agreed: {agreed}"
        )  # CODING ends the attempt
    if _was_held(context, state):
        return _finish_plan(state, "you allowed the packages of the plan")
    if not plain_requests.is_plain(context, state, services, Phase.CODING):
        return None
    if choice.is_open(context, state):
        state = choice.choose(context, state, services.tree)
    return _finish_plan(state, "no plan: the agent asks the model for the code at once")


def list_planned_packages(plan: str) -> tuple[str, ...]:
    """List the packages that a plan names in its `Packages:` line."""
    lines = (match[1].replace("`", " ") for match in _PACKAGES.finditer(plan))
    names = dict.fromkeys(name for line in lines for name in re.split(r"[\s,;]+", line.rstrip(". ")) if name)
    return tuple(name for name in names if name.lower() not in {"none", "and", "-"})[:_MOST_PACKAGES]


def _was_held(context: AttemptContext, state: AttemptState) -> bool:
    """Check whether the first plan waited for the owner's decision on packages and can continue.

    It can if at least one package was granted and none was denied.
    """
    subjects = set(map(package_subject, list_planned_packages(state.plan)))
    begun = state.iteration or state.parts
    return bool(subjects and not begun and subjects & context.granted and not subjects & context.denied)


def _needs_packages(state: AttemptState, asks: tuple[Ask, ...]) -> Step:
    """Wait for the owner's decision on packages before any code is written that uses them."""
    note = f"waits for your decision on {', '.join(ask.subject.partition(':')[2] for ask in asks)}"
    state = replace(state, asks=asks, reason=note)
    return Step(phase=Phase.PLANNING, outcome=Outcome.NEEDS_APPROVAL, state=state, note=note[:300])


def _finish_plan(state: AttemptState, note: str, data: Mapping[str, Any] | None = None) -> Step:
    state = replace(state, asks=())
    return Step(phase=Phase.PLANNING, outcome=Outcome.OK, state=state, note=note[:300], data=data or {})


def _open_question(context: AttemptContext, declined: str) -> Question | None:
    """Return the question to the owner after a model sent no plan; None if the owner has already answered it.

    If the model asked a question, that question is used. Otherwise the owner is asked whether the task can be done at
    all. If None is returned, the caller uses the fallback plan.
    """
    is_question = _QUESTION.search(declined)
    asked = arguments.Ask(question=declined, default=DECIDE) if is_question else arguments.Cannot(reason=declined)
    question = as_question(asked)
    return question if answer_to(context, question) is None else None


async def _ask(
    context: AttemptContext, state: AttemptState, services: AgentServices, dialogue: Dialogue
) -> str | tuple[Subtask, ...]:
    """Return the plan as text, or the subtasks into which the model splits the task; "" if no plan came.

    If a reply has no steps or headings, the model is asked once more. The second reply is accepted in any form.
    """
    first = prompt = await asyncio.to_thread(_request, context, state, services)
    splits, text = _may_split(context, state), ""
    for _ in range(REASKS + 1 if splits else 2):
        reply = await exploring.answer(context, state, services, dialogue, prompt)
        split = read_split(reply.text, context, services.settings.clear_enough) if splits else None
        if isinstance(split, tuple):
            return split
        text = "" if split else printable(reply.text.strip(), max_chars=_MAX_PLAN_CHARS)
        if text and (is_plan(text) or prompt is not first):
            return text
        wrong = f"{split} Send the whole JSON object again, or the numbered plan." if split else _NO_PLAN
        prompt = dialogue.again(first, reply.text, wrong)
    return text


def is_plan(text: str) -> bool:
    """Check whether a reply has the form of a plan: numbered or marked steps, headings, or JSON."""
    return _STEPS.search(text) is not None or find_json(text) is not None


def declines(text: str) -> bool:
    """Check whether a reply is not a plan, and asks a question or says that the task cannot be done."""
    return bool(text) and not is_plan(text) and _DECLINES.search(text) is not None


def _may_split(context: AttemptContext, state: AttemptState) -> bool:
    return context.split and not (state.parts or state.iteration)


def _split(state: AttemptState, parts: tuple[Subtask, ...]) -> Step:
    state = replace(state, parts=parts, plan=as_plan(parts), feedback="")
    data = {"subtasks": [{"files": list(part.files), "after": list(part.after)} for part in parts]}
    note = f"split into {len(parts)} subtasks"
    return Step(phase=Phase.PLANNING, outcome=Outcome.SPLIT, state=state, note=note, data=data)


def _request(context: AttemptContext, state: AttemptState, services: AgentServices) -> Prompt:
    about = sections.prompt_context(context, state, services, Phase.PLANNING)
    more = [
        *(["split"] if _may_split(context, state) else []),
        *(["projects"] if choice.is_open(context, state) else []),
    ]
    head = system(Phase.PLANNING, sections.language_file(context), *sections.kind_file(context), *more)
    again = bool(state.plan)
    parts = [
        sections.the_task(about),
        sections.the_answers(about),
        sections.the_tests(about),
        *([choice.the_projects(about)] if choice.is_open(context, state) else []),
        sections.the_repository(about),
        sections.the_conventions(about),
        sections.the_lessons(about),
        sections.the_files(about),
        *([sections.the_plan(state, "The plan that did not work")] if again else []),
        *sections.the_history(about, failure=again),
        sections.closing("Plan another approach." if again else "Write the plan."),
    ]
    return sections.join_parts(about, head, parts)


# Plans that split a task into subtasks.


MOST_FILES = 20
LEAST_WORDS = 6
_MAX_CHARS = 4000
_MAX_CRITERIA = 12
_NESTED = ("subtasks", "children", "split")


def _text(value: Any) -> str:
    return printable(str(value)).strip()[:_MAX_CHARS] if isinstance(value, str) else ""


def _texts(value: Any) -> list[str]:
    items = value if isinstance(value, list) else [value]
    return [text for item in items[:_MAX_CRITERIA] if (text := in_one_line(_text(item)))]


class SubtaskIn(BaseModel):
    """A subtask as the model's JSON contains it. `depends_on` has positions in the list of subtasks, from 1."""

    model_config = ConfigDict(extra="ignore")

    description: Annotated[str, BeforeValidator(_text)] = Field(min_length=1)
    files: list[str] = Field(min_length=1, max_length=MOST_FILES)
    tests: list[str] = Field(default_factory=list)
    acceptance: Annotated[list[str], BeforeValidator(_texts)] = Field(
        default_factory=list, validation_alias=AliasChoices("acceptance", "acceptance_criteria", "criteria")
    )
    depends_on: list[StrictInt] = Field(default_factory=list)


def read_split(text: str, context: AttemptContext, clear_enough: float) -> tuple[Subtask, ...] | str | None:
    """Return the subtasks in a reply, or a sentence that says why they are unusable; None if there is no split.

    Args:
        text: the reply.
        context: the attempt's context with the task that is planned.
        clear_enough: a subtask with a lower clarity (0 to 1, `agent.clarifying`) is refused.
    """
    raw = _read_list(text)
    if raw is None:
        return None
    if not FEWEST_PARTS <= len(raw) <= MOST_PARTS:
        return f"A task is split into {FEWEST_PARTS} to {MOST_PARTS} subtasks, not into {len(raw)}."
    subtasks = list[SubtaskIn]()
    for number, item in enumerate(raw, 1):
        read_subtask = _part(number, item)
        if isinstance(read_subtask, str):
            return read_subtask
        subtasks.append(read_subtask)
    faults = (
        _fault(number, subtask, len(subtasks), context, clear_enough) for number, subtask in enumerate(subtasks, 1)
    )
    return next(filter(None, faults), "") or _together(subtasks) or _order_subtasks(subtasks)


def _read_list(text: str) -> list[Any] | None:
    """Return the list of subtasks in a reply, as raw JSON.

    The list may be bare, in a code block, or in the field `subtasks` of an object.
    """
    for candidate in (text, *(block.text for block in blocks(text))):
        if candidate.strip().startswith("["):
            try:
                data = json.loads(candidate)
            except (ValueError, RecursionError):
                continue
            if isinstance(data, list) and all(isinstance(item, dict) for item in data):
                return data
    within = (find_json(text) or {}).get("subtasks")
    return within if isinstance(within, list) else None


def _part(number: int, raw: Any) -> SubtaskIn | str:
    if not isinstance(raw, Mapping):
        return f"Subtask {number} is no object."
    if any(raw.get(name) for name in _NESTED):
        return f"Subtask {number} is split again; subtasks have no subtasks of their own."
    try:
        return SubtaskIn.model_validate(dict(raw))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        return f"Subtask {number}: {'.'.join(map(str, first['loc']))}: {first['msg']}."


def _fault(number: int, subtask: SubtaskIn, count: int, context: AttemptContext, clear_enough: float) -> str:
    """Describe the fault of a single subtask; empty if it has none."""
    given = context.task.spec.tests
    for path in subtask.files:
        if why := path_fault(path) or ("a given test is never changed" if path in given else ""):
            return f"Subtask {number}: files: {path!r}: {why}."
    if unknown := [name for name in subtask.tests if name not in given]:
        return f"Subtask {number}: tests: {unknown[0]!r} is none of the given tests ({', '.join(given) or 'none'})."
    if not (subtask.tests or subtask.acceptance):
        return (
            f"Subtask {number} says nothing by which it is judged: give acceptance criteria, or names of given tests."
        )
    if wrong := [at for at in subtask.depends_on if not 1 <= at <= count or at == number]:
        return f"Subtask {number}: depends_on: {wrong[0]} is no other subtask; they are numbered from 1 to {count}."
    if all(map(is_test_path, subtask.files)):
        return f"Subtask {number} writes nothing but tests; every subtask brings its own."
    full_text = "\n".join([subtask.description, *subtask.acceptance, *subtask.files])
    if more := more_asked(context.task.spec.description, full_text):
        return (
            f"Subtask {number} asks for {more!r}, which runs or steers tools on the owner's machine; the task does not."
        )
    if len(subtask.description.split()) < LEAST_WORDS or clarity(TaskSpec(description=full_text)) < clear_enough:
        return (
            f"Subtask {number} is too vague to be worked on alone: say what is made, where, and what goes in and out."
        )
    return ""


def _together(subtasks: Sequence[SubtaskIn]) -> str:
    """Describe a fault between subtasks, such as a cycle or a file that two of them change; empty if there is none."""
    needs = _needs(subtasks)
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        circle = " → ".join(str(at + 1) for at in error.args[1])
        return f"The subtasks wait for each other in a circle ({circle})."
    for first, other in combinations(range(len(subtasks)), 2):
        both = sorted(set(subtasks[first].files) & set(subtasks[other].files))
        if both and other not in _before(first, needs) and first not in _before(other, needs):
            return (
                f"Subtasks {first + 1} and {other + 1} both change {both[0]!r}: give the file to one of them, "
                "or let one depend on the other."
            )
    if clash := clash_among(dict.fromkeys(path for subtask in subtasks for path in subtask.files)):
        return f"The files {clash[0]!r} and {clash[1]!r} cannot exist beside each other; rename one of them."
    if twice := [text for text, times in Counter(subtask.description for subtask in subtasks).items() if times > 1]:
        return f"Two subtasks say the same: {twice[0][:80]!r}."
    return ""


def _needs(subtasks: Sequence[SubtaskIn]) -> dict[int, set[int]]:
    return {at: {number - 1 for number in subtask.depends_on} for at, subtask in enumerate(subtasks)}


def _before(at: int, needs: Mapping[int, Iterable[int]]) -> set[int]:
    """Return all subtasks that must be done before subtask `at`, directly or indirectly; `needs` has no cycles."""
    prerequisites, waiting = set[int](), list(needs[at])
    while waiting:
        prerequisite = waiting.pop()
        if prerequisite not in prerequisites:
            prerequisites.add(prerequisite)
            waiting += needs[prerequisite]
    return prerequisites


def _order_subtasks(subtasks: Sequence[SubtaskIn]) -> tuple[Subtask, ...]:
    needs = _needs(subtasks)
    order = list(TopologicalSorter(needs).static_order())
    positions = {at: number for number, at in enumerate(order)}
    return tuple(
        Subtask(
            description=subtasks[at].description,
            files=tuple(dict.fromkeys(subtasks[at].files)),
            tests=tuple(dict.fromkeys(subtasks[at].tests)),
            acceptance=tuple(subtasks[at].acceptance),
            after=tuple(sorted(positions[before] for before in needs[at])),
        )
        for at in order
    )
