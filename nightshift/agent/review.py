"""REVIEW and AUDIT: act on the findings of a change's readers (`agent.reading`).

The checks that need no model come first. A finding of a blocking severity sends the change back, up to `review_rounds`
times for each reader. A finding about a file outside the change blocks only if it is critical. Findings that remain
never vanish: they are kept with the change (`AttemptState.open_remarks`) and shown wherever the change is shown.

A review is an opinion, so after its rounds the tests decide, except about a critical finding: the owner decides about
it, as the setting `critical_left` says. An unreadable review does not stop the task. An audit is a check: if it still
blocks after its rounds, or cannot be read, the task waits for the owner, who may let exactly this change pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from nightshift.agent import change_check, feedback
from nightshift.agent.reading import PHASES, with_reading
from nightshift.agent.services import AgentServices
from nightshift.core.events import Kind, Level, RemarkData
from nightshift.core.tasks.attempt_state import AttemptContext, AttemptState, Step
from nightshift.core.tasks.change_checks import Ask, AskKind
from nightshift.core.tasks.remarks import Gravity, Reader, Reading, Remark, count_by_gravity
from nightshift.core.tasks.states import Outcome, Phase
from nightshift.core.tasks.task import digest

_SHOWN = 20
_ASKED = 3
"""Maximum number of findings that a question to the owner names."""
_NAMES = {Reader.REVIEW: "review", Reader.AUDIT: "security audit"}
UNANSWERED = "the change is tested and committed, and the finding is shown wherever the commit is shown"
"""The default answer to a question about a critical finding, assumed if nobody answers in time."""


async def review(context: AttemptContext, state: AttemptState, services: AgentServices) -> Step:
    """Review the change. Raises what the model and the checks raise."""
    return await _run(Reader.REVIEW, context, state, services)


async def audit(context: AttemptContext, state: AttemptState, services: AgentServices) -> Step:
    """Audit the change. Raises what the model and the checks raise."""
    return await _run(Reader.AUDIT, context, state, services)


async def _run(reader: Reader, context: AttemptContext, state: AttemptState, services: AgentServices) -> Step:
    phase, before = PHASES[reader], state.verdict
    # The agent's own tests are checked where they are written, in TESTING.
    checked = await change_check.check(context, replace(state, own_tests={}), services)
    state = replace(checked.state, own_tests=state.own_tests)
    if checked.verdict:
        after = replace(state, verdict=checked.verdict, feedback=feedback.shape(checked.verdict, before))
        note = feedback.headline(checked.verdict)[:300]
        return Step(phase=phase, outcome=Outcome.REDO, state=after, note=note, data=checked.data)
    if checked.asks:
        after = replace(state, asks=checked.asks, reason=checked.question[:1000])
        data = {**checked.data, "asks": [ask.subject for ask in checked.asks[:_SHOWN]]}
        note = checked.question[:300]
        return Step(phase=phase, outcome=Outcome.NEEDS_APPROVAL, state=after, note=note, data=data)
    reading = state.reading(reader)
    if reading is None:
        earlier_readings = state.readings
        state = await with_reading(context, state, services, reader)
        _report(state, services, [reading for reading in state.readings if reading not in earlier_readings])
        reading = state.reading(reader)
        assert reading is not None
    step = _Decision(reader=reader, reading=reading, context=context, state=state, services=services).step()
    findings = [*checked.shown, *map(_as_data, reading.found[:_SHOWN])]
    return replace(step, data={"findings": findings}) if findings else step


def blocks(remark: Remark, state: AttemptState, services: AgentServices) -> bool:
    """Check whether a finding sends the change back."""
    settings = services.settings
    gravities = settings.review_blocks if remark.reader is Reader.REVIEW else settings.audit_blocks
    return remark.gravity in gravities and (remark.path in state.change or remark.gravity is Gravity.CRITICAL)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Decision:
    """Decides a reader's step from one reading of the change and the state of the attempt."""

    reader: Reader
    reading: Reading
    context: AttemptContext
    state: AttemptState
    services: AgentServices

    @property
    def phase(self) -> Phase:
        return PHASES[self.reader]

    @property
    def subject(self) -> str:
        """The subject of the owner's decision.

        It identifies exactly this change, so the decision holds for no other.
        """
        return f"{self.reader}:{digest(self.state.change)[:16]}"

    @property
    def blocking(self) -> tuple[Remark, ...]:
        return tuple(remark for remark in self.reading.found if blocks(remark, self.state, self.services))

    def step(self) -> Step:
        """Return the phase's step: pass the change on, send it back, or wait for the owner."""
        unread = bool(self.reading.unread) and self.reader is Reader.AUDIT
        if self.subject in self.context.granted:
            return self._pass_on("you did not object to this change")
        if not self.blocking and not unread:
            return self._pass_on(_note(self.reading))
        if self.subject in self.context.denied:
            return self._end_by_denial()
        if self.blocking and self.state.sent_back_by.count(self.reader) < self.services.settings.review_rounds:
            return self._send_back(as_feedback(self.blocking, _NAMES[self.reader]))
        if self.reader is Reader.REVIEW and not self._asks():
            return self._pass_on(f"findings left open after {self._rounds()}: {count_by_gravity(self.blocking)}")
        return self._wait_for_owner()

    def _asks(self) -> bool:
        critical = any(remark.gravity is Gravity.CRITICAL for remark in self.blocking)
        return critical and self.services.settings.critical_left != "commit"

    def _pass_on(self, note: str) -> Step:
        return Step(phase=self.phase, outcome=Outcome.OK, state=replace(self.state, remarks=()), note=note)

    def _send_back(self, text: str) -> Step:
        remarks, by = self.blocking, (*self.state.sent_back_by, self.reader)
        after = replace(self.state, feedback=text, verdict=None, remarks=remarks, sent_back_by=by)
        note = f"sent back: {remarks[0].where}: {remarks[0].reason}" if remarks else text
        return Step(phase=self.phase, outcome=Outcome.REDO, state=after, note=note[:300])

    def _end_by_denial(self) -> Step:
        if not self.blocking:
            name = _NAMES[self.reader]
            return self._send_back(
                f"The {name} gave no answer that can be used, and its owner does not let the change pass."
            )
        return self._send_back(as_feedback(self.blocking, f"{_NAMES[self.reader]}, and the owner with it,"))

    def _wait_for_owner(self) -> Step:
        question, state = self._question(), self.state
        waits = self.reader is Reader.AUDIT or self.services.settings.critical_left == "wait"
        ask = Ask(kind=AskKind.FINDING, subject=self.subject, question=question, default="" if waits else UNANSWERED)
        note = f"waits for your decision: {question}"
        after = replace(state, asks=(ask,), reason=note[:1000])
        return Step(phase=self.phase, outcome=Outcome.NEEDS_APPROVAL, state=after, note=note[:300])

    def _question(self) -> str:
        name = _NAMES[self.reader]
        if not self.blocking:
            why = f"The {name} gave no usable answer: {self.reading.unread}"
            return f"{why} Test this change without the {name}?"
        named = "; ".join(f"{remark.gravity}: {remark.where}: {remark.reason}" for remark in self.blocking[:_ASKED])
        more = f" (and {len(self.blocking) - _ASKED} more)" if len(self.blocking) > _ASKED else ""
        missed = f" The {name} gave no usable answer about a part of the change." if self.reading.unread else ""
        return f"After {self._rounds()}, the {name} still reports: {named}{more}.{missed} Accept this change anyway?"

    def _rounds(self) -> str:
        count = self.state.sent_back_by.count(self.reader)
        return f"{count} round{'' if count == 1 else 's'}"


