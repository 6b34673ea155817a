"""Reads the course of a task for its page.

Only database rows are read, and no prompts, replies or case files, so reading is quick and bounded. The data of steps
and events is plain JSON, possibly of an earlier version. Values of an unexpected type count as missing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nightshift.core.events import Event, Kind, Level
from nightshift.core.tasks.states import ENDED, Status
from nightshift.core.tasks.task import Task
from nightshift.server.context import AppContext
from nightshift.server.formatting import TEXT_CHARS, Mask, full_text, passage, short
from nightshift.server.routes.approvals import approval_row
from nightshift.server.schemas import extend
from nightshift.server.timeline.timeline_answers import (
    AttemptBrief,
    ForkRow,
    GivenFile,
    Mark,
    NowRunning,
    PromptBrief,
    RecallRow,
    SaidRow,
    Timeline,
    TimelineStep,
    TimelineTry,
    Words,
)
from nightshift.storage.db.event_log import EventFilter
from nightshift.storage.db.step_store import Call, IterationRow, StepRow
from nightshift.storage.memory.recall_log import Assignment

MOST_STEPS = 1000
MOST_MARKS = 200
LESSONS_SHOWN = 50
REPEATED = "memory.failed_before"
"""Name of the rule whose findings warn that new code resembles code that failed before."""
_MARKED = frozenset({
    Kind.ITERATION_WARNING, Kind.MODEL_FALLBACK, Kind.FILES_DROPPED, Kind.ANSWERED, Kind.CONFLICT, Kind.COMMITTED,
    Kind.INTEGRATED, Kind.DISCARDED, Kind.REVERTED, Kind.PACKAGE_INSTALLED, Kind.TASK_RECOVERED, Kind.OWNER_SAID,
    Kind.MODEL_INTERRUPTED,
})  # fmt: skip
_SHOWN_BY_STEPS = frozenset({Kind.STUCK, Kind.ASKED, Kind.GATE_FINDING, Kind.REMARK, Kind.STEP_FINISHED})
"""Kinds of events that are not shown between the steps, because they are already shown with the steps or questions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownFinding:
    """A finding of a reader (a model that reviews or audits a change) or of the static checker.

    `rule` is set only by the checker. `place` is the path and line. `fix` may be empty.
    """

    severity: str
    rule: str
    place: str
    reason: str
    fix: str


def timeline_of(context: AppContext, task: Task, attempt: int | None) -> Timeline:
    """Return the course of a task, with the steps of one attempt: `attempt`, or the newest attempt if it is None."""
    reads, mask = context.reads, context.mask
    rows = context.steps.iterations(task.id)
    attempts = _attempts(rows)
    shown = attempt or max([task.attempt, *(each.attempt for each in attempts)], default=0)
    mine = [row for row in rows if row.attempt == shown]
    steps, calls = context.steps.course(task.id, shown), context.steps.calls(task.id, shown)
    tool_counts = reads.count_tool_calls(task.id, shown)
    origin = reads.find_fork(task.id)
    return Timeline(
        task_id=task.id,
        words=_words(context, task),
        forked_from=ForkRow.from_values(origin[0], task_id=task.id) if origin else None,
        forks=[ForkRow.from_values(fork, task_id=task_id) for task_id, fork in reads.list_forks(task.id)],
        attempts=attempts,
        attempt=shown,
        tries=_tries(mine, timeline_steps(context, steps[-MOST_STEPS:], calls, tool_counts)),
        left_out=max(0, len(steps) - MOST_STEPS),
        running=_running(context, task, steps, calls, tool_counts if shown == task.attempt else {}),
        marks=[
            _mark(event, context)
            for event in context.events.last(5 * MOST_MARKS, EventFilter(task_id=task.id))
            if _is_marked(event)
        ][-MOST_MARKS:],
        recalls=_recalls(context, task.id),
        asks=[approval_row(context, each) for each in context.queue.approvals(open_only=False, task_id=task.id)],
        said=[
            SaidRow.from_values(message, message_id=message.id, text=full_text(message.text, mask))
            for message in context.queue.list_messages(task.id)
        ],
        pruned=[short(note, mask) for note in reads.list_pruned(task)],
    )


