"""CLARIFYING: turns a vague task into a structured one, and asks the owner about unclear points if that is wanted.

The structured reading is only an opinion; every prompt still shows the owner's words. Each question has a default that
is assumed if nobody answers, so a task that waits at night continues without an answer. If the owner does not want
questions, the defaults apply at once. A description that cannot be read into a specification is passed on unchanged.

Clarity is measured by rules. A task with tests, cases or a test command is always clear. For any other task, the
description must say what to make, where the result belongs, and what its inputs and outputs are. The weights are set by
hand. The score only decides whether to spend one model call on this phase.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from nightshift.agent import project_choice as choice
from nightshift.agent.asking import as_ask
from nightshift.agent.dialogue import Dialogue
from nightshift.agent.prompt import sections
from nightshift.agent.prompt.budget import Prompt
from nightshift.agent.prompt.text import system
from nightshift.agent.replies import find_json
from nightshift.agent.services import AgentServices
from nightshift.core.tasks.attempt_state import AttemptContext, AttemptState, Brief, Question, Step
from nightshift.core.tasks.states import Outcome, Phase
from nightshift.core.tasks.task import TaskSpec
from nightshift.core.text.encoding import in_one_line
from nightshift.core.text.masking import printable

MOST_QUESTIONS = 3
_MAX_CHARS = 600
_MAX_ITEMS = 12


def _text(value: Any) -> str:
    if isinstance(value, list):
        value = "; ".join(map(str, value))
    return in_one_line(printable(str(value if value is not None else "")))[:_MAX_CHARS]


def _texts(value: Any) -> list[str]:
    items = value if isinstance(value, list) else [value] if value else []
    return [text for item in items[:_MAX_ITEMS] if (text := _text(item))]


class QuestionIn(BaseModel):
    """A question to the owner, as the model's JSON reply contains it."""

    model_config = ConfigDict(extra="ignore")

    question: Annotated[str, BeforeValidator(_text)] = Field(min_length=3)
    default: Annotated[str, BeforeValidator(_text)] = Field(min_length=1)


class BriefIn(BaseModel):
    """A structured reading of the task, as the model's JSON reply contains it; unknown fields are ignored."""

    model_config = ConfigDict(extra="ignore")

    goal: Annotated[str, BeforeValidator(_text)] = Field(min_length=3)
    inputs: Annotated[str, BeforeValidator(_text)] = ""
    outputs: Annotated[str, BeforeValidator(_text)] = ""
    constraints: Annotated[list[str], BeforeValidator(_texts)] = Field(default_factory=list)
    acceptance_tests: Annotated[list[str], BeforeValidator(_texts)] = Field(default_factory=list)
    questions: list[QuestionIn] = Field(default_factory=list)


def is_wanted(context: AttemptContext, clear_enough: float) -> bool:
    """Check whether this phase is needed: the owner wants questions, or the task is less clear than `clear_enough`."""
    return context.clarify or clarity(context.task.spec) < clear_enough


async def run(context: AttemptContext, state: AttemptState, services: AgentServices) -> Step:
    """Read the task into a structured form, and ask the owner if that is wanted. Raises what the model raises."""
    if state.brief is not None:
        return _go_on(context, state, state.brief)
    score = clarity(context.task.spec)
    dialogue = Dialogue(Phase.CLARIFYING, context, state, services)
    brief = await dialogue.ask_object(await asyncio.to_thread(_request, context, state, services), _brief)
    state = dialogue.charge(state)
    if brief is None:
        note = "the model gave no usable reading of the task, so your description is used unchanged"
        return Step(phase=Phase.CLARIFYING, outcome=Outcome.OK, state=state, note=note, data={"clarity": score})
    return _go_on(context, replace(state, brief=brief), brief, score)