def _note(reading: Reading) -> str:
    if not reading.parts:
        return "the change is empty, so there is nothing to review"
    if reading.unread:
        return f"the review could not be read, so the tests alone decide: {reading.unread}"[:300]
    count = len(reading.found)
    return f"{count} finding{'s' if count > 1 else ''}, none blocks the change" if count else "no findings"


def _as_data(remark: Remark) -> RemarkData:
    return RemarkData(
        severity=str(remark.gravity),
        path=remark.path,
        line=remark.line,
        message=remark.reason[:200],
        fix=remark.fix[:200],
    )


def _report(state: AttemptState, services: AgentServices, readings: Sequence[Reading]) -> None:
    for reading in readings:
        name = _NAMES[reading.reader]
        if reading.unread:
            text = f"the {name} gave no usable answer about the change or a part of it: {reading.unread}"
            services.events.emit(Kind.REMARK, text[:500], level=Level.WARNING)
        for remark in reading.found[:_SHOWN]:
            stops = blocks(remark, state, services)
            text = f"{name}: {remark.where} ({remark.gravity}): {remark.reason}"[:500]
            level = Level.WARNING if stops else Level.INFO
            services.events.emit(Kind.REMARK, text, level=level, **(_as_data(remark) | {"blocks": stops}))


def as_feedback(remarks: Sequence[Remark], who: str) -> str:
    """Format the findings as feedback for the next try."""
    lines = [f"The {who} sends the change back. Mend what it names, and keep everything else as it is."]
    for number, remark in enumerate(remarks, 1):
        fix = f" Suggested: {remark.fix}" if remark.fix else ""
        lines.append(f"{number}. {remark.where} ({remark.gravity}): {remark.reason}{fix}")
    return "\n".join(lines)