def _words(context: AppContext, task: Task) -> Words:
    spec, mask = task.spec, context.mask
    groups = ((spec.tests, True), (spec.files, False))
    return Words.from_values(
        spec,
        description=passage(spec.description, mask, TEXT_CHARS),
        files=[
            GivenFile(path=short(path, mask), chars=len(text), test=test)
            for files, test in groups
            for path, text in files.items()
        ],
        test_command=[short(word, mask) for word in spec.test_command],
        packages=[short(name, mask) for name in spec.packages],
    )


def _attempts(rows: Sequence[IterationRow]) -> list[AttemptBrief]:
    by_attempt: defaultdict[int, list[IterationRow]] = defaultdict(list)
    for row in rows:
        by_attempt[row.attempt].append(row)
    return [
        AttemptBrief(
            attempt=attempt,
            iterations=max(row.iteration for row in mine),
            duration_s=sum(row.duration_s for row in mine),
        )
        for attempt, mine in sorted(by_attempt.items())
    ]


def _tries(rows: Sequence[IterationRow], steps: Sequence[TimelineStep]) -> list[TimelineTry]:
    by_try: defaultdict[int, list[TimelineStep]] = defaultdict(list)
    for step in steps:
        by_try[step.iteration].append(step)
    return [extend(TimelineTry, row, steps=by_try[row.iteration]) for row in rows]


def timeline_steps(
    context: AppContext, rows: Sequence[StepRow], calls: Iterable[Call], tools: Mapping[int, tuple[int, int]]
) -> list[TimelineStep]:
    """Return the steps of an attempt for the timeline, each with the tokens and cost of its model calls.

    `tools` maps the number of a step to two counts: its tool calls, and those of them that failed.
    """
    asked: defaultdict[int, list[Call]] = defaultdict(list)
    for call in calls:
        asked[call.step_no].append(call)
    return [_step(context, row, asked[row.step_no], tools.get(row.step_no, (0, 0))) for row in rows]


def _step(context: AppContext, row: StepRow, calls: Sequence[Call], tools: tuple[int, int]) -> TimelineStep:
    mask, data, findings = context.mask, row.data, list(_mappings(row.data, "findings"))
    prompts = list(_mappings(data, "prompts"))
    return TimelineStep.from_values(
        row,
        next=short(str(data.get("next", "")), mask),
        note=short(row.note, mask),
        label=short(str(data.get("label", "")), mask),
        calls=len(calls),
        tokens_in=sum(call.tokens_in for call in calls),
        tokens_out=sum(call.tokens_out for call in calls),
        cost_usd=sum(call.cost_usd or 0.0 for call in calls),
        unpriced=sum(call.cost_usd is None for call in calls),
        models=list(dict.fromkeys(f"{call.backend}={call.model}" for call in calls)),
        tools=tools[0],
        tools_failed=tools[1],
        prompt=_prompt(prompts[0]) if prompts else None,
        findings=len(findings),
        repeats=[
            short(str(finding.get("message", "")), mask) for finding in findings if finding.get("rule") == REPEATED
        ],
        lessons=len({str(lesson) for prompt in prompts for lesson in _list(prompt.get("lessons"))}),
        stuck=short(str(data.get("stuck") or ""), mask),
        fresh=data.get("fresh") is True,
    )


def _prompt(prompt: Mapping[str, Any]) -> PromptBrief:
    return PromptBrief(
        tokens=int(_number(prompt.get("tokens"))),
        limit=int(_number(prompt.get("limit"))),
        left_out=int(_number(prompt.get("left_out"))),
        shortened=len(_list(prompt.get("shortened"))),
        omitted=len(_list(prompt.get("omitted"))),
    )


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _running(
    context: AppContext,
    task: Task,
    steps: Sequence[StepRow],
    calls: Sequence[Call],
    tools: Mapping[int, tuple[int, int]],
) -> NowRunning | None:
    if task.status is not Status.RUNNING:
        return None
    worker = next((each for each in context.status().workers if each.task_id == task.id), None)
    of_now = steps if steps and steps[-1].attempt == task.attempt else []
    step_no = of_now[-1].step_no + 1 if of_now else 0
    return NowRunning(
        attempt=task.attempt,
        step_no=step_no,
        iteration=worker.iteration if worker else task.iterations,
        phase=worker.phase if worker else None,
        worker=worker.name if worker else task.worker or "",
        since=worker.since if worker else None,
        last_line=short(worker.last_line, context.mask) if worker else "",
        calls=sum(call.attempt == task.attempt and call.step_no == step_no for call in calls),
        tools=tools.get(step_no, (0, 0))[0],
    )


