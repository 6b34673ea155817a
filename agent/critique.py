"""What REVIEW and AUDIT share: a reader who sees the task and the change, and not the author's praise of it.

The change is shown whole, in as many questions as it takes. Findings at or above the gravities that block send it back
with the findings as feedback; the others are told and hold nothing up. A change that has passed is not read again while
it stays as it is, also when the tests sent it round.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from agent import briefing, kinds, remarks
from agent.asking import Dialogue
from agent.patches import Piece, pieces
from agent.portions import Prompt, fixed
from agent.prompting import quoted, system
from agent.tools import Tools
from core.dialogue import Message
from core.events import Event, Kind, Level
from core.gauge import Gauge
from core.remarks import Gravity, Remark
from core.states import Outcome, Phase
from core.tasks import digest
from core.work import Case, Step, Work

_SHARE = 0.5
"""Of a prompt for the change; less where the instructions take much."""
_REST = 0.12
"""Of a prompt for all beside change and instructions: headings, seals, what is told to be left out."""
_SHOWN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
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


Unreadable = Callable[[Work, str], Step]


async def run(case: Case, work: Work, tools: Tools, reader: Reader, unreadable: Unreadable) -> Step:
    """Have the change read, and let it pass or send it back. Raises what the model raises."""
    mark = f"{reader.phase}:{digest(work.change)}"
    if mark in work.looked_at:
        return Step(phase=reader.phase, outcome=Outcome.OK, work=work, note="this change has passed before")
    talk = Dialogue(reader.phase, case, work, tools)
    reading = await _read_all(case, work, tools, reader, talk)
    work = talk.charge(work)
    if reading.unread:
        return unreadable(work, reading.unread)
    blocking = tuple(one for one in reading.found if one.gravity in reader.blocks)
    _tell(case, work, tools, reader, reading.found)
    data: dict[str, object] = {"findings": [_plain(one) for one in reading.found[:_SHOWN]]} if reading.found else {}
    if blocking:
        return _sent_back(work, reader, blocking, data)
    work = replace(work, looked_at=(*work.looked_at, mark), remarks=())
    return Step(phase=reader.phase, outcome=Outcome.OK, work=work, note=_note(reading), data=data)


def _note(reading: Reading) -> str:
    if not reading.parts:
        return "nothing has changed, so there is nothing to read"
    count = len(reading.found)
    return f"{count} remark{'s' if count > 1 else ''}, none that blocks" if count else "nothing to find fault with"


def _sent_back(work: Work, reader: Reader, blocking: Sequence[Remark], data: dict[str, object]) -> Step:
    text = remarks.shape(blocking, reader.who)
    after = replace(work, feedback=text, verdict=None, remarks=tuple(blocking), sent_back=work.sent_back + 1)
    first = blocking[0]
    note = f"sent back: {first.where}: {first.reason}"
    return Step(phase=reader.phase, outcome=Outcome.REDO, work=after, note=note[:300], data=data)


async def _read_all(case: Case, work: Work, tools: Tools, reader: Reader, talk: Dialogue) -> Reading:
    gauge = tools.gauge(reader.phase, work.escalation)
    found = list[Remark]()
    parts = pieces(tools.tree, case.task.spec, work.change, _room(case, tools, reader, gauge), gauge)
    for number, piece in enumerate(parts, 1):
        said = await _read(case, work, tools, reader, talk, piece, f"{number} of {len(parts)}")
        if isinstance(said, str):
            return Reading(unread=said)
        found += said
    return Reading(found=remarks.worst_first(found), parts=len(parts))


async def _read(
    case: Case, work: Work, tools: Tools, reader: Reader, talk: Dialogue, piece: Piece, part: str
) -> tuple[Remark, ...] | str:
    """The findings in one piece, or why the last reply could not be used; asks again a few times."""
    prompt = first = await asyncio.to_thread(_request, case, work, tools, reader, piece, part)
    said: tuple[Remark, ...] | str = ""
    for _ in range(tools.settings.reasks + 1):
        reply = await talk.ask(prompt, json_reply=True)
        said = remarks.read(reply.text, piece.paths)
        if not isinstance(said, str):
            return said
        again = f"{said} Send the one JSON object that was asked for, and nothing else."
        prompt = talk.again(first, reply.text, again)
    return said


def _request(case: Case, work: Work, tools: Tools, reader: Reader, piece: Piece, part: str) -> Prompt:
    scene = briefing.scene(case, work, tools, reader.phase)
    parts = [
        briefing.the_task(scene),
        briefing.the_tests(scene),
        fixed("What other tools found", quoted("findings", reader.known) if reader.known else "", share=0.15, rank=4),
        fixed(f"The change, part {part}", quoted("change", piece.text), rank=0),
        briefing.now("Answer with the one JSON object."),
    ]
    return briefing.written(scene, _head(case, reader), parts)


def _room(case: Case, tools: Tools, reader: Reader, gauge: Gauge) -> int:
    """How many tokens of the change one question may hold."""
    limit = tools.settings.limit(reader.phase, gauge)
    return min(int(limit * _SHARE), int(limit * (1 - _REST)) - gauge.tokens(_head(case, reader).text))


def _head(case: Case, reader: Reader) -> Message:
    return system(reader.phase, briefing.language_part(case), f"kinds/{kinds.kind_of(case.task.spec)}")


def _plain(one: Remark) -> dict[str, object]:
    return {
        "severity": str(one.gravity),
        "path": one.path,
        "line": one.line,
        "message": one.reason[:200],
        "fix": one.fix[:200],
    }


def _tell(case: Case, work: Work, tools: Tools, reader: Reader, found: Sequence[Remark]) -> None:
    for one in found[:_SHOWN]:
        blocks = one.gravity in reader.blocks
        tools.emit(
            Event(
                kind=Kind.REMARK,
                level=Level.WARNING if blocks else Level.INFO,
                message=f"{reader.who}: {one.where} ({one.gravity}): {one.reason}"[:500],
                task_id=case.task.id,
                attempt=work.attempt,
                iteration=work.iteration,
                phase=reader.phase,
                data=_plain(one) | {"blocks": blocks},
            )
        )
