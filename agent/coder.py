"""CODING: ask for files, take what is sound, and let nothing run that its own grammar refuses.

A reply that cannot be used is asked for again within the step, with a complaint that says what is missing; that is a
matter of form, not a try. Code that is not valid Python is a try like any other: it failed the cheapest gate.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from agent import feedback, syntax
from agent.asking import Dialogue
from agent.context import expected_files
from agent.drafting import Draft, Taken
from agent.prompts_coding import complaint, first_request
from agent.replies import parse, spoken
from agent.tools import Tools
from agent.view import View, settled
from core.dialogue import Completion
from core.errors import BadReply
from core.events import Event, Kind, Level
from core.states import Outcome, Phase
from core.tasks import digest
from core.verdicts import Verdict
from core.work import Case, Step, Work

_SUMMARY = re.compile(r"^\W{0,4}Summary\W{0,4}[:=][ \t]*(\S.{2,})$", re.MULTILINE | re.IGNORECASE)
_FIRST_BLOCK = re.compile(r"^[ \t]*(?:```|~~~|<{5,9} )", re.MULTILINE)
_UNCHANGED = "The reply left every file as it was, so the same tests fail as before. Change something that matters."


async def run(case: Case, work: Work, tools: Tools) -> Step:
    """One try: from the model's text to a sound change. Raises what the model raises."""
    joins, work = joins_parts(work), replace(work, iteration=work.iteration + 1, remarks=())
    if joins:
        return Step(
            phase=Phase.CODING, outcome=Outcome.OK, work=work, note="what its parts made is judged as it stands"
        )
    if blames_tests(work):
        return Step(phase=Phase.CODING, outcome=Outcome.OK, work=work, note="the code stands, its tests are at fault")
    if work.verdict and work.verdict.evidence.dropped:
        work = _without_dropped(case, work, tools)
        if work.verdict and work.verdict.passed:
            return Step(phase=Phase.CODING, outcome=Outcome.OK, work=work, note="took out what may not be changed")
    talk = Dialogue(Phase.CODING, case, work, tools)
    draft = Draft(tools.tree, work.change, case.task.spec)
    left = await _converse(case, work, tools, talk, draft)
    after = replace(talk.charge(work), change=draft.change, summary=left.summary or work.summary)
    if draft.refused:
        _tell_refused(after, case, tools, draft)
    return _judged(case, work, after, draft, left)


def joins_parts(work: Work) -> bool:
    """Tell whether all parts of the task are done and were not judged together yet: that needs no model."""
    return bool(work.parts) and not (work.iteration or work.feedback)


def blames_tests(work: Work) -> bool:
    """Tell whether the last reflection blamed the agent's own tests: then the code is not to be changed."""
    return bool(work.tries and work.tries[-1].reflection.tests_at_fault)


def _without_dropped(case: Case, work: Work, tools: Tools) -> Work:
    """The case file without what the suite refused to use; files that the owner gave are as he gave them."""
    dropped = work.verdict.evidence.dropped if work.verdict else {}
    kept = {path: text for path, text in work.change.items() if path not in dropped}
    kept |= {path: text for path, text in case.task.spec.files.items() if path in dropped}
    return replace(work, change=settled(tools.tree, kept))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Left:
    """What is left when the conversation is over: faults that were not mended, and the model's word on its change."""

    faults: tuple[str, ...] = ()
    summary: str = ""


async def _converse(case: Case, work: Work, tools: Tools, talk: Dialogue, draft: Draft) -> _Left:
    """Ask, and ask again for what cannot be used, a few times."""
    first, summary, taken = await asyncio.to_thread(first_request, case, work, tools), "", Taken()
    prompt = first
    for _ in range(tools.settings.reasks + 1):
        reply = await talk.ask(prompt)
        summary = summary or _summary(reply)
        taken = _take(case, work, tools, draft, reply)
        if not taken.faults and draft.taken:
            return _Left(summary=summary)
        prompt = talk.again(first, _remembered(reply), complaint(taken, draft.taken))
    refused = tuple(f"{path} {why}." for path, why in taken.refused)
    return _Left(faults=taken.faults or refused or ("The reply held nothing.",), summary=summary)


def _take(case: Case, work: Work, tools: Tools, draft: Draft, reply: Completion) -> Taken:
    view = View(tools.tree, draft.change)
    try:
        return draft.take(parse(reply, expected=expected_files(case, work, view)))
    except BadReply as bad:
        return Taken(faults=(str(bad),))


def _summary(reply: Completion) -> str:
    """The line in which the model says what its change does: above its first block, never inside of a file."""
    text = spoken(reply.text)
    block = _FIRST_BLOCK.search(text)
    found = _SUMMARY.search(text[: block.start()] if block else text)
    return found.group(1).strip().strip("*_`").strip()[:200] if found else ""


def _remembered(reply: Completion) -> str:
    """The model's own reply, for it to see."""
    calls = f"(calls of {', '.join(call.name[:60] for call in reply.tool_calls[:10])})" if reply.tool_calls else ""
    return "\n".join(part for part in (reply.text.strip("\n"), calls) if part.strip())


def _judged(case: Case, before: Work, after: Work, draft: Draft, left: _Left) -> Step:
    """The step that follows from what was taken."""
    if left.faults:
        head = "Part of the reply could not be used." if draft.taken else "The reply held no usable file."
        return _redo(after, "\n".join([head, *left.faults]), None, head)
    if after.change == before.change and before.verdict is not None:
        return _redo(after, f"{_UNCHANGED}\n\n{before.feedback}".strip(), before.verdict, "the reply changed nothing")
    own = {path: text for path, text in after.change.items() if text != case.task.spec.files.get(path)}
    if found := syntax.verdict(own, digest(after.change, after.own_tests)):
        return _redo(after, feedback.shape(found), found, feedback.headline(found))
    note = f"wrote {_names(draft.taken)}" + (f"; dropped {_names(draft.refused)}" if draft.refused else "")
    return Step(phase=Phase.CODING, outcome=Outcome.OK, work=after, note=note, data={"files": draft.taken[:50]})


def _redo(work: Work, text: str, verdict: Verdict | None, note: str) -> Step:
    after = replace(work, feedback=text, verdict=verdict)
    return Step(phase=Phase.CODING, outcome=Outcome.REDO, work=after, note=note[:300])


def _names(paths: Iterable[str]) -> str:
    shown = list(paths)
    return ", ".join(shown[:4]) + (f" and {len(shown) - 4} more" if len(shown) > 4 else "") or "nothing"


def _tell_refused(work: Work, case: Case, tools: Tools, draft: Draft) -> None:
    tools.emit(
        Event(
            kind=Kind.FILES_DROPPED,
            level=Level.WARNING,
            message=f"the model wrote files that it may not: {_names(draft.refused)}",
            task_id=case.task.id,
            attempt=work.attempt,
            iteration=work.iteration,
            phase=Phase.CODING,
            data={"dropped": dict(list(draft.refused.items())[:20])},
        )
    )