def _is_marked(event: Event) -> bool:
    """Check whether an event is shown between the steps.

    The event about the end of the task is not shown there, because the page shows the end above the steps.
    """
    has_ended = event.kind is Kind.TASK_MOVED and event.data.get("to") in ENDED
    if has_ended or event.kind in _SHOWN_BY_STEPS:
        return False
    return event.kind in _MARKED or event.level in {Level.WARNING, Level.ERROR}


def _mark(event: Event, context: AppContext) -> Mark:
    assert event.at is not None, "only stored events are shown"
    return Mark.from_values(event, event=event.kind, message=short(event.message, context.mask))


def _recalls(context: AppContext, task_id: int) -> list[RecallRow]:
    """List the lessons that were similar to what each attempt was working on.

    The age of a lesson, and the iteration and phase in which it was shown, come from the log and are missing if the log
    no longer has the event. Two kinds of lessons are only in the log: those shown by an earlier version, and those
    shown by a check of a change.
    """
    logged = {(lesson.attempt, lesson.kind, lesson.item): lesson for lesson in _list_shown_lessons(context, task_id)}
    rows = list[RecallRow]()
    for near in context.reads.list_near_lessons(task_id):
        log = logged.pop((near.attempt, near.kind, near.item), None)
        rows.append(
            RecallRow.from_values(
                near,
                about=log.about if log and log.about else short(near.about.partition("\n")[0], context.mask),
                age_days=log.age_days if log else None,
                iteration=log.iteration if log else None,
                phase=log.phase if log else None,
            )
        )
    return [*rows, *logged.values()]


def show_findings(data: Mapping[str, Any], mask: Mask) -> list[ShownFinding]:
    """Return the findings that are stored in the data of a step."""
    return [_finding(finding, mask) for finding in _mappings(data, "findings")]


def _finding(finding: Mapping[str, Any], mask: Mask) -> ShownFinding:
    path, line = str(finding.get("path", "")), finding.get("line")
    return ShownFinding(
        severity=short(str(finding.get("severity", "")), mask),
        rule=short(str(finding.get("rule", "")), mask),
        place=short(f"{path}:{line}" if isinstance(line, int) and line else path, mask),
        reason=short(str(finding.get("message", "")), mask, 2000),
        fix=short(str(finding.get("fix", "")), mask, 2000),
    )


def _list_shown_lessons(context: AppContext, task_id: int) -> list[RecallRow]:
    """Return the newest lessons that a task was shown, oldest first. They are read from the log."""
    events = context.events.last(LESSONS_SHOWN, EventFilter(task_id=task_id, kind=Kind.LESSON_RECALLED))
    return [
        RecallRow(
            attempt=event.attempt or 0,
            kind=short(str(lesson.get("kind", "")), context.mask),
            item=int(_number(lesson.get("id"))),
            about=short(str(lesson.get("about", "")), context.mask),
            arm=Assignment.SHOWN,
            score=_number(lesson.get("score")),
            age_days=_number(lesson.get("age_days")),
            iteration=event.iteration,
            phase=event.phase,
            solved=None,
        )
        for event in events
        for lesson in _mappings(event.data, "lessons")
    ]


def _mappings(data: Mapping[str, Any], name: str) -> Iterator[Mapping[str, Any]]:
    """Yield the mappings in a list of stored JSON; yield nothing if the value is not a list."""
    values = data.get(name)
    return (value for value in (values if isinstance(values, list) else []) if isinstance(value, Mapping))


def _number(value: object) -> float:
    """Return a value of stored JSON as a number; 0 if it is not a number."""
    return float(value) if isinstance(value, int | float) else 0.0
