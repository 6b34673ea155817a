"""Shows one step of a task in full: prompts and replies, written files, test results, and the log of that time.

The length of each text and the total length are limited. A call above the limit is listed without its texts, and can be
requested separately.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from pydantic import Field

from nightshift.core.clock import Moment
from nightshift.core.events import Event
from nightshift.core.tasks.attempt_state import AttemptState, Brief, Reflection
from nightshift.core.tasks.states import Outcome, Phase
from nightshift.core.tasks.task import Task
from nightshift.core.tool_text import with_calls
from nightshift.server.context import AppContext
from nightshift.server.diffs.case_files import CaseFiles
from nightshift.server.formatting import Mask, Passage, full_text, passage, short, shorten
from nightshift.server.schemas import Answer, LogEvent, log_line
from nightshift.server.timeline.reading import ShownFinding, show_findings, timeline_steps
from nightshift.server.timeline.timeline_answers import TimelineStep
from nightshift.server.timeline.tool_reading import TEXT_CHARS, StepToolCall, tool_calls
from nightshift.server.timeline.verdict_answers import VerdictRow, verdict_row
from nightshift.storage.db.event_log import EventFilter
from nightshift.storage.db.step_store import Call, StepRow

PART_CHARS = 60_000
ALL_CHARS = 240_000
"""Maximum number of characters of all prompts and replies in one answer."""
ALONE_CHARS = 2_000_000
"""Maximum number of characters of one model call that is requested separately."""
MOST_CALLS = 60
MOST_FILES = 500
MOST_LINES = 200
_NOTHING = Passage(text="", chars=0, cut=False)
Part = tuple[str, str]
"""The role of a message, and its text."""
_TESTED = {(Phase.TESTING, Outcome.OK), (Phase.TESTING, Outcome.REDO), (Phase.COMMIT, Outcome.REDO)}


class Said(Answer):
    """A part of a conversation. `role` is the role of the speaker, `said` is the text."""

    role: str
    said: Passage


class StepCall(Answer):
    """A model call.

    `parts` are its prompt and reply. `parts` is empty if the size limit of the answer was reached; the call must then
    be requested separately. `text` is the address of the whole call as plain text.
    """

    call_no: int
    backend: str
    model: str
    tokens_in: int
    tokens_out: int
    cost_usd: float | None
    latency_s: float
    finish: str
    at: Moment
    parts: list[Said]
    text: str


class StepFile(Answer):
    """A file of the attempt's change as it is after the step.

    `status` says whether the change writes or removes the file, compared with the base or the submitted files. `here`
    is true if this step wrote the file.
    """

    path: str
    status: Literal["written", "removed"]
    test: bool
    here: bool
    chars: int


class LessonText(Answer):
    """A lesson that the attempt had after the step."""

    kind: str
    item: int
    text: Passage
    score: float
    age_days: float


class StepDetail(Answer):
    """One step with its texts.

    `step` is null until the step has finished; until then only its model calls and tool calls are known. `plan`,
    `summary` and `feedback` show the state after the step. `brief` is set if the step changed it. `verdict` is null if
    the step ran no test. `lines` are the first two hundred events during the step.
    """

    task_id: int
    attempt: int
    step_no: int
    step: TimelineStep | None = None
    plan: Passage = _NOTHING
    summary: str = ""
    feedback: Passage = _NOTHING
    brief: Brief | None = None
    thought: Reflection | None = None
    calls: list[StepCall] = Field(default_factory=list)
    tools: list[StepToolCall] = Field(default_factory=list)
    files: list[StepFile] = Field(default_factory=list)
    packages: dict[str, str] = Field(default_factory=dict)
    verdict: VerdictRow | None = None
    findings: list[ShownFinding] = Field(default_factory=list)
    lessons: list[LessonText] = Field(default_factory=list)
    lines: list[LogEvent] = Field(default_factory=list)


def read_step(context: AppContext, task: Task, attempt: int, step_no: int, alone: int | None = None) -> StepDetail:
    """Return a step. If `alone` is the number of a model call, list only this call, with its texts in full.

    Raises:
        UnknownStep: the step or the call does not exist, or is no longer stored.
    """
    files = CaseFiles(context, task)
    row, calls = context.steps.step(task.id, attempt, step_no), context.steps.calls(task.id, attempt, step_no)
    tools = context.reads.list_tool_calls(task.id, attempt, step_no)
    if row is None and not calls:
        raise files.missing(f"no step {step_no} in attempt {attempt}")
    if alone is not None and alone not in {call.call_no for call in calls}:
        raise files.missing(f"no call {alone} in step {step_no} of attempt {attempt}")
    if row is None:
        detail = StepDetail(task_id=task.id, attempt=attempt, step_no=step_no)
    else:
        detail = _read_finished(context, row, files.work(row), calls, task.id)
    shown = [call for call in calls if alone in (None, call.call_no)][:MOST_CALLS]
    most = TEXT_CHARS if alone is None else ALONE_CHARS
    wanted = [tool for tool in tools if alone in (None, tool.call_no)]
    return detail.model_copy(
        update={
            "calls": _calls(context, task.id, shown, is_full=alone is not None),
            "tools": tool_calls(context, wanted, calls, most=most),
        }
    )


def _read_finished(
    context: AppContext, row: StepRow, work: AttemptState, calls: Sequence[Call], task_id: int
) -> StepDetail:
    mask = context.mask
    tool_counts = context.reads.count_tool_calls(task_id, row.attempt)
    before = context.steps.step(task_id, row.attempt, row.step_no - 1)
    earlier = context.steps.work(before.work) if before else None
    return StepDetail(
        task_id=task_id,
        attempt=row.attempt,
        step_no=row.step_no,
        step=timeline_steps(context, [row], calls, tool_counts)[0],
        plan=passage(work.plan, mask, PART_CHARS),
        summary=short(work.summary, mask),
        feedback=passage(work.feedback, mask, PART_CHARS),
        brief=shorten(work.brief, mask, 4000) if earlier is None or earlier.brief != work.brief else None,
        thought=_describe_thought(row, work, mask),
        files=_files(work, earlier, mask),
        packages={short(name, mask): short(version, mask) for name, version in work.packages.items()},
        verdict=verdict_row(work.verdict, mask) if work.verdict and _has_verdict(row, work, earlier) else None,
        findings=show_findings(row.data, mask),
        lessons=_lessons(work, mask),
        lines=[_line(event, mask) for event in _events(context, row, task_id)],
    )


def _events(context: AppContext, row: StepRow, task_id: int) -> Iterator[Event]:
    """Yield the events that were logged while the step ran, up to the event that says that it finished."""
    events = context.events
    wanted = EventFilter(task_id=task_id)
    logged_events = events.after(events.cursor_at(row.started_at), limit=MOST_LINES, wanted=wanted)
    newest = logged_events[-1].id if logged_events else 0
    last = next((event.id for event in logged_events if _ends(event, row)), newest)
    return (event for event in logged_events if event.id <= last)


def _calls(context: AppContext, task_id: int, calls: Sequence[Call], *, is_full: bool) -> list[StepCall]:
    left, most = (ALONE_CHARS, ALONE_CHARS) if is_full else (ALL_CHARS, PART_CHARS)
    step_calls = list[StepCall]()
    for call in calls:
        texts = transcript(context, call) if left > 0 else []
        parts = [Said(role=role, said=passage(text, context.mask, most)) for role, text in texts]
        left -= sum(len(part.said.text) for part in parts)
        address = f"/task/{task_id}/call/{call.attempt}/{call.step_no}/{call.call_no}"
        step_calls.append(StepCall.from_values(call, model=short(call.model, context.mask), parts=parts, text=address))
    return step_calls


def _ends(event: Event, row: StepRow) -> bool:
    """Check whether an event is the one that was logged when the step finished."""
    return event.kind == "step_finished" and (event.attempt, event.phase) == (row.attempt, row.phase)


def _has_verdict(row: StepRow, work: AttemptState, earlier: AttemptState | None) -> bool:
    """Check whether the verdict in the case file belongs to this step, and was not reached in an earlier step."""
    refused = row.phase is Phase.CODING and row.outcome is Outcome.REDO
    return (row.phase, row.outcome) in _TESTED or (refused and (earlier is None or earlier.verdict != work.verdict))


def _files(work: AttemptState, earlier: AttemptState | None, mask: Mask) -> list[StepFile]:
    now: Mapping[str, str | None] = {**work.change, **work.own_tests}
    then: Mapping[str, str | None] = {**earlier.change, **earlier.own_tests} if earlier else {}
    return [
        StepFile(
            path=full_text(path, mask),
            status="removed" if text is None else "written",
            test=path in work.own_tests,
            here=path not in then or then[path] != text,
            chars=len(text or ""),
        )
        for path, text in sorted(now.items())[:MOST_FILES]
    ]


def _describe_thought(row: StepRow, work: AttemptState, mask: Mask) -> Reflection | None:
    if row.phase is not Phase.REFLECTING or not work.tries:
        return None
    return shorten(work.tries[-1].reflection, mask, 4000)


def _lessons(work: AttemptState, mask: Mask) -> list[LessonText]:
    return [
        LessonText(
            kind=short(lesson.source, mask),
            item=lesson.id,
            text=passage(lesson.text, mask, 4000),
            score=lesson.score,
            age_days=lesson.age_s / 86_400,
        )
        for lesson in work.lessons
    ]


def _line(event: Event, mask: Mask) -> LogEvent:
    """Return the event without its data, which only the log page shows."""
    return log_line(replace(event, message=short(event.message, mask, 2000), data={}))


def transcript(context: AppContext, call: Call) -> list[Part]:
    """Return the messages, thoughts and reply of a model call as stored.

    Thoughts and reply may still contain secrets.
    """
    reply = with_calls(context.steps.artifact(call.reply) or "", call.tool_calls)
    thoughts = [("thoughts", call.thoughts)] if call.thoughts else []
    return [*context.steps.prompt(call.prompt), *thoughts, ("reply", reply)]


def as_text(context: AppContext, call: Call) -> str:
    """Return a whole model call as plain text, with secrets masked."""
    mask = context.mask
    return "\n\n".join(f"===== {role}\n{full_text(text, mask)}" for role, text in transcript(context, call))
