"""AUDIT: whether the change opens a hole, with the findings of the static checker as a start.

It is a gate and not an opinion: what it finds grave enough goes back as often as it takes, and an audit that cannot be
read makes the task wait for its owner, who may let this very change pass.
"""

from __future__ import annotations

from dataclasses import replace

from agent import critique, gatekeeping
from agent.critique import Reader
from agent.tools import Tools
from core.gates import Ask, AskKind, Finding
from core.states import Outcome, Phase
from core.tasks import digest
from core.work import Case, Step, Work

_KNOWN = 30


async def run(case: Case, work: Work, tools: Tools) -> Step:
    """Audit the change. Raises what model and gates raise."""
    subject = f"audit:{digest(work.change)[:16]}"
    if subject in case.granted:
        return Step(phase=Phase.AUDIT, outcome=Outcome.OK, work=work, note="its owner lets this change pass unread")
    found = await gatekeeping.look(case, work, tools)
    reader = Reader(phase=Phase.AUDIT, who="security audit", blocks=tools.settings.audit_blocks, known=_known(found))

    def unreadable(after: Work, why: str) -> Step:
        if subject in case.denied:
            text = "The security audit gave no answer that can be used, and its owner does not let the change pass."
            return Step(
                phase=Phase.AUDIT, outcome=Outcome.REDO, work=replace(after, feedback=text, verdict=None), note=text
            )
        question = f"The security audit gave no answer that can be used ({why}) Let this change be tested without it?"
        ask = Ask(kind=AskKind.FINDING, subject=subject, question=question)
        note = f"waits for your decision: {question}"
        return Step(phase=Phase.AUDIT, outcome=Outcome.HOLD, work=replace(after, asks=(ask,)), note=note[:300])

    return await critique.run(case, work, tools, reader, unreadable)


def _known(found: tuple[Finding, ...]) -> str:
    return "\n".join(f"{one.path}:{one.line}: {one.rule} ({one.severity}): {one.message}" for one in found[:_KNOWN])
