"""REVIEW and AUDIT: a reader who sees the task and the change, and not the author's praise of it.

The change is shown whole, in as many questions as it takes. Findings at or above the gravities that block send it back
with the findings as feedback; the others are reported and stop nothing. A change that has passed is not read again
while it stays as it is, also when a test fails afterwards.

A review is an opinion: after it has sent the work back a few times in one attempt, it only reports, because a reviewer
who is never content would otherwise decide what the tests should. For the same reason a review that cannot be read does
not stop the task. An audit is a check: what it finds grave enough goes back as often as it takes, and an audit that
cannot be read makes the task wait for its owner, who may let this very change pass.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from agent import change_check
from agent.dialogue import Dialogue
from agent.patches import Piece, pieces
from agent.prompt import sections
from agent.prompt.budget import Prompt, fixed
from agent.prompt.text import quoted, system
from agent.replies import find_json, spoken
from agent.services import AgentServices
from core.attempt_state import AttemptContext, AttemptState, Step
from core.change_checks import Ask, AskKind, Finding
from core.dialogue import Message
from core.events import Kind, Level, RemarkData
from core.gauge import Gauge
from core.masking import printable
from core.remarks import Gravity, Remark
from core.states import Outcome, Phase
from core.tasks import digest


async def review(context: AttemptContext, state: AttemptState, services: AgentServices) -> Step:
    """Review the change. Raises what the model raises."""
    settings = services.settings
    blocks = settings.review_blocks if state.sent_back < settings.review_rounds else frozenset()
    reviewer = Reviewer(phase=Phase.REVIEW, who="review", blocks=blocks)

    def unreadable(after: AttemptState, why: str) -> Step:
        text = f"the review gave no answer that can be used, so the tests alone decide: {why}"
        services.events.emit(Kind.REMARK, text, level=Level.WARNING)
        return Step(phase=Phase.REVIEW, outcome=Outcome.OK, state=after, note=text[:300])

    return await read_change(context, state, services, reviewer, unreadable)


_MOST_KNOWN = 30


async def audit(context: AttemptContext, state: AttemptState, services: AgentServices) -> Step:
    """Audit the change. Raises what the model and the checks raise."""
    subject = f"audit:{digest(state.change)[:16]}"
    if subject in context.granted:
        return Step(phase=Phase.AUDIT, outcome=Outcome.OK, state=state, note="its owner lets this change pass unread")
    found = await change_check.findings_of(context, state, services)
    reviewer = Reviewer(
        phase=Phase.AUDIT, who="security audit", blocks=services.settings.audit_blocks, known=_known(found)
    )

    def unreadable(after: AttemptState, why: str) -> Step:
        if subject in context.denied:
            text = "The security audit gave no answer that can be used, and its owner does not let the change pass."
            return Step(
                phase=Phase.AUDIT, outcome=Outcome.REDO, state=replace(after, feedback=text, verdict=None), note=text
            )
        question = f"The security audit gave no answer that can be used ({why}) Let this change be tested without it?"
        ask = Ask(kind=AskKind.FINDING, subject=subject, question=question)
        note = f"waits for your decision: {question}"
        return Step(
            phase=Phase.AUDIT, outcome=Outcome.NEEDS_APPROVAL, state=replace(after, asks=(ask,)), note=note[:300]
        )

    return await read_change(context, state, services, reviewer, unreadable)


def _known(found: tuple[Finding, ...]) -> str:
    return "\n".join(
        f"{one.path}:{one.line}: {one.rule} ({one.severity}): {one.message}" for one in found[:_MOST_KNOWN]
    )


# --- reading a change


_SHARE = 0.5
"""Of a prompt for the change; less where the instructions take much."""
_REST = 0.12
"""Of a prompt for all beside change and instructions: headings, seals, the lines on what is left out."""
_SHOWN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewer:
    """One of the two: `who` is its name in sentences, `blocks` are the gravities that send a change back."""

    phase: Phase
    who: str
    blocks: frozenset[Gravity]
    known: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What was found in so many pieces; `unread` says why the last reply could not be used, where that is so."""

    found: tuple[Remark, ...] = ()
    parts: int = 0
    unread: str = ""


Unreadable = Callable[[AttemptState, str], Step]