def _go_on(context: AttemptContext, state: AttemptState, brief: Brief, score: float | None = None) -> Step:
    """Wait for the owner if questions are open and wanted; else fill in answers and defaults, and continue."""
    data = {} if score is None else {"clarity": score}
    open_ones = [question for question in brief.questions if question.subject not in context.granted | context.denied]
    if context.clarify and open_ones:
        asks = tuple(as_ask(question) for question in open_ones)
        note = f"waits for your answer: {asks[0].question}"[:300]
        held = replace(state, asks=asks)
        return Step(phase=Phase.CLARIFYING, outcome=Outcome.NEEDS_APPROVAL, state=held, note=note, data=data)
    questions = tuple(
        replace(question, answer=context.answers.get(question.subject, "") or question.default)
        for question in brief.questions
    )
    done = replace(state, brief=replace(brief, questions=questions), asks=())
    note = f"the model understands the task as: {brief.goal}"[:300]
    return Step(phase=Phase.CLARIFYING, outcome=Outcome.OK, state=done, note=note, data=data)


def _brief(text: str) -> tuple[Brief | None, str]:
    """Return the specification in a reply, or None and the reply's fault."""
    try:
        answer = BriefIn.model_validate(find_json(text) or {})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        return None, f"{'.'.join(map(str, first['loc']))}: {first['msg']}."
    asked = tuple(
        Question(text=question.question, default=question.default) for question in answer.questions[:MOST_QUESTIONS]
    )
    brief = Brief(
        goal=answer.goal,
        inputs=answer.inputs,
        outputs=answer.outputs,
        constraints=tuple(answer.constraints),
        acceptance=tuple(answer.acceptance_tests),
        questions=asked,
    )
    return brief, ""


def _request(context: AttemptContext, state: AttemptState, services: AgentServices) -> Prompt:
    about = sections.prompt_context(context, state, services, Phase.CLARIFYING)
    head = system(Phase.CLARIFYING, *sections.kind_file(context))
    parts = [
        sections.the_task(about),
        sections.the_tests(about),
        *([choice.the_projects(about)] if choice.is_open(context, state) else []),
        sections.the_repository(about),
        sections.the_files(about),
        sections.closing("Answer with the one JSON object."),
    ]
    return sections.join_parts(about, head, parts)


# The clarity of a task: patterns, weights and score.


_NAMES = re.compile(r"`[^`\n]+`|\b[A-Za-z_]\w*\([^)\n]*\)|\b\w+_\w+\b|\b[A-Z][a-z]+[A-Z]\w*")
_PLACES = re.compile(
    r"\b[\w/-]+\.[A-Za-z]{1,5}\b|\b(?:class|function|module|method|endpoint|table|file|command)s?\b", re.IGNORECASE
)
_EXAMPLES = re.compile(r"->|=>|==|→|\bfor example\b|\be\.g\.|\bsuch as\b|\breturns?\b|\braises?\b|```|/\w+/|\bwith\b")
_MAKING = re.compile(
    r"\s*(?:please\s+)?(?:write|add|create|implement|build|make|fix|rename|remove|replace|extract|return|support|port)\b",
    re.IGNORECASE,
)
_VAGUE = re.compile(
    r"\b(?:better|nicer?|improve|clean ?up|optimi[sz]e|some|stuff|things?|somehow|properly|etc|various|modern|robust"
    r"|user[- ]friendly|as needed|appropriate|good|awesome|fancy)\b",
    re.IGNORECASE,
)
_WEIGHTS: Sequence[tuple[re.Pattern[str], float]] = ((_NAMES, 0.3), (_PLACES, 0.2), (_EXAMPLES, 0.2), (_MAKING, 0.15))
_LONG_WORDS = 12


def clarity(spec: TaskSpec) -> float:
    """Return a score for how clear the task is, from 0 to 1. A task with tests, cases or a test command scores 1."""
    if spec.tests or spec.cases or spec.test_command:
        return 1.0
    text = spec.description[:20_000]
    score = sum(weight for pattern, weight in _WEIGHTS if pattern.search(text))
    score += 0.15 * min(1.0, len(text.split()) / _LONG_WORDS)
    return round(max(0.0, min(1.0, score - 0.15 * min(3, len(_VAGUE.findall(text))))), 2)
