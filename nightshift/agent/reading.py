"""Shows a whole change to the readers, review and audit, in as few model calls as its length allows.

Each reader sees the task and the change, but not the author's summary of the change. If review and audit are both on
and the change fits into one prompt, one model call serves both, and each finding names its reader. Findings are stored
with the change's digest, so an unchanged change is not read again, even if a test fails later.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from nightshift.agent.dialogue import Dialogue
from nightshift.agent.patches import pieces
from nightshift.agent.prompt import sections
from nightshift.agent.prompt.budget import Prompt, fix
from nightshift.agent.prompt.text import quote, system
from nightshift.agent.replies.remarks import ReadRemarks, read_remarks
from nightshift.agent.services import AgentServices
from nightshift.core.dialogue import Message
from nightshift.core.tasks.attempt_state import AttemptContext, AttemptState
from nightshift.core.tasks.change_checks import Finding
from nightshift.core.tasks.remarks import Reader, Reading, Remark, worst_first
from nightshift.core.tasks.states import Phase
from nightshift.core.tasks.task import digest

PHASES = {Reader.REVIEW: Phase.REVIEW, Reader.AUDIT: Phase.AUDIT}
_SHARE = 0.5
"""Largest share of a prompt that the change may take; the change gets less if the instructions are long."""
_REST = 0.12
"""Share of a prompt that is reserved for everything except change and instructions, such as headings and markers."""
_MOST_KNOWN = 30
_KEPT = 8
"""Maximum number of readings that an attempt's state stores; a reading holds the findings about one version of a
change.
"""
_BOTH = (Reader.REVIEW, Reader.AUDIT)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Questions:
    """The prompts about a change, one for each piece of the change; all of them address the same readers."""

    readers: tuple[Reader, ...]
    parts: Sequence[str]

    @property
    def phase(self) -> Phase:
        return PHASES[self.readers[0]]


async def with_reading(
    context: AttemptContext, state: AttemptState, services: AgentServices, reader: Reader
) -> AttemptState:
    """Return the state with the reader's findings about its change.

    If one prompt serves both readers, both readers' findings are added. Raises what the model raises.
    """
    questions = await asyncio.to_thread(_questions, context, state, services, reader)
    dialogue, paths = Dialogue(questions.phase, context, state, services), state.change.keys()

    def read(text: str) -> tuple[ReadRemarks, str]:
        answer = read_remarks(text, paths, questions.readers)
        return answer, answer.fault

    remarks, unread = list[Remark](), list[str]()
    for number, piece in enumerate(questions.parts, 1):
        part = f"{number} of {len(questions.parts)}"
        first = await asyncio.to_thread(_request, context, state, services, questions, piece, part)
        answer = await dialogue.ask_object(first, read)
        remarks += answer.remarks
        unread += [answer.fault] if answer.fault else []
    state = dialogue.charge(state)
    new = [_reading(each, state, remarks, unread, questions) for each in questions.readers]
    return replace(state, readings=(*state.readings, *new)[-_KEPT:])


def _reading(
    reader: Reader, state: AttemptState, remarks: Sequence[Remark], unread: Sequence[str], questions: _Questions
) -> Reading:
    return Reading(
        reader=reader,
        change=digest(state.change),
        found=worst_first(remark for remark in remarks if remark.reader is reader),
        parts=len(questions.parts),
        unread=unread[0] if unread else "",
    )


def _questions(context: AttemptContext, state: AttemptState, services: AgentServices, reader: Reader) -> _Questions:
    """Make the prompts for this reader, or for both readers if both are wanted and the change fits into one prompt."""
    both = reader is Reader.REVIEW and context.audit and services.settings.read_together
    if both and state.reading(Reader.AUDIT) is None:
        parts = _pieces(context, state, services, _BOTH)
        if len(parts) <= 1:
            return _Questions(readers=_BOTH, parts=parts)
    return _Questions(readers=(reader,), parts=_pieces(context, state, services, (reader,)))


def _pieces(
    context: AttemptContext, state: AttemptState, services: AgentServices, readers: tuple[Reader, ...]
) -> list[str]:
    """Split the change into pieces that each fit into one question."""
    phase = PHASES[readers[0]]
    gauge = services.gauge(phase, state.escalation)
    limit = services.settings.limit(phase, gauge)
    space = min(int(limit * _SHARE), int(limit * (1 - _REST)) - gauge.tokens(_head(context, readers).text))
    return pieces(services.tree, context.task.spec, state.change, space, gauge)


def _request(
    context: AttemptContext,
    state: AttemptState,
    services: AgentServices,
    questions: _Questions,
    piece: str,
    part: str,
) -> Prompt:
    about = sections.prompt_context(context, state, services, questions.phase)
    earlier_findings = (
        _list_earlier(state.checked.findings) if state.checked and Reader.AUDIT in questions.readers else ""
    )
    parts = [
        sections.the_task(about),
        sections.the_tests(about),
        sections.the_conventions(about),
        fix(
            "What other tools found",
            quote("findings", earlier_findings) if earlier_findings else "",
            share=0.15,
            rank=4,
        ),
        fix(f"The change, part {part}", quote("change", piece), rank=0),
        sections.closing("Answer with the one JSON object."),
    ]
    return sections.join_parts(about, _head(context, questions.readers), parts)


def _head(context: AttemptContext, readers: tuple[Reader, ...]) -> Message:
    both = readers == _BOTH
    own = ("security",) if Reader.AUDIT in readers else ()
    reply = "formats/findings_of_both" if both else "formats/findings"
    return system(PHASES[readers[0]], *own, reply, sections.language_file(context), *sections.kind_file(context))


def _list_earlier(findings: Sequence[Finding]) -> str:
    return "\n".join(
        f"{finding.path}:{finding.line}: {finding.rule} ({finding.severity}): {finding.message}"
        for finding in findings[:_MOST_KNOWN]
    )