async def read_change(
    context: AttemptContext, state: AttemptState, services: AgentServices, reviewer: Reviewer, unreadable: Unreadable
) -> Step:
    """Have the change read, and let it pass or send it back. Raises what the model raises."""
    mark = f"{reviewer.phase}:{digest(state.change)}"
    if mark in state.looked_at:
        return Step(phase=reviewer.phase, outcome=Outcome.OK, state=state, note="this change has passed before")
    dialogue = Dialogue(reviewer.phase, context, state, services)
    reading = await _read_all(context, state, services, reviewer, dialogue)
    state = dialogue.charge(state)
    if reading.unread:
        return unreadable(state, reading.unread)
    blocking = tuple(one for one in reading.found if one.gravity in reviewer.blocks)
    _report(services, reviewer, reading.found)
    data: dict[str, object] = {"findings": [_as_data(one) for one in reading.found[:_SHOWN]]} if reading.found else {}
    if blocking:
        return _sent_back(state, reviewer, blocking, data)
    state = replace(state, looked_at=(*state.looked_at, mark), remarks=())
    return Step(phase=reviewer.phase, outcome=Outcome.OK, state=state, note=_note(reading), data=data)


def _note(reading: Reading) -> str:
    if not reading.parts:
        return "nothing has changed, so there is nothing to read"
    count = len(reading.found)
    return f"{count} remark{'s' if count > 1 else ''}, none that blocks" if count else "nothing to find fault with"


def _sent_back(state: AttemptState, reviewer: Reviewer, blocking: Sequence[Remark], data: dict[str, object]) -> Step:
    text = as_feedback(blocking, reviewer.who)
    after = replace(state, feedback=text, verdict=None, remarks=tuple(blocking), sent_back=state.sent_back + 1)
    first = blocking[0]
    note = f"sent back: {first.where}: {first.reason}"
    return Step(phase=reviewer.phase, outcome=Outcome.REDO, state=after, note=note[:300], data=data)


async def _read_all(
    context: AttemptContext, state: AttemptState, services: AgentServices, reviewer: Reviewer, dialogue: Dialogue
) -> Reading:
    gauge = services.gauge(reviewer.phase, state.escalation)
    found = list[Remark]()
    parts = pieces(
        services.tree, context.task.spec, state.change, _budget_tokens(context, services, reviewer, gauge), gauge
    )
    for number, piece in enumerate(parts, 1):
        answer = await _read(context, state, services, reviewer, dialogue, piece, f"{number} of {len(parts)}")
        if isinstance(answer, str):
            return Reading(unread=answer)
        found += answer
    return Reading(found=worst_first(found), parts=len(parts))


async def _read(
    context: AttemptContext,
    state: AttemptState,
    services: AgentServices,
    reviewer: Reviewer,
    dialogue: Dialogue,
    piece: Piece,
    part: str,
) -> tuple[Remark, ...] | str:
    """The findings in one piece, or why the last reply could not be used; asks again a few times."""
    prompt = first = await asyncio.to_thread(_request, context, state, services, reviewer, piece, part)
    answer: tuple[Remark, ...] | str = ""
    for _ in range(services.settings.reasks + 1):
        reply = await dialogue.ask(prompt, json_reply=True)
        answer = read_remarks(reply.text, piece.paths)
        if not isinstance(answer, str):
            return answer
        again = f"{answer} Send the one JSON object that was asked for, and nothing else."
        prompt = dialogue.again(first, reply.text, again)
    return answer


def _request(
    context: AttemptContext, state: AttemptState, services: AgentServices, reviewer: Reviewer, piece: Piece, part: str
) -> Prompt:
    about = sections.prompt_context(context, state, services, reviewer.phase)
    parts = [
        sections.the_task(about),
        sections.the_tests(about),
        sections.the_conventions(about),
        fixed(
            "What other tools found", quoted("findings", reviewer.known) if reviewer.known else "", share=0.15, rank=4
        ),
        fixed(f"The change, part {part}", quoted("change", piece.text), rank=0),
        sections.closing("Answer with the one JSON object."),
    ]
    return sections.composed(about, _head(context, reviewer), parts)


def _budget_tokens(context: AttemptContext, services: AgentServices, reviewer: Reviewer, gauge: Gauge) -> int:
    """How many tokens of the change one question may hold."""
    limit = services.settings.limit(reviewer.phase, gauge)
    return min(int(limit * _SHARE), int(limit * (1 - _REST)) - gauge.tokens(_head(context, reviewer).text))


