"""Questions of a working model to the owner, and the owner's answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from nightshift.agent.prompt.text import quote
from nightshift.agent.tools import arguments
from nightshift.core.tasks.attempt_state import REFUSAL, AttemptContext, AttemptState, Question, Step
from nightshift.core.tasks.change_checks import Ask, AskKind
from nightshift.core.tasks.states import Outcome, Phase
from nightshift.core.text.masking import printable

QUESTION_CHARS = 1000
DECIDE = "Decide yourself, by the words of the task."
ASKED_BEFORE = "The owner was asked this before. His answer:"
_GO_ON = "He wants it done all the same: do as much of it as can be done."


def as_question(asked: arguments.Ask | arguments.Cannot) -> Question:
    """Convert a model's request, an `Ask` or a `Cannot`, into the question that the owner reads."""
    if isinstance(asked, arguments.Ask):
        return Question(text=_line(asked.question), default=_line(asked.default))
    text = f"The model says that this task cannot be done as described: {_line(asked.reason)}"
    return Question(text=text, default="", is_refusal=True)


def _line(text: str) -> str:
    return " ".join(printable(text).split())[:QUESTION_CHARS]


def as_ask(question: Question) -> Ask:
    """Convert a question into an `Ask`, which pauses the attempt until the owner answers."""
    return Ask(kind=AskKind.QUESTION, subject=question.subject, question=question.text, default=question.default)


def wait_for_answer(
    phase: Phase, state: AttemptState, question: Question, data: Mapping[str, Any] | None = None
) -> Step:
    """Return the step that waits for the owner. The work so far is kept, and the phase continues with the answer."""
    ask = as_ask(question)
    state = replace(state, asks=(ask,), reason=ask.question, questions=(*state.questions, question))
    note = f"waits for your answer: {ask.question}"[:300]
    return Step(phase=phase, outcome=Outcome.NEEDS_APPROVAL, state=state, note=note, data=data or {})


def answer_to(context: AttemptContext, question: Question) -> str | None:
    """Return the owner's answer, or None if the owner has not answered this question.

    A model may claim several times, for different reasons, that the task cannot be done. Once the owner has told it to
    try anyway, that answer is returned for all later claims.
    """
    if question.subject in context.granted | context.denied:
        return context.answers.get(question.subject) or question.default or (_GO_ON if question.is_refusal else DECIDE)
    refusals = sorted(subject for subject in context.granted if question.is_refusal and subject.startswith(REFUSAL))
    return (context.answers.get(refusals[-1]) or _GO_ON) if refusals else None


def read_agreed_refusal(context: AttemptContext, state: AttemptState) -> str:
    """Return the model's reason why the task cannot be done, if the owner agrees with it; else an empty string."""
    return next(
        (question.text for question in state.questions if question.is_refusal and question.subject in context.denied),
        "",
    )


def answers(context: AttemptContext, state: AttemptState) -> str:
    """Format the attempt's answered questions for a prompt; return an empty string if there are none."""
    question_answers = ((question, answer_to(context, question)) for question in state.questions)
    lines = [f"- {question.text} {answer}" for question, answer in question_answers if answer is not None]
    return quote("answers", "\n".join(lines)) if lines else ""