def _head(context: AttemptContext, reviewer: Reviewer) -> Message:
    return system(reviewer.phase, sections.language_file(context), *sections.kind_file(context))


def _as_data(one: Remark) -> RemarkData:
    return RemarkData(
        severity=str(one.gravity), path=one.path, line=one.line, message=one.reason[:200], fix=one.fix[:200]
    )


def _report(services: AgentServices, reviewer: Reviewer, found: Sequence[Remark]) -> None:
    for one in found[:_SHOWN]:
        blocks = one.gravity in reviewer.blocks
        text = f"{reviewer.who}: {one.where} ({one.gravity}): {one.reason}"[:500]
        data = _as_data(one) | {"blocks": blocks}
        services.events.emit(Kind.REMARK, text, level=Level.WARNING if blocks else Level.INFO, **data)


# --- the findings in a reply


MOST_REMARKS = 20
_MAX_CHARS = 500
_ALSO = {
    "blocker": Gravity.CRITICAL,
    "severe": Gravity.CRITICAL,
    "error": Gravity.HIGH,
    "major": Gravity.HIGH,
    "moderate": Gravity.MEDIUM,
    "warning": Gravity.MEDIUM,
    "minor": Gravity.LOW,
    "info": Gravity.LOW,
    "note": Gravity.LOW,
    "nit": Gravity.LOW,
}


def _gravity(value: Any) -> Any:
    answer = str(value).strip().lower()
    return _ALSO.get(answer, answer)


def _text(value: Any) -> str:
    return " ".join(printable(str(value if value is not None else "")).split())[:_MAX_CHARS]


def _line(value: Any) -> int:
    first = str(value if value is not None else "").strip().lstrip("L").split("-")[0]
    return min(int(first), 10**6) if first.isdecimal() else 0


class RemarkIn(BaseModel):
    """One finding as a model writes it; unknown fields are passed over."""

    model_config = ConfigDict(extra="ignore")

    file: Annotated[str, BeforeValidator(_text)] = Field(validation_alias=AliasChoices("file", "path"))
    line: Annotated[int, BeforeValidator(_line)] = 0
    severity: Annotated[Gravity, BeforeValidator(_gravity)]
    reason: Annotated[str, BeforeValidator(_text)] = Field(
        min_length=3, validation_alias=AliasChoices("reason", "message", "description")
    )
    fix: Annotated[str, BeforeValidator(_text)] = Field(
        default="", validation_alias=AliasChoices("fix", "suggestion", "suggested_fix")
    )


def read_remarks(text: str, paths: Collection[str]) -> tuple[Remark, ...] | str:
    """The findings in a reply, the worst first, or a sentence about why it cannot be used.

    A finding about a file that is not in the change is passed over: nothing could be mended there.
    """
    data = find_json(spoken(text))
    if data is None or not isinstance(data.get("findings"), list):
        return 'The reply was no JSON object with a list "findings".'
    found = list[Remark]()
    for number, item in enumerate(data["findings"][:MOST_REMARKS], 1):
        try:
            answer = RemarkIn.model_validate(item)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            return f"Finding {number}: {'.'.join(map(str, first['loc'])) or 'it'}: {first['msg']}."
        path = (
            answer.file.removeprefix("./").removeprefix("a/").removeprefix("b/")
            if answer.file not in paths
            else answer.file
        )
        if path in paths:
            found.append(
                Remark(path=path, line=answer.line, gravity=answer.severity, reason=answer.reason, fix=answer.fix)
            )
    return worst_first(found)


def worst_first(found: Sequence[Remark]) -> tuple[Remark, ...]:
    """Each finding once, in the order of gravity, then of place."""
    order = list(Gravity)
    return tuple(sorted(dict.fromkeys(found), key=lambda one: (order.index(one.gravity), one.path, one.line)))


def as_feedback(found: Sequence[Remark], who: str) -> str:
    """The findings as feedback for the next try."""
    lines = [f"The {who} sends the change back. Mend what it names, and keep everything else as it is."]
    for number, one in enumerate(found, 1):
        fix = f" Suggested: {one.fix}" if one.fix else ""
        lines.append(f"{number}. {one.where} ({one.gravity}): {one.reason}{fix}")
    return "\n".join(lines)
